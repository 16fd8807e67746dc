//! `log/`: programs look at what was done before. The turns come from the running server, from a file or from a folder of
//! files; whoever asks a server sees the turns of their own sessions only.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use ptc_store::shelf::giving_way;
use serde_json::{Map, Value as Json, json};

use super::host::{HostNamespace, OwnTool, Witness, page, refused};
use super::resources::drop_all;
use super::text::json_bytes;

/// Bytes of turns that a running server keeps for programs.
const LIVE_BYTES: usize = 8 << 20;
/// Bytes of turns that are read from files.
const LOADED_BYTES: usize = 64 << 20;
/// Items of a page.
const LIMITS: (usize, usize) = (100, 1_000);

/// Turns, oldest first. Where room is short, those of whoever has most go, over all of their connections.
#[derive(Debug, Default)]
pub struct TurnLog {
    kept: Mutex<KeptTurn>,
}

#[derive(Debug, Default)]
struct KeptTurn {
    turns: VecDeque<LoggedTurn>,
    bytes: usize,
}

#[derive(Debug)]
struct LoggedTurn {
    /// Who may see it, and on whose account it is; nobody in particular in files and where there is one user.
    of: Option<(Arc<str>, Arc<str>)>,
    turn: Arc<Json>,
    bytes: usize,
}

impl LoggedTurn {
    fn belongs_to(&self, owner: &str) -> bool {
        self.of.as_ref().is_some_and(|(of, _)| **of == *owner)
    }
}

impl TurnLog {
    /// Reads the turns of a file, or of all files of a folder in the order of their names.
    pub fn load(place: &Path) -> Result<TurnLog, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", place.display());
        let mut files: Vec<PathBuf> = match place.is_dir() {
            false => vec![place.to_owned()],
            true => {
                let entries = std::fs::read_dir(place).map_err(wrong)?.filter_map(Result::ok);
                let ending = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
                entries.map(|entry| entry.path()).filter(ending).collect()
            }
        };
        files.sort();
        let log = TurnLog::default();
        let mut bytes = 0;
        for file in files {
            let size = std::fs::metadata(&file).map_err(wrong)?.len();
            bytes += usize::try_from(size).unwrap_or(usize::MAX);
            if bytes > LOADED_BYTES {
                return Err(format!("{} has more than {LOADED_BYTES} bytes of turns", place.display()));
            }
            let text = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            // Other lines, and one that is only half written, are passed over.
            let lines = text.split(|byte| *byte == b'\n');
            let turns = lines.filter_map(|line| serde_json::from_slice::<Json>(line).ok());
            turns.for_each(|turn| log.push(None, turn, LOADED_BYTES));
        }
        Ok(log)
    }

    /// Adds a turn as it happens, for its owner to see and on the account of a principal, if there are any.
    pub fn add(&self, of: Option<(Arc<str>, Arc<str>)>, turn: Json) {
        self.push(of, turn, LIVE_BYTES);
    }

    fn push(&self, of: Option<(Arc<str>, Arc<str>)>, turn: Json, most: usize) {
        if turn["event"] != "turn" {
            return;
        }
        let bytes = json_bytes(&turn);
        if bytes > most {
            return;
        }
        let mut kept = self.kept();
        kept.turns.push_back(LoggedTurn { of, turn: Arc::new(turn), bytes });
        kept.bytes += bytes;
        if kept.bytes > most {
            let account = |one: &LoggedTurn| one.of.as_ref().map(|(_, principal)| principal.clone());
            let turns = kept.turns.iter().map(|one| (account(one), one.bytes as u64));
            let going = giving_way(&turns.collect::<Vec<_>>(), most as u64);
            drop_all(&mut kept.turns, going);
            kept.bytes = kept.turns.iter().map(|one| one.bytes).sum();
        }
    }

    fn kept(&self) -> MutexGuard<'_, KeptTurn> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turns of an owner that fit the filters.
    fn chosen(&self, args: &Json, witness: &Witness) -> Result<Vec<Arc<Json>>, Json> {
        let filter = Filter::read(args)?;
        let kept = self.kept();
        let seen = |one: &&LoggedTurn| witness.owner.as_ref().is_none_or(|owner| one.belongs_to(owner));
        let own = kept.turns.iter().filter(seen);
        Ok(own.map(|one| one.turn.clone()).filter(|turn| filter.fits(turn)).collect())
    }
}

/// Which turns are wanted.
#[derive(Debug)]
struct Filter<'f> {
    texts: Vec<(&'static str, &'f str)>,
    tags: Option<&'f Map<String, Json>>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl<'f> Filter<'f> {
    fn read(args: &'f Json) -> Result<Filter<'f>, Json> {
        const KEYS: &[&str] = &["driver", "status", "session_id", "tags", "from", "to", "limit", "cursor"];
        let wrong = |message: String| refused("invalid_argument", message);
        let given = args.as_object().into_iter().flat_map(Map::keys);
        if let Some(key) = given.into_iter().find(|key| !KEYS.contains(&key.as_str())) {
            let shown = super::text::cut(key, 40);
            return Err(wrong(format!("there is no filter {shown}; there are {}", KEYS.join(", "))));
        }
        let text = |key: &'static str| match &args[key] {
            Json::Null => Ok(None),
            Json::String(text) => Ok(Some(text.as_str())),
            _ => Err(wrong(format!("{key} must be a string"))),
        };
        let mut texts = Vec::new();
        for key in ["driver", "status", "session_id"] {
            texts.extend(text(key)?.map(|value| (key, value)));
        }
        let tags = match &args["tags"] {
            Json::Null => None,
            Json::Object(tags) => Some(tags),
            _ => return Err(wrong("tags must be a map".to_owned())),
        };
        let time = |key: &'static str| match text(key)?.map(str::parse) {
            None => Ok(None),
            Some(Ok(time)) => Ok(Some(time)),
            Some(Err(_)) => Err(wrong(format!("{key} must be a time like 2026-01-31T10:00:00Z"))),
        };
        Ok(Filter { texts, tags, from: time("from")?, to: time("to")? })
    }

    fn fits(&self, turn: &Json) -> bool {
        let at: Option<Timestamp> = turn["ts"].as_str().and_then(|at| at.parse().ok());
        self.texts.iter().all(|(key, wanted)| turn[*key] == *wanted)
            && self.tags.is_none_or(|tags| tags.iter().all(|(key, wanted)| turn["tags"][key] == *wanted))
            && self.from.is_none_or(|from| at.is_some_and(|at| at >= from))
            && self.to.is_none_or(|to| at.is_some_and(|at| at <= to))
    }
}

/// What a tool lists of turns.
type Listing = fn(&[Arc<Json>]) -> Vec<Json>;

/// The tools that give pages, by name.
const TOOLS: [(&str, Listing); 4] = [
    ("log_sessions", sessions),
    ("log_turns", turns),
    ("log_programs", programs),
    ("log_tool_calls", tool_calls),
];

/// The names of the tools.
pub const NAMES: [&str; 5] = ["log_sessions", "log_turns", "log_programs", "log_tool_calls", "log_counters"];

/// The namespace over these turns.
pub fn part(log: &Arc<TurnLog>) -> HostNamespace {
    let lists = TOOLS.iter().map(|(name, list)| {
        let (log, list) = (log.clone(), *list);
        let run = move |args: &Json, witness: &Witness| {
            let chosen = log.chosen(args, witness);
            chosen
                .and_then(|turns| page(args, &list(&turns), LIMITS.0, LIMITS.1))
                .unwrap_or_else(|error| error)
        };
        OwnTool { name, run: Arc::new(run) }
    });
    let counted = log.clone();
    let counters = OwnTool {
        name: "log_counters",
        run: Arc::new(move |args, witness| match counted.chosen(args, witness) {
            Ok(turns) => counters(&turns),
            Err(error) => error,
        }),
    };
    HostNamespace { id: ID, source: SOURCE, tools: lists.chain([counters]).collect() }
}

/// The namespace.
pub const ID: &str = "log";
const SOURCE: &str = include_str!("log.clj");

/// The namespace on a server that keeps no turns, for sessions that have it from another.
pub fn absent() -> HostNamespace {
    let tool = |name| OwnTool {
        name,
        run: Arc::new(|_, _| {
            refused("not_available", "this server keeps no log of turns; start it with --turn-log-dir")
        }),
    };
    HostNamespace { id: ID, source: SOURCE, tools: NAMES.map(tool).into() }
}

/// What every entry says about where it belongs.
fn place(turn: &Json) -> Map<String, Json> {
    let keys = ["session_id", "turn", "attempt", "committed", "status", "ts", "driver"];
    keys.iter().map(|key| ((*key).to_owned(), turn[*key].clone())).collect()
}

fn with(turn: &Json, more: Json) -> Json {
    let mut entry = place(turn);
    if let Json::Object(more) = more {
        entry.extend(more);
    }
    Json::Object(entry)
}

fn calls(turn: &Json) -> &[Json] {
    turn["data"]["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn sessions(turns: &[Arc<Json>]) -> Vec<Json> {
    let mut all: Vec<(&str, Vec<&Json>)> = Vec::new();
    for turn in turns {
        let id = turn["session_id"].as_str().unwrap_or_default();
        match all.iter_mut().find(|(known, _)| *known == id) {
            Some((_, own)) => own.push(turn),
            None => all.push((id, vec![turn])),
        }
    }
    let entry = |(id, own): &(&str, Vec<&Json>)| {
        let committed = own.iter().filter(|turn| turn["committed"] == true).count();
        let (first, last) = (own.first(), own.last());
        json!({
            "session_id": id,
            "driver": first.map(|turn| &turn["driver"]),
            "role": first.map(|turn| &turn["role"]),
            "tags": first.map(|turn| &turn["tags"]),
            "turns": own.len(),
            "committed": committed,
            "failed": own.len() - committed,
            "tool_calls": own.iter().map(|turn| calls(turn).len()).sum::<usize>(),
            "first": first.map(|turn| &turn["ts"]),
            "last": last.map(|turn| &turn["ts"]),
        })
    };
    all.iter().map(entry).collect()
}

fn turns(turns: &[Arc<Json>]) -> Vec<Json> {
    let entry = |turn: &Arc<Json>| {
        let data = &turn["data"];
        with(
            turn,
            json!({
                "duration_ms": turn["duration_ms"],
                "role": turn["role"],
                "tags": turn["tags"],
                "result_preview": data["result_preview"],
                "prints": data["prints"],
                "memory_diff": data["memory_diff"],
                "tool_calls_count": calls(turn).len(),
                "catalog_ops_count": data["catalog_ops"].as_array().map_or(0, Vec::len),
                "evidence_reads": data["evidence_reads"],
                "fail": data["fail"],
            }),
        )
    };
    turns.iter().map(entry).collect()
}

fn programs(turns: &[Arc<Json>]) -> Vec<Json> {
    turns.iter().map(|turn| with(turn, json!({"program": turn["data"]["program"]}))).collect()
}

fn tool_calls(turns: &[Arc<Json>]) -> Vec<Json> {
    turns.iter().flat_map(|turn| calls(turn).iter().map(|call| with(turn, call.clone()))).collect()
}

/// Sums over turns.
pub fn counters(turns: &[Arc<Json>]) -> Json {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in turns.iter().filter_map(|turn| turn["data"]["fail"]["reason"].as_str()) {
        *reasons.entry(reason).or_default() += 1;
    }
    let committed = turns.iter().filter(|turn| turn["committed"] == true).count();
    let failed_calls =
        |turn: &Arc<Json>| calls(turn).iter().filter(|call| call["outcome"] == "error").count();
    json!({
        "sessions": sessions(turns).len(),
        "turns": turns.len(),
        "committed": committed,
        "failed": turns.len() - committed,
        "tool_calls": turns.iter().map(|turn| calls(turn).len()).sum::<usize>(),
        "tool_call_errors": turns.iter().map(failed_calls).sum::<usize>(),
        "duration_ms": turns.iter().filter_map(|turn| turn["duration_ms"].as_u64()).sum::<u64>(),
        "by_reason": reasons,
    })
}

/// All turns of a file as evidence shows them: how they went, nothing of what they said.
pub fn outlines(log: &TurnLog) -> Vec<Json> {
    let entry = |turn: &Json| {
        json!({
            "turn": turn["turn"],
            "attempt": turn["attempt"],
            "committed": turn["committed"],
            "status": turn["status"],
            "tags": turn["tags"],
            "catalog_ops_count": turn["data"]["catalog_ops"].as_array().map_or(0, Vec::len),
            "tool_calls_count": calls(turn).len(),
            "fail": {"reason": turn["data"]["fail"]["reason"]},
        })
    };
    log.kept().turns.iter().map(|one| entry(&one.turn)).collect()
}

/// The sums over all turns of a file.
pub fn totals(log: &TurnLog) -> Json {
    let turns: Vec<Arc<Json>> = log.kept().turns.iter().map(|one| one.turn.clone()).collect();
    counters(&turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_with_many_turns_pushes_out_none_of_others() {
        let log = TurnLog::default();
        let turn = |n: usize, bytes: usize| json!({"event": "turn", "turn": n, "data": "x".repeat(bytes)});
        let add = |owner: &str, turn: Json| log.add(Some((owner.into(), owner.into())), turn);
        add("anna", turn(0, 10));
        (0..30).for_each(|n| add("ben", turn(n, 1 << 20)));
        add("ben", turn(30, LIVE_BYTES));
        let owners = |name: &str| {
            let kept = log.kept();
            let own = kept.turns.iter().filter(|one| one.belongs_to(name));
            own.map(|one| one.turn["turn"].as_u64()).collect::<Vec<_>>()
        };
        assert_eq!(owners("anna"), [Some(0)]);
        assert_eq!(
            owners("ben"),
            (23..30).map(Some).collect::<Vec<_>>(),
            "the last, as far as there is room"
        );
        assert!(log.kept().bytes <= LIVE_BYTES);
    }

    #[test]
    fn turns_of_many_connections_are_those_of_one_account() {
        let log = TurnLog::default();
        let turn = |bytes: usize| json!({"event": "turn", "data": "x".repeat(bytes)});
        log.add(Some(("anna over 1".into(), "anna".into())), turn(3 << 20));
        (0..9).for_each(|n| log.add(Some((format!("ben over {n}").into(), "ben".into())), turn(2 << 20)));
        let of = |owner: &str| log.kept().turns.iter().filter(|one| one.belongs_to(owner)).count();
        assert_eq!((of("anna over 1"), of("ben over 0"), of("ben over 8")), (1, 0, 1));
    }
}
