//! Runs as bytes: written after every need and continued elsewhere; bytes from strangers.

// Another process gets the run by a file, which the library itself never touches.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::Path;
use std::sync::Arc;

use ptc_agent::{Agent, AgentRun, RunOptions, SaveError, Step};

use crate::missions::{Log, MISSIONS, Mission};
use crate::support::{Dice, scripted};

/// Names the directory of a run that this process is to continue by one need.
const RELAY: &str = "PTC_RUN_TO_CONTINUE";

#[test]
fn every_mission_gives_its_answer() {
    for mission in MISSIONS {
        let (step, log) = mission.whole();
        assert_eq!(step.result().ok(), Some(&(mission.answer)()), "{}: {step:#?} {log:#?}", mission.name);
    }
}

#[test]
fn a_run_saved_after_every_need_goes_on_as_if_nothing_had_happened() {
    for mission in MISSIONS {
        let whole = mission.whole();
        let (mut run, mut log) = (mission.start(), Log::default());
        let step = loop {
            run = mission.load(&run.save().unwrap(), &log).unwrap();
            if let Some(step) = mission.go_on(&mut run, &mut log) {
                break step;
            }
        };
        assert_eq!(log, whole.1, "{}", mission.name);
        assert_eq!(step, whole.0, "{}", mission.name);
    }
}

#[test]
fn every_need_can_be_met_by_another_process() {
    if let Some(directory) = std::env::var_os(RELAY) {
        return continue_here(Path::new(&directory));
    }
    for mission in MISSIONS {
        let whole = mission.whole();
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("relay-{}", mission.name));
        drop(std::fs::remove_dir_all(&directory));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("mission"), mission.name).unwrap();
        std::fs::write(directory.join("run"), mission.start().save().unwrap()).unwrap();
        write(&directory, "log", &Log::default());
        let mut processes = 0;
        while !directory.join("step").exists() {
            let name = "save::every_need_can_be_met_by_another_process";
            let child = std::process::Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact", "--nocapture"])
                .env(RELAY, &directory)
                .output()
                .unwrap();
            assert!(child.status.success(), "{}: {}", mission.name, String::from_utf8_lossy(&child.stderr));
            processes += 1;
        }
        let (step, log): (Step, Log) = (read(&directory, "step"), read(&directory, "log"));
        assert_eq!(log, whole.1, "{}: nothing is asked twice", mission.name);
        assert_eq!(step, whole.0, "{}", mission.name);
        assert_eq!(processes, log.round, "{}: one process per need", mission.name);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// Takes the run of a directory one need further.
fn continue_here(directory: &Path) {
    let name = std::fs::read_to_string(directory.join("mission")).unwrap();
    let mission = MISSIONS.iter().find(|mission| mission.name == name).unwrap();
    let mut log: Log = read(directory, "log");
    let mut run = mission.load(&std::fs::read(directory.join("run")).unwrap(), &log).unwrap();
    let step = mission.go_on(&mut run, &mut log);
    write(directory, "log", &log);
    match step {
        Some(step) => write(directory, "step", &step),
        None => std::fs::write(directory.join("run"), run.save().unwrap()).unwrap(),
    }
}

fn write(directory: &Path, name: &str, value: &impl serde::Serialize) {
    std::fs::write(directory.join(name), serde_json::to_vec(value).unwrap()).unwrap();
}

fn read<T: serde::de::DeserializeOwned>(directory: &Path, name: &str) -> T {
    serde_json::from_slice(&std::fs::read(directory.join(name)).unwrap()).unwrap()
}

/// Bytes of a run in the middle of its work: nested agents, calls side by side.
fn midway(mission: &Mission) -> Vec<Vec<u8>> {
    let (mut run, mut log) = (mission.start(), Log::default());
    let mut all = Vec::new();
    while mission.go_on(&mut run, &mut log).is_none() {
        all.push(run.save().unwrap());
    }
    all
}

/// The bytes with the checksum that they should have.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let (mut hash, body) = (0xcbf2_9ce4_8422_2325_u64, &bytes[14..]);
    for byte in body {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    }
    bytes[6..14].copy_from_slice(&hash.to_le_bytes());
    bytes
}

fn load(mission: &Mission, bytes: &[u8]) -> Result<AgentRun, SaveError> {
    mission.load(bytes, &Log::default())
}

#[test]
fn bytes_that_are_no_run_are_refused() {
    let mission = &MISSIONS[1];
    let bytes = midway(mission).swap_remove(8);
    assert_eq!(sealed(bytes.clone()), bytes, "the test knows the checksum");
    assert!(load(mission, &bytes).is_ok());
    for length in 0..bytes.len().min(600) {
        assert!(load(mission, &bytes[..length]).is_err(), "{length}");
        if length >= 14 {
            assert!(load(mission, &sealed(bytes[..length].to_vec())).is_err(), "{length}, sealed");
        }
    }
    let mut later = bytes.clone();
    later[4] = 9;
    assert_eq!(load(mission, &later).unwrap_err(), SaveError::TooNew(9));
    let mut damaged = bytes.clone();
    damaged[40] ^= 1;
    assert!(load(mission, &damaged).unwrap_err().to_string().contains("checksum"));
    for opening in [0x81_u8, 0x9f, 0xa1, 0xbf, 0xc1] {
        let mut deep = bytes[..14].to_vec();
        deep.extend(std::iter::repeat_n(opening, 2_000_000));
        assert!(load(mission, &sealed(deep)).is_err(), "nests with {opening:#x}");
    }
}

#[test]
fn a_run_is_continued_by_its_own_agent_only() {
    let bytes = midway(&MISSIONS[1]).swap_remove(3);
    let other = Agent::builder("Something else").build().unwrap();
    let error = AgentRun::load(Arc::new(other), RunOptions::new(scripted()), &bytes, 1_000).unwrap_err();
    assert!(matches!(error, SaveError::OtherAgent { .. }), "{error}");
    // The same name and mission, but the tools below it are not those of the run.
    let less = Agent::builder("Delegate {{n}}").signature("(n :int) -> :any").name("parent").build().unwrap();
    assert!(AgentRun::load(Arc::new(less), RunOptions::new(scripted()), &bytes, 1_000).is_err());
}

#[test]
fn a_run_that_is_over_is_not_begun_again() {
    let mission = &MISSIONS[5];
    let (mut run, mut log) = (mission.start(), Log::default());
    while mission.go_on(&mut run, &mut log).is_none() {}
    assert!(run.save().unwrap_err().to_string().contains("over"));
}

#[test]
fn changed_bytes_with_a_right_checksum_never_crash() {
    let mut dice = Dice(7);
    let mut loaded = 0;
    for mission in MISSIONS {
        let stops = midway(mission);
        for round in 0..700 {
            let mut bytes = stops[round % stops.len()].clone();
            for _ in 0..=dice.pick(3) {
                let at = 14 + dice.pick(bytes.len() - 14);
                match dice.pick(4) {
                    0 => bytes[at] ^= 1 << dice.pick(8),
                    1 => bytes[at] = [0x00, 0xff, 0x1b, 0x7f, 0xf6, 0x18][dice.pick(6)],
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, dice.pick(256) as u8),
                }
            }
            // Numbers deep inside may still make a run; that run then ends or stops, but does not crash.
            if let Ok(mut run) = load(mission, &sealed(bytes)) {
                loaded += 1;
                let mut log = Log::default();
                for _ in 0..60 {
                    if mission.go_on(&mut run, &mut log).is_some() {
                        break;
                    }
                    drop(run.save());
                }
            }
        }
    }
    assert!(loaded > 100, "{loaded} of the changed runs could be read");
}

#[test]
fn numbers_out_of_range_never_crash() {
    // Every small number of a run in turn becomes the largest there is.
    let mission = &MISSIONS[1];
    let bytes = midway(mission).swap_remove(10);
    let mut changed = 0;
    for at in (14..bytes.len()).filter(|at| bytes[*at] < 0x18) {
        let mut larger = bytes[..at].to_vec();
        larger.extend([0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        larger.extend(&bytes[at + 1..]);
        if let Ok(mut run) = load(mission, &sealed(larger)) {
            changed += 1;
            let mut log = Log::default();
            for _ in 0..60 {
                if mission.go_on(&mut run, &mut log).is_some() {
                    break;
                }
            }
        }
    }
    assert!(changed > 0);
}

#[test]
fn runs_that_an_older_version_saved_go_on() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/saved");
    for mission in MISSIONS {
        let Ok(bytes) = std::fs::read(folder.join(format!("v1-{}.run", mission.name))) else {
            assert_eq!(mission.name, "consent", "version 1 knew nothing of approval");
            continue;
        };
        let mut log: Log = read(&folder, &format!("v1-{}.json", mission.name));
        let mut run = mission.load(&bytes, &log).unwrap();
        let step = loop {
            if let Some(step) = mission.go_on(&mut run, &mut log) {
                break step;
            }
        };
        assert_eq!(step.value, (mission.answer)(), "{}", mission.name);
        // Calls that run at the same time may be asked for in another order than then.
        let sorted = |log: &Log| {
            let mut calls: Vec<String> = log.tools.iter().map(|call| format!("{call:?}")).collect();
            calls.sort();
            calls
        };
        assert_eq!(sorted(&log), sorted(&mission.whole().1), "{}: nothing is asked twice", mission.name);
    }
}

#[test]
fn only_runs_that_wait_for_people_are_of_version_2() {
    for mission in MISSIONS {
        let (mut run, mut log) = (mission.start(), Log::default());
        while mission.go_on(&mut run, &mut log).is_none() {
            let version = run.save().unwrap()[4];
            assert_eq!(version == 2, !run.pending().is_empty(), "{}: {version}", mission.name);
        }
    }
}
