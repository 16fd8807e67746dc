//! Bytes that nobody wrote, and bytes that somebody changed: refused with a reason, never a panic.

use std::sync::{Arc, Mutex};

use ptc_host::{Decision, Held, HeldError, Judgement, Program, Resumption, Tool, Tools, run_blocking};
use ptc_lisp::dump::checksum;
use serde_json::{Value, json};

fn tools() -> Tools {
    let asks = |tool: &str, _: &Value| match tool {
        "pay" => Judgement::Ask(json!({})),
        _ => Judgement::Go,
    };
    Tools::new()
        .with("pay", Tool::quick(|args: Value| args["n"].clone()))
        .with("look", Tool::quick(|args: Value| args["n"].clone()))
        .judge(Arc::new(asks))
}

fn bytes(source: &str) -> Vec<u8> {
    let outcome = run_blocking(&Program::new(source).tools(tools()));
    outcome.held.expect("it is held").to_bytes()
}

fn sample() -> Vec<u8> {
    bytes("(pcalls #(tool/pay {:n 1}) #(tool/look {:n 2}) #(tool/pay {:n 3}))")
}

/// The bytes with the right checksum at their end.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 8;
    let sum = checksum(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What is allowed to programs that go on here.
const FUEL: u64 = 1_000_000;

/// Goes on with whatever the bytes say, if they say anything. What is paid is what was shown to whoever approved.
fn try_to_go_on(bytes: &[u8]) -> Option<String> {
    let held = Held::from_bytes(bytes).ok()?;
    let shown: Vec<Value> =
        held.pending().iter().filter(|call| call.tool == "pay").map(|call| call.args["n"].clone()).collect();
    let ids: Vec<u64> = held.pending().iter().map(|call| call.id).collect();
    let resumption = Resumption::new(held, ids.into_iter().map(|id| (id, Decision::Approve))).ok()?;
    let limits = ptc_host::Limits { fuel: FUEL, memory: 4 << 20, ..ptc_host::Limits::default() };
    let paid = Arc::new(Mutex::new(Vec::new()));
    let note = paid.clone();
    let pay = Tool::quick(move |args: Value| {
        note.lock().expect("nobody panics").push(args["n"].clone());
        args["n"].clone()
    });
    let outcome = run_blocking(&Program::resumed(resumption).tools(tools().with("pay", pay)).limits(limits));
    let paid = paid.lock().expect("nobody panics").clone();
    let mut left = shown.clone();
    for each in &paid {
        let at = left.iter().position(|one| one == each);
        left.remove(at.unwrap_or_else(|| panic!("paid {paid:?}, and {shown:?} was shown")));
    }
    assert!(outcome.fuel <= 2 * FUEL, "{} units of fuel", outcome.fuel);
    Some(outcome.result.map_or_else(|error| format!("error: {}", error.message), |_| outcome.value))
}

#[test]
fn damage_and_other_versions_are_named() {
    let bytes = sample();
    let mut newer = bytes.clone();
    newer[4] = 9;
    let mut flipped = bytes.clone();
    flipped[40] ^= 1;
    let cases = [
        (b"nothing of ours".to_vec(), "this is no held program"),
        (Vec::new(), "this is no held program"),
        (b"PTCH".to_vec(), "ends too early"),
        (newer, "version 9, this build reads version 1"),
        (flipped, "checksum does not match"),
        (bytes[..bytes.len() - 1].to_vec(), "checksum does not match"),
    ];
    for (bytes, expected) in cases {
        let error = Held::from_bytes(&bytes).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(matches!(
        Held::from_bytes(&sealed(b"PTCH\x01\xff\xff\xff\xff\xff\xff\xff\xff12345678".to_vec())),
        Err(HeldError::Damaged(_))
    ));
}

#[test]
fn any_changed_byte_with_a_right_checksum_does_no_harm() {
    let bytes = sample();
    let whole = try_to_go_on(&bytes);
    assert_eq!(whole.as_deref(), Some("(1 2 3)"));
    let (mut refused, mut failed, mut went_on) = (0, 0, 0);
    let mut note = |said: Option<String>| match said.as_deref() {
        None => refused += 1,
        Some(said) if said.starts_with("error: ") => failed += 1,
        Some(_) => went_on += 1,
    };
    for at in 5..bytes.len() - 8 {
        for change in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            note(try_to_go_on(&sealed(changed)));
        }
    }
    assert!(refused > 0 && failed > 0 && went_on > 0, "{refused} {failed} {went_on}");
    for length in 13..bytes.len() {
        let said = try_to_go_on(&sealed(bytes[..length].to_vec()));
        assert!(said.is_none_or(|said| said.starts_with("error: ")), "cut at {length}, it cannot go on");
    }
}

/// The bytes with another text of the same length in their head.
fn with(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = (0..bytes.len()).find(|at| bytes[*at..].starts_with(from.as_bytes())).expect("it is there");
    let mut bytes = bytes.to_vec();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    sealed(bytes)
}

#[test]
fn a_call_that_is_not_the_one_that_was_shown_is_not_made() {
    let bytes = bytes("(tool/pay {:n 1})");
    assert_eq!(try_to_go_on(&bytes).as_deref(), Some("1"));
    for (from, to) in [("\"n\":1", "\"n\":2"), ("\"pay\"", "\"pya\"")] {
        let said = try_to_go_on(&with(&bytes, from, to)).expect("the head is whole");
        assert!(said.contains("waits for other calls than those that were shown"), "{said}");
    }
}

#[test]
fn times_that_nobody_can_have_spent_overflow_nothing() {
    let bytes = bytes("(tool/pay {:n 1})");
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let secs = "\"spent\":{\"secs\":0";
    assert!(head.contains(secs), "{head}");
    let at = (0..bytes.len()).find(|at| bytes[*at..].starts_with(secs.as_bytes())).expect("it is there");
    let mut grown = bytes.clone();
    let digits = b"18446744073709551615";
    grown.splice(at + secs.len() - 1..at + secs.len(), digits.iter().copied());
    let length = u64::from_le_bytes(grown[5..13].try_into().expect("eight")) + digits.len() as u64 - 1;
    grown[5..13].copy_from_slice(&length.to_le_bytes());
    assert_eq!(try_to_go_on(&sealed(grown)).as_deref(), Some("1"));
}
