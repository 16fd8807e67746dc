//! Two servers on one store are killed at moments from a seed, again and again, while clients send every request to one
//! after the other: each request is done once and has one reply, and nobody waits longer for the dead than a lease.
//!
//! `cargo xtask kills [COUNT] [SEED]` does so many times and prints what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fleet::{Fleet, LEASE, Over, Random, lock};
use crate::keys::world;
use crate::postgres::Server as Postgres;
use crate::retrying::{Client, Ledger, as_told, came};
use crate::support::eventually;
use crate::world::World;

/// Clients at a time.
const CLIENTS: u64 = 6;
/// Requests and answers between two kills, at most.
const STEPS: u64 = 60;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Kills one server or both, and starts them again, so many times.
fn kill(fleet: &Fleet<'_>, kills: u64, random: &mut Random) {
    let mut killed = 0;
    while killed < kills {
        let until = fleet.steps() + random.below(STEPS);
        // Six clients are anywhere within their steps when the last of these comes.
        eventually("clients go on", || fleet.steps() >= until);
        let first = random.below(2) as usize;
        let places = if random.below(8) == 0 { vec![first, first + 1] } else { vec![first] };
        for place in &places {
            fleet.kill(*place);
            killed += 1;
        }
        places.into_iter().for_each(|place| fleet.start_again(place));
    }
}

/// Has clients at work while servers are killed; what the clients know in the end.
fn under_kills(fleet: &Fleet<'_>, kills: u64, seed: u64) -> Vec<Ledger> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let mut client = Client::new(fleet, &format!("c{number}"), seed ^ (number + 1));
                let over = &over;
                scope.spawn(move || {
                    while !over.load(Ordering::SeqCst) {
                        client.act();
                    }
                    client.decide_all();
                    lock(&client.ledger).clone()
                })
            })
            .collect();
        let guard = Over(&over);
        kill(fleet, kills, &mut Random(seed));
        drop(guard);
        clients.into_iter().map(|client| client.join().expect("its rules hold")).collect()
    })
}

fn each_request_is_done_once(world: &World, place: &str, kind: &str) {
    let (kills, seed) = (number("PTC_KILLS", 4), number("PTC_KILLS_SEED", 24));
    let fleet = Fleet::start(world, 2, &["--store", place, "--ticket-keys", "keys"]);
    let ledgers = under_kills(&fleet, kills, seed);
    let writes: BTreeMap<String, String> = ledgers.iter().flat_map(|ledger| ledger.writes.clone()).collect();
    let came = came(world);
    as_told(&writes, &came);
    let stray: Vec<&String> = came.keys().filter(|key| !writes.contains_key(*key)).collect();
    assert!(stray.is_empty(), "writes that nobody was told of: {stray:?}");
    // Whatever nobody knows was told, and nothing else counts as unknown.
    let unknown: BTreeSet<&str> =
        writes.iter().filter(|(_, told)| *told == ":outcome_unknown").map(|(key, _)| key.as_str()).collect();
    let gaps = world.gaps(&["--store", place]);
    let key = |gap: &serde_json::Value| {
        let text = gap["args"]["key"].as_str().or(gap["args"]["n"].as_str()).unwrap_or_default();
        text.split(' ').next().unwrap_or_default().to_owned()
    };
    let listed: BTreeSet<String> = gaps.iter().map(key).collect();
    assert_eq!(listed.iter().map(String::as_str).collect::<BTreeSet<_>>(), unknown);
    let answered: usize = ledgers.iter().map(|ledger| ledger.answered.len()).sum();
    let applied: u64 = ledgers.iter().map(|ledger| ledger.applied).sum();
    let longest = ledgers.iter().map(|ledger| ledger.longest).max().unwrap_or_default();
    let blocked = ledgers.iter().map(|ledger| ledger.blocked).max().unwrap_or_default();
    eprintln!(
        "{kind}, seed {seed}: {kills} kills, {answered} requests under keys, {answered} replies compared with those of \
         the other server, {applied} programs of sessions applied once each; {} writes asked for, {} came, none twice; {} \
         outcomes unknown, all told; longest wait {longest:.1?}, longest time that a dead server was in the way {blocked:.1?} \
         of a lease of {LEASE:?}",
        writes.len(),
        came.len(),
        unknown.len(),
    );
}

#[test]
fn each_request_is_done_once_however_often_servers_are_killed_on_a_file() {
    each_request_is_done_once(&world("kills-file"), "server.db", "SQLite");
}

#[test]
fn each_request_is_done_once_however_often_servers_are_killed_on_postgresql() {
    let Some(postgres) = Postgres::start("kills") else { return };
    each_request_is_done_once(&world("kills-postgres"), &postgres.place("shared"), "PostgreSQL");
}
