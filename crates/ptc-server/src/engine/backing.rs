//! The prelude of all programs, held against upstreams: before the server starts, before every program, and in what
//! descriptions say.

use std::sync::Arc;

use ptc_lisp::prelude::{Grants as Needs, Missing, Offer, Prelude, Upstreams as Offers};
use ptc_upstream::{Grants, RunContext};

use super::upstreams::Upstreams;
use super::{Caller, Engine, tools};

/// Holds the prelude of all programs against upstreams. What they do not have is an error. A server that cannot be
/// reached may come back: until then every program is refused, which is told.
pub(super) fn backing(prelude: &Prelude, upstreams: Option<&Upstreams>) -> Result<Option<String>, String> {
    let offers = upstreams.map(|upstreams| upstreams.offers(Grants::all()));
    let upstreams = offers.as_ref().map(|offers| offers as &dyn Offers);
    let missing = prelude.missing(&Needs { tools: &[], upstreams });
    let (unreachable, gone): (Vec<Missing>, Vec<Missing>) =
        missing.into_iter().partition(|one| one.offer == Some(Offer::Unreachable));
    match (gone.as_slice(), unreachable.as_slice()) {
        ([], []) => Ok(None),
        ([], unreachable) => Ok(Some(Missing::refusal(unreachable).message)),
        (gone, _) => Err(Missing::refusal(gone).text()),
    }
}

impl Engine {
    /// What descriptions say about the prelude of all programs now; what its exports do is what upstreams say. Where a role
    /// takes exports away, only the page is named that tells what is left in a session.
    pub(super) fn inventory(&self, caller: &Caller) -> Option<String> {
        let prelude = self.prelude.as_ref()?;
        if let (Some(upstreams), Some(roles)) = (&self.upstreams, self.roles(caller)) {
            let whole = roles.iter().all(|role| {
                let offers = upstreams.offers(role.grants());
                prelude.missing(&Needs { tools: &[], upstreams: Some(&offers as &dyn Offers) }).is_empty()
            });
            if !whole {
                return Some(tools::PRELUDE.to_owned());
            }
        }
        let offers = self.upstreams.as_ref().map(|upstreams| upstreams.offers(Grants::all()));
        let tools: Vec<String> = offers.iter().map(|_| "call".to_owned()).collect();
        let upstreams = offers.as_ref().map(|offers| offers as &dyn Offers);
        prelude.inventory_for(&Needs { tools: &tools, upstreams })
    }

    /// Has the servers behind a prelude and those that a program names looked at, before the program runs.
    pub(super) async fn settle_program(
        &self,
        prelude: Option<&Arc<Prelude>>,
        context: Option<&RunContext>,
        source: &str,
    ) {
        let (Some(upstreams), Some(context)) = (&self.upstreams, context) else { return };
        upstreams.settle_named(context, source).await;
        if let Some(prelude) = prelude {
            upstreams.settle(prelude).await;
        }
    }

    /// Has the servers behind a prelude looked at, before programs with it run; all servers where calls are judged by what
    /// they do.
    pub(super) async fn settle(&self, prelude: Option<&Arc<Prelude>>) {
        let Some(upstreams) = &self.upstreams else { return };
        upstreams.settle_judged().await;
        if let Some(prelude) = prelude {
            upstreams.settle(prelude).await;
        }
    }

    /// Whether what the prelude of all programs requires is there; else why not. Its servers are asked first.
    pub async fn backed(&self) -> Result<(), String> {
        self.settle(self.prelude.as_ref()).await;
        self.unbacked().map_or(Ok(()), Err)
    }

    /// Why every program is refused, if it is: what the prelude of all programs requires is not there.
    pub(super) fn unbacked(&self) -> Option<String> {
        match backing(self.prelude.as_ref()?, self.upstreams.as_ref()) {
            Ok(unreachable) => unreachable,
            Err(gone) => Some(gone),
        }
    }
}
