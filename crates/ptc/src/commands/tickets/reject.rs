//! `ptc tickets reject`: ends a program that waits and that nobody can go on with any more.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use ptc_server::engine::{rejected_by_operator, wrong_ticket};
use ptc_store::tickets::{TicketError, Tickets, Waiting};

use super::{SealedAway, TicketKeys, TicketsPlace};
use crate::exit::Outcome;
use crate::terminal::{self, plain};

#[derive(Debug, clap::Args)]
pub struct Reject {
    /// The id of the ticket, as `ptc tickets` lists it
    id: String,

    /// Why, for whoever asks what came of the program
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    place: TicketsPlace,
}

impl Reject {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let store = self.place.store()?;
        let tickets = Tickets::new(Arc::new(super::super::open_existing(&store)?)).read_by(wrong_ticket);
        let id = &self.id;
        let owner = tickets.owner(id)?.ok_or_else(|| {
            anyhow!("there is no ticket `{}`; `ptc tickets` lists those that wait", plain(id))
        })?;
        let keys = TicketKeys::find(self.place.ticket_keys, &store)?;
        let why = match tickets.read(id, &owner) {
            Ok(waiting) => over(&waiting, id, &owner, &keys)?,
            Err(TicketError::Used { .. }) => {
                bail!("the ticket `{}` was used already: its program is over", plain(id))
            }
            Err(error) => bail!("{error}"),
        };
        let again = tickets.end(id, &owner, &rejected_by_operator(&why, self.note.as_deref()))?;
        let before = match again {
            true => {
                "; somebody had decided before, so look what its calls did: `ptc effects --done`, `ptc effects`"
            }
            false => "",
        };
        let line = format!("rejected {id} of {owner}: {why}{before}");
        super::super::ignore_closed_pipe(writeln!(terminal::stdout(), "{}", plain(&line)))?;
        Ok(Outcome::Done)
    }
}

/// Why nobody can go on with a program. One that somebody can go on with is for whomever it belongs to.
fn over(waiting: &Waiting, id: &str, owner: &str, keys: &TicketKeys) -> anyhow::Result<String> {
    if let Some(why) = waiting.damage() {
        return Ok(why);
    }
    match (keys.wrong_seal(id, owner, &waiting.sealed), keys) {
        (Some(SealedAway::Damaged(why)), _) => Ok(why),
        (Some(SealedAway::Lacks(lacks)), TicketKeys::Known(_)) => {
            Ok(format!("it is sealed with the key {}, which is not there", lacks.key))
        }
        (Some(_), TicketKeys::Gone(file)) => bail!(
            "whether servers can open the program is not known, because {} is not there; name the file of keys that they were given \
             with --ticket-keys, or let {owner} reject it on the page /approvals of a server",
            file.display()
        ),
        (_, TicketKeys::Unnamed) => bail!(
            "nothing that can be read of the program is damaged; if its key is gone, name the file of keys that the servers were \
             given with --ticket-keys. Else {owner} decides, on the page /approvals of a server"
        ),
        _ => bail!("the program can go on, so {owner} decides about it, on the page /approvals of a server"),
    }
}
