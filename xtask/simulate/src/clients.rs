//! Clients of a simulation. Each wants one thing, and asks for it again and again, now here, now there, until it has an
//! answer. Some ask once more when they have it, and must be told the same.

use ptc_store::effects::Finding;
use serde_json::json;

use crate::messages::{Ask, CloseSession, Decide, Decision, Request, Said};
use crate::programs;
use crate::schedule::Simulation;
use crate::server::Server;
use crate::tasks::{Mailbox, Of, sleep};

/// How often a client asks when nothing goes wrong any more; who has no answer then waits for ever.
const MOST: usize = 120;

/// Whose a session is.
pub fn owner_of(session: &str) -> &'static str {
    if session == "s1" { "ann" } else { "bob" }
}

/// What clients of a schedule want.
pub fn wishes(simulation: &Simulation) -> Vec<Request> {
    let mut state = simulation.shared.lock();
    let count = 1 + state.random.below(3);
    (0..count)
        .map(|number| {
            let session = *state.random.pick(&[None, None, Some("s1"), Some("s1"), Some("s2")]);
            let owner = session.map_or_else(|| *state.random.pick(&["ann", "bob"]), owner_of);
            let sources = if session.is_some() { programs::OF_SESSIONS } else { programs::ALONE };
            let source = *state.random.pick(sources);
            Request { owner, key: format!("k{number}"), session, source }
        })
        .collect()
}

/// Ends a session at some time, whatever runs in it; perhaps nobody hears of that.
pub async fn close(simulation: Simulation, session: &'static str) {
    let later = simulation.shared.lock().random.between(10, 20_000);
    sleep(&simulation.shared, later).await;
    let ask = Ask::Close(CloseSession { owner: owner_of(session), session });
    simulation.exchange(ask, &Mailbox::default(), &mut 0).await;
}

/// Has a request carried out.
pub async fn request(simulation: Simulation, request: Request) {
    let mailbox = Mailbox::default();
    let mut calm = 0;
    loop {
        match simulation.exchange(Ask::Run(request.clone()), &mailbox, &mut calm).await {
            Some(Said::Reply(reply)) => {
                if simulation.shared.lock().random.below(3) == 0 {
                    continue;
                }
                if let Some(ticket) = reply["approval"].as_str() {
                    decisions(&simulation, request.owner, ticket);
                }
                return;
            }
            Some(Said::Over(_)) => return,
            _ => {}
        }
        if simulation.gives_up(calm, MOST, &request.key) {
            return;
        }
    }
}

/// Has one or two people decide, who may not agree.
fn decisions(simulation: &Simulation, owner: &'static str, ticket: &str) {
    let people = 1 + simulation.shared.lock().random.below(2);
    for number in 0..people {
        let (decision, keyed) = {
            let mut state = simulation.shared.lock();
            (*state.random.pick(&Decision::ALL), state.random.below(2) == 0)
        };
        let key = keyed.then(|| format!("{ticket} by {number}"));
        let decide = Decide { owner, ticket: ticket.to_owned(), decision, key };
        simulation.spawner.spawn(Of::Client, 0, person(simulation.clone(), decide));
    }
}

/// Decides about a ticket.
async fn person(simulation: Simulation, mut decide: Decide) {
    let mailbox = Mailbox::default();
    let mut calm = 0;
    loop {
        match simulation.exchange(Ask::Decide(decide.clone()), &mailbox, &mut calm).await {
            Some(Said::Ended(_)) if simulation.shared.lock().random.below(3) == 0 => continue,
            Some(Said::Ended(ended)) => {
                if let Some(next) = ended["next"].as_str() {
                    decisions(&simulation, decide.owner, next);
                }
                return;
            }
            Some(Said::Over(_)) => return,
            // What was decided before is decided again.
            Some(Said::Decided(before)) => {
                decide.decision = Decision::named(&before).unwrap_or(decide.decision);
                // Another decision is another request.
                decide.key = decide.key.map(|key| format!("{key} again"));
            }
            _ => {}
        }
        if simulation.gives_up(calm, MOST, &decide.ticket) {
            return;
        }
    }
}

/// A person looks into every call of which nobody knows what became, and says it; then everybody asks once more.
pub async fn settle(simulation: Simulation, wishes: Vec<Request>) {
    let Some(server) = simulation.server() else { return };
    let gaps = server.ask(0, |server| server.journal.effects().gaps(None)).await;
    for gap in gaps.into_iter().flatten().flatten() {
        let written = (
            gap.args["key"].as_str().unwrap_or_default().to_owned(),
            gap.args["at"].as_i64().unwrap_or_default(),
        );
        let finding = match simulation.shared.lock().upstream.writes.contains_key(&written) {
            true => Finding::Happened(json!({"ok": true, "value": "done", "kind": "json"})),
            false => Finding::DidNotHappen,
        };
        simulation.shared.note(|| format!("a person settles {written:?}: {finding:?}"));
        let settled = move |server: &Server| {
            server.journal.effects().settle(&gap.scope, &gap.identity, &finding, "looked at")
        };
        let _ = server.ask(0, settled).await;
    }
    for wish in wishes {
        simulation.spawner.spawn(Of::Client, 0, request(simulation.clone(), wish));
    }
}

impl Simulation {
    /// Asks one of the servers, and waits for an answer for a while.
    async fn exchange(&self, ask: Ask, mailbox: &Mailbox<Said>, calm: &mut usize) -> Option<Said> {
        let (node, patience) = {
            let mut state = self.shared.lock();
            *calm += usize::from(!state.chaos);
            let nodes = state.nodes.len() as u64;
            (state.random.below(nodes), *state.random.pick(&[300, 3_000, 15_000]))
        };
        self.send(usize::try_from(node).unwrap_or_default(), ask, mailbox);
        let said = mailbox.take(&self.shared, patience).await;
        if !matches!(said, Some(Said::Reply(_) | Said::Ended(_))) {
            let pause = self.shared.lock().random.between(10, 4_000);
            sleep(&self.shared, pause).await;
        }
        said
    }

    /// Whether a client has asked too often since nothing goes wrong any more.
    fn gives_up(&self, calm: usize, most: usize, what: &str) -> bool {
        if calm > most {
            self.shared.lock().violated(|| format!("nothing waits for ever: {what} is not answered"));
        }
        calm > most
    }
}
