//! `ptc tickets`: programs of a store that wait for a person, whoever they belong to.

mod reject;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use ptc_server::engine::{Keys, decisions_in_short, wrong_seal, wrong_ticket};
use ptc_store::check::WrongSeal;
use ptc_store::tickets::{ListedTicket, Tickets, Waiting};
use serde_json::{Value as Json, json};

use super::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal::{self, plain};

/// List the programs of a store that wait for a person, the oldest first.
///
/// Whose they are, which program, which calls, since when and until when. This shows what all clients of all servers of the
/// store wait for. People decide on the page /approvals of a server, each about their own; here only programs are rejected that
/// nobody can go on with.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct TicketsArgs {
    #[command(subcommand)]
    command: Option<TicketsCommand>,

    #[command(flatten)]
    place: TicketsPlace,

    /// Those of one owner only
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    /// Print a JSON line for each instead of text
    #[arg(long)]
    json: bool,
}

/// Where programs wait.
#[derive(Clone, Debug, clap::Args)]
struct TicketsPlace {
    /// The store of the servers: an SQLite file or a PostgreSQL URL; what PTC_RUNNER_MCP_STORE names, unless told
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,

    /// The file of keys that the servers were given, to find programs that it does not open; what PTC_RUNNER_MCP_TICKET_KEYS
    /// names, or the file beside an SQLite store, unless told
    #[arg(long, value_name = "FILE")]
    ticket_keys: Option<PathBuf>,
}

impl TicketsPlace {
    fn store(&self) -> anyhow::Result<String> {
        super::store::needed(self.store.as_deref(), "--store PLACE")
    }
}

#[derive(Debug, clap::Subcommand)]
enum TicketsCommand {
    /// Reject a program that nobody can go on with: what is kept of it is damaged, or its key is gone.
    ///
    /// It is over then, and nothing of it is run or opened. What its calls did before stays. Whomever it belongs to can reject it
    /// as well, on the page /approvals of a server, and finds what came of it there.
    Reject(reject::Reject),
}

const AFTER_HELP: &str = "\
Exit codes:
  0  they are listed, also if there are none, or the program is rejected
  2  the command line or the store makes no sense, or somebody can go on with the program

Examples:
  ptc tickets --store server.db
  PTC_RUNNER_MCP_STORE=postgres://ptc@localhost/ptc ptc tickets --owner anna
  ptc tickets --store server.db --json | jq -r '.owner' | sort | uniq -c
  ptc tickets reject tkt-Zm9v --note 'the disk was damaged' --store server.db";

/// Names the file of keys of a server.
const KEYS: &str = "PTC_RUNNER_MCP_TICKET_KEYS";
/// Characters of a program that one line shows.
const PROGRAM: usize = 100;
/// Characters of the arguments of a call that one line shows.
const ARGUMENTS: usize = 200;

/// Runs the command.
pub fn run(args: TicketsArgs) -> anyhow::Result<Outcome> {
    if let Some(TicketsCommand::Reject(reject)) = args.command {
        return reject.run();
    }
    let store = args.place.store()?;
    let tickets = Tickets::new(Arc::new(super::open_existing(&store)?)).read_by(wrong_ticket);
    let all = tickets.list_all()?;
    let meant = all.iter().filter(|(owner, _)| args.owner.as_ref().is_none_or(|name| name == owner));
    let (now, keys) = (ptc_host::now_ms(), TicketKeys::find(args.place.ticket_keys, &store)?);
    let mut lines = Vec::new();
    for (owner, ticket) in meant {
        // Somebody may have ended it since.
        let waiting = tickets.read(&ticket.id, owner).ok();
        let mut why = WhyNot::default();
        let sealed = waiting.as_ref().filter(|waiting| !waiting.sealed.is_empty());
        match sealed.and_then(|waiting| keys.wrong_seal(&ticket.id, owner, &waiting.sealed)) {
            Some(SealedAway::Lacks(key)) => why.lacks = Some(key),
            Some(SealedAway::Damaged(damage)) => why.damage = Some(damage),
            None => {}
        }
        why.damage = waiting.as_ref().map_or_else(|| ticket.damaged.clone(), Waiting::damage).or(why.damage);
        lines.push(match args.json {
            true => fields(owner, ticket, &why, now).to_string(),
            false => text(owner, ticket, &why, now),
        });
    }
    if lines.is_empty() && !args.json {
        lines.push(nothing(&all, args.owner.as_deref()));
    }
    let mut out = terminal::stdout();
    ignore_closed_pipe(lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(Outcome::Done)
}

/// The keys of the servers.
enum TicketKeys {
    /// These.
    Known(Keys),
    /// Their file lay beside the store, and is gone.
    Gone(PathBuf),
    /// A database has no file beside it: nobody can tell which programs they open.
    Unnamed,
}

impl TicketKeys {
    fn find(named: Option<PathBuf>, store: &str) -> anyhow::Result<TicketKeys> {
        let set = || std::env::var_os(KEYS).filter(|file| !file.is_empty()).map(PathBuf::from);
        let file = match (named.or_else(set), ptc_store::beside(store, ".keys")?) {
            (Some(file), _) => file,
            (None, Some(file)) if file.exists() => file,
            (None, Some(file)) => return Ok(TicketKeys::Gone(file)),
            (None, None) => return Ok(TicketKeys::Unnamed),
        };
        Keys::load(&file).map(TicketKeys::Known).map_err(|problem| anyhow!("{problem}"))
    }

    /// Why a program does not open with them: the key that it is sealed with and that is not there, with where it was looked for, or
    /// what is damaged.
    fn wrong_seal(&self, id: &str, owner: &str, sealed: &[u8]) -> Option<SealedAway> {
        let (keys, gone) = match self {
            TicketKeys::Known(keys) => (Some(keys), None),
            TicketKeys::Gone(file) => (None, Some(file.display().to_string())),
            TicketKeys::Unnamed => return None,
        };
        Some(match wrong_seal(keys, id, owner, sealed)? {
            WrongSeal::NoKey(key) => SealedAway::Lacks(LackedKey { key, gone }),
            WrongSeal::Damaged(why) => SealedAway::Damaged(format!("what is sealed of it {why}")),
        })
    }
}

/// Why a program does not open.
enum SealedAway {
    Lacks(LackedKey),
    /// With no key.
    Damaged(String),
}

/// Why nobody can go on with a program, if nobody can.
#[derive(Default)]
struct WhyNot {
    /// What of it cannot be read.
    damage: Option<String>,
    lacks: Option<LackedKey>,
}

/// A key that is not there.
struct LackedKey {
    key: String,
    /// The file that is gone, if it is not just the key.
    gone: Option<String>,
}

impl LackedKey {
    fn text(&self) -> String {
        let key = plain(&self.key);
        match &self.gone {
            None => format!("  (sealed with the key {key}, which is not there: it can only be rejected)"),
            Some(file) => format!(
                "  (sealed with the key {key}, and {} is not there: it can only be rejected, unless the servers were given \
                 another file of keys, which --ticket-keys names)",
                plain(file)
            ),
        }
    }
}

/// What is said where no program is listed. Somebody who mistyped a name must not read that nothing waits.
fn nothing(all: &[(String, ListedTicket)], owner: Option<&str>) -> String {
    let Some(owner) = owner else { return "no program waits for a person".to_owned() };
    let others: BTreeSet<&str> = all.iter().map(|(owner, _)| owner.as_str()).collect();
    let others = match others.is_empty() {
        true => "nobody has any".to_owned(),
        false => format!("those that wait are of {}", others.into_iter().collect::<Vec<_>>().join(", ")),
    };
    plain(&format!("nobody named `{owner}` has a program that waits for a person; {others}"))
}

fn fields(owner: &str, ticket: &ListedTicket, why: &WhyNot, now: i64) -> Json {
    let about = &ticket.about;
    json!({
        "id": ticket.id, "owner": owner, "tool": about["tool"], "session": about["session_id"],
        "program": about["program"], "calls": about["pending"], "going_on": ticket.busy,
        "decided": ticket.decided.as_ref().map(decisions_in_short), "lacks_key": why.lacks.as_ref().map(|lacks| &lacks.key),
        "since": time(ticket.created_ms), "until": time(ticket.expires_ms),
        "age_s": now.saturating_sub(ticket.created_ms) / 1_000, "damaged": why.damage,
    })
}

fn text(owner: &str, ticket: &ListedTicket, why: &WhyNot, now: i64) -> String {
    let about = |field: &str| ticket.about[field].as_str().unwrap_or_default();
    let mut lines = vec![format!(
        "{}  {}  {}  since {} ({}), until {}{}{}",
        ticket.id,
        plain(owner),
        plain(about("tool")),
        time(ticket.created_ms),
        age(now.saturating_sub(ticket.created_ms)),
        time(ticket.expires_ms),
        if why.damage.is_some() { String::new() } else { state(ticket) },
        why.lacks.as_ref().map(LackedKey::text).unwrap_or_default(),
    )];
    if let Some(why) = &why.damage {
        lines.push(format!("    it can only be rejected (ptc tickets reject {}): {}", ticket.id, plain(why)));
    }
    for call in ticket.about["pending"].as_array().into_iter().flatten() {
        let part = |field: &str| call[field].as_str().unwrap_or_default();
        let args = match call.get("args_text").and_then(Json::as_str) {
            Some(text) => text.to_owned(),
            None => call["args"].to_string(),
        };
        let tool = match part("server") {
            "" => part("tool").to_owned(),
            server => format!("{server}/{}", part("tool")),
        };
        let number = call["call"].as_u64().map(|number| format!("{number}  ")).unwrap_or_default();
        lines.push(format!("    {number}{} {}", plain(&tool), plain(&short(&args, ARGUMENTS))));
    }
    if why.damage.is_none() || !about("program").is_empty() {
        lines.push(format!("    in {}", plain(&short(about("program"), PROGRAM))));
    }
    lines.join("\n")
}

/// Whether somebody decided, and what becomes of it.
fn state(ticket: &ListedTicket) -> String {
    let decided = ticket.decided.as_ref().map(decisions_in_short).unwrap_or_default();
    let word = |one: &Json| format!("call {}: {}", one["call"], one["decision"].as_str().unwrap_or_default());
    let words: Vec<String> = decided.as_array().into_iter().flatten().map(word).collect();
    match (ticket.busy, ticket.decided.is_some()) {
        (true, _) => format!("  (decided, going on: {})", words.join(", ")),
        (false, true) => format!("  (decided, waits for the same decision again: {})", words.join(", ")),
        (false, false) => String::new(),
    }
}

/// A text on one line, as long as that.
fn short(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn time(ms: i64) -> String {
    jiff::Timestamp::from_second(ms / 1_000).unwrap_or_default().to_string()
}

/// How long ago, in the largest unit.
fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> ListedTicket {
        let call =
            json!({"call": 1, "server": "crm", "tool": "put", "args": {"n": 1}, "args_text": "{\"n\": 1}"});
        let about =
            json!({"tool": "lisp_eval", "session_id": null, "program": "(put\n  1)", "pending": [call]});
        ListedTicket {
            id: "tkt-1".to_owned(),
            kind: "eval".to_owned(),
            busy: false,
            decided: None,
            created_ms: 0,
            expires_ms: 3_600_000,
            about,
            damaged: None,
        }
    }

    #[test]
    fn a_ticket_says_whose_it_is_which_program_which_calls_and_how_long() {
        let told = text("anna", &ticket(), &WhyNot::default(), 720_000);
        let expected = "tkt-1  anna  lisp_eval  since 1970-01-01T00:00:00Z (12 min), until 1970-01-01T01:00:00Z\n    \
                        1  crm/put {\"n\": 1}\n    in (put 1)";
        assert_eq!(told, expected);
        let fields = fields("anna", &ticket(), &WhyNot::default(), 720_000);
        assert_eq!((&fields["owner"], &fields["age_s"]), (&json!("anna"), &json!(720)));
        assert_eq!(fields["calls"][0]["args"], json!({"n": 1}));
    }

    #[test]
    fn an_owner_who_has_none_is_told_from_nothing_that_waits() {
        let all = [("anna".to_owned(), ticket()), ("anna".to_owned(), ticket())];
        assert_eq!(nothing(&[], None), "no program waits for a person");
        let told = nothing(&all, Some("ana"));
        let expected =
            "nobody named `ana` has a program that waits for a person; those that wait are of anna";
        assert_eq!(told, expected);
        assert!(nothing(&[], Some("anna")).ends_with("; nobody has any"));
    }

    #[test]
    fn a_ticket_that_was_decided_says_so_without_arguments() {
        let decided = Some(json!([[1, {"edit": {"args": {"secret": 7}}}]]));
        let left = ListedTicket { decided, ..ticket() };
        let told = text("anna", &left, &WhyNot::default(), 0);
        assert!(told.contains("(decided, waits for the same decision again: call 1: edit)"), "{told}");
        let told = fields("anna", &left, &WhyNot::default(), 0);
        assert_eq!(told["decided"], json!([{"call": 1, "decision": "edit"}]), "{told}");
        assert!(!told.to_string().contains("secret"), "{told}");
        for (gone, expected) in [
            (None, "(sealed with the key k1, which is not there: it can only be rejected)"),
            (
                Some("s.db.keys"),
                "(sealed with the key k1, and s.db.keys is not there: it can only be rejected, unless",
            ),
        ] {
            let lacks = Some(LackedKey { key: "k1".to_owned(), gone: gone.map(str::to_owned) });
            let lacks = WhyNot { lacks, damage: None };
            let told = text("anna", &left, &lacks, 0);
            assert!(told.contains(expected), "{told}");
            assert_eq!(fields("anna", &left, &lacks, 0)["lacks_key"], "k1");
        }
        let told = text("anna", &ListedTicket { busy: true, ..left }, &WhyNot::default(), 0);
        assert!(told.contains("(decided, going on: call 1: edit)"), "{told}");
    }

    #[test]
    fn nothing_of_a_ticket_is_obeyed_by_a_terminal() {
        let mut hostile = ticket();
        hostile.about["program"] = "\u{1b}]0;x\u{7}".into();
        hostile.about["pending"][0]["tool"] = "\u{1b}[2J".into();
        let told = text("\u{9b}anna", &hostile, &WhyNot::default(), 0);
        assert!(!told.chars().any(|c| c.is_control() && c != '\n'), "{told:?}");
    }
}
