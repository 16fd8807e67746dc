//! Programs that nobody can go on with any more, because their key is gone or what is kept of them is damaged. They would wait for
//! as long as their tickets live; so whoever they belong to may still reject them, for which nothing of what is sealed is needed.

use std::collections::BTreeMap;

use ptc_host::{Decision, PendingCall};
use ptc_store::check::WrongSeal;
use ptc_store::tickets::{TicketError, Waiting};
use serde_json::{Value as Json, json};

use super::super::api::Caller;
use super::super::audit::{self, AuditNote};
use super::super::receipt::{Filled, Receipt, RequestClaim};
use super::super::{Answered, Engine};
use super::choice::Decided;
use super::decide::{REJECT_AGAIN, answer};
use super::made::Made;
use super::seal::{SealError, Sealed};
use super::settle::{kept, rejected};
use super::{Desk, Keys, account, changing, machine_of, refused};
use crate::engine::Reason;
use crate::events;

/// Programs that wait and cannot be opened, counted by the ids of the keys that are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LackingKeys {
    keys: BTreeMap<String, u64>,
    /// Those of which no key is missing: what is sealed is damaged.
    pub damaged: u64,
}

impl LackingKeys {
    /// Counts a ticket if these keys do not open what is sealed in it.
    pub fn look(&mut self, keys: Option<&Keys>, id: &str, owner: &str, sealed: &[u8]) {
        match wrong_seal(keys, id, owner, sealed) {
            None => {}
            Some(WrongSeal::NoKey(key)) => *self.keys.entry(key).or_default() += 1,
            Some(WrongSeal::Damaged(_)) => self.damaged += 1,
        }
    }

    /// How many there are whose key is missing.
    pub fn count(&self) -> u64 {
        self.keys.values().sum()
    }

    /// The ids of their keys.
    pub fn names(&self) -> String {
        self.keys.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// Why a ticket does not open with these keys, if it does not. Where the key of its id is among them, nobody puts another one there:
/// either what is sealed is damaged, or another key had the same id, and ids are not given twice where programs make them.
pub fn wrong_seal(keys: Option<&Keys>, id: &str, owner: &str, sealed: &[u8]) -> Option<WrongSeal> {
    let Ok(sealed) = Sealed::from_bytes(sealed) else {
        return Some(WrongSeal::Damaged("is damaged, or of another version".to_owned()));
    };
    match keys.map(|keys| keys.open(&machine_of(id, owner), &sealed)) {
        Some(Ok(_)) => None,
        None | Some(Err(SealError::NoKey(_))) => Some(WrongSeal::NoKey(sealed.key().to_owned())),
        Some(Err(SealError::Tampered | SealError::Unknown)) => Some(WrongSeal::Damaged(format!(
            "is damaged, or was sealed with another key that was called {} as well",
            sealed.key()
        ))),
    }
}

impl Desk {
    /// Tells of programs that wait and that this server cannot open, if there are any.
    pub async fn tell_unopened(&self) {
        let (tickets, keys) = (self.tickets.clone(), self.keys.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let mut lacking = LackingKeys::default();
            for (owner, ticket) in tickets.list_all()? {
                // Somebody may have ended it since.
                if let Ok(waiting) = tickets.read(&ticket.id, &owner) {
                    lacking.look(Some(&keys), &ticket.id, &owner, &waiting.sealed);
                }
            }
            Ok::<_, TicketError>(lacking)
        });
        match looked.await {
            Ok(Ok(lacking)) if lacking.count() > 0 => {
                events::tickets_unopened(lacking.count(), &lacking.names());
                tell_damaged(&lacking);
            }
            Ok(Ok(lacking)) => tell_damaged(&lacking),
            Ok(Err(error)) => {
                tracing::warn!("whether programs that wait can be opened is not known: {error}")
            }
            _ => {}
        }
    }
}

fn tell_damaged(lacking: &LackingKeys) {
    if lacking.damaged > 0 {
        tracing::warn!(
            "of {} programs that wait what is sealed is damaged; they can only be rejected, and `ptc tickets` says which they are",
            lacking.damaged
        );
    }
}

/// A program that cannot be opened, with what its owner was shown of it.
pub struct Unopened {
    /// Why it cannot.
    pub why: String,
    /// Whether what is kept of it is damaged, so that it cannot be opened anywhere.
    pub is_damaged: bool,
    /// The calls that wait; none if that cannot be read.
    calls: Vec<PendingCall>,
}

impl Unopened {
    /// Of what waits.
    fn new(waiting: &Waiting, why: String) -> Unopened {
        let calls = waiting.about["pending"].as_array().into_iter().flatten().filter_map(call).collect();
        Unopened { why, is_damaged: false, calls }
    }

    /// Of what waits and does not open with these keys.
    pub fn sealed(waiting: &Waiting, keys: &Keys, id: &str, owner: &str, why: String) -> Unopened {
        match wrong_seal(Some(keys), id, owner, &waiting.sealed) {
            Some(WrongSeal::Damaged(why)) => {
                let why = format!("what is sealed of it {why}");
                Unopened { is_damaged: true, ..Unopened::new(waiting, why) }
            }
            Some(WrongSeal::NoKey(_)) | None => Unopened::new(waiting, why),
        }
    }

    /// Of what waits, if it is damaged.
    pub fn damaged(waiting: &Waiting) -> Option<Unopened> {
        let why = waiting.damage()?;
        Some(Unopened { is_damaged: true, ..Unopened::new(waiting, why) })
    }

    /// Of what waits, and is not what people are shown.
    pub fn unlike(waiting: &Waiting) -> Unopened {
        let why = "what is shown of it is not what is sealed in it".to_owned();
        Unopened { is_damaged: true, ..Unopened::new(waiting, why) }
    }

    /// Why its program is over once its calls are rejected.
    fn because(&self, made: &Made) -> String {
        let because = match self.is_damaged {
            true => format!("it could not go on, because {}", self.why),
            false => format!("it cannot be opened: {}", self.why),
        };
        match made.is_partial() {
            true => format!("{because}; what it had made before is not known either, so look at that"),
            false => because,
        }
    }

    /// The decisions, if they reject every call that waits. Where nobody can read which calls those are, whoever rejects any
    /// ends the program.
    fn rejections(&self, decided: &Decided) -> Option<Vec<(u64, Decision)>> {
        let of = |call: &PendingCall| {
            // Of one that is damaged the page shows no calls, and names none.
            let names = |all: &Vec<u64>| all.contains(&call.id) || (self.is_damaged && all.is_empty());
            let about = |choice: &&super::Choice| choice.calls.as_ref().is_none_or(names);
            let choice = decided.choices.iter().find(about)?;
            matches!(choice.decision, Decision::Reject(_)).then(|| (call.id, choice.decision.clone()))
        };
        let rejections: Vec<_> = self.calls.iter().map(of).collect::<Option<_>>()?;
        let all_reject = decided.choices.iter().all(|choice| matches!(choice.decision, Decision::Reject(_)));
        (all_reject && !decided.choices.is_empty()).then_some(rejections)
    }
}

/// What stays with a ticket whose program nobody can go on with, and that whoever runs the servers has rejected: why, and what
/// they noted.
pub fn rejected_by_operator(why: &str, note: Option<&str>) -> Json {
    let noted = note.map(|note| format!(". Whoever runs the server notes: {note}")).unwrap_or_default();
    kept(&rejected(&format!(
        "whoever runs the server rejected it, because nobody could go on with it: {why}{noted}. What its calls did before stays; \
         look at that before you run it again"
    )))
}

/// A call that waits, as its owner was shown it: of a server's tool it names both.
fn call(shown: &Json) -> Option<PendingCall> {
    let (id, tool) = (shown["call"].as_u64()?, shown["tool"].as_str().unwrap_or_default());
    let (tool, args) = match shown["server"].as_str() {
        Some(server) => ("call", json!({"server": server, "tool": tool})),
        None => (tool, json!({})),
    };
    Some(PendingCall { id, tool: tool.to_owned(), args, about: json!({}) })
}

impl Engine {
    /// Ends a program that cannot be opened if all its calls are rejected, and says what it has made; nothing otherwise.
    pub(super) async fn end_unopened(
        &self,
        caller: &Caller,
        desk: &Desk,
        id: &str,
        (unopened, decided): (&Unopened, &Decided),
        request: Option<RequestClaim>,
    ) -> Option<Answered> {
        let rejections = unopened.rejections(decided)?;
        let made = match self.made(desk, id, None).await {
            Ok(made) => made,
            Err(why) => {
                tracing::error!("what a program made before cannot be read: {why}");
                let message =
                    "what the program made before cannot be read at the moment; nothing was done now";
                return Some(answer(Reason::STORE, message, REJECT_AGAIN));
            }
        };
        let answered = made.tell(rejected(&unopened.because(&made)), None);
        let (tickets, owner, asked, ended) =
            (desk.tickets.clone(), account(caller), id.to_owned(), kept(&answered));
        let kept = request.is_some();
        let filled = request.map(|(lease, digest)| Receipt::Request(lease, digest).filled(&answered));
        let end = move || {
            let reply = filled.as_ref().and_then(Filled::reply);
            tickets.end_along(&asked, &owner, &ended, reply.as_ref())
        };
        Some(match changing(&desk.tickets, end).await {
            Ok(again) => {
                let lines = match rejections.as_slice() {
                    [] => vec![audit::all_rejected()],
                    rejections => audit::lines(&unopened.calls, rejections),
                };
                let by = decided.by.name();
                AuditNote { who: account(caller).to_string(), ticket: id.to_owned(), by, again, lines }
                    .tell(&self.counts);
                Answered { kept, ..answered }
            }
            Err(error) => refused(&error),
        })
    }
}
