//! One schedule: two servers on one disk, an upstream and a few clients, from a seed. After a while nothing goes wrong any
//! more, and whoever wants something must get it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, Result};
use ptc_store::simulation::Disk;
use ptc_upstream::Runtime;
use serde_json::json;

use crate::fault::Fault;
use crate::messages::{Ask, Said};
use crate::oracle::Oracle;
use crate::programs;
use crate::random::Random;
use crate::scheduler::Scheduler;
use crate::server::Server;
use crate::tasks::{Mailbox, Of, Spawner, Tasks, sleep, step};
use crate::upstream::Wire;
use crate::world::{Counts, Shared, Spared};

/// Servers of a schedule.
pub const SERVERS: usize = 2;

/// What many schedules are run with, one after the other.
pub struct Kit {
    pub disk: Disk,
    wire: Wire,
    /// Upstreams as servers are configured: those of most, and those of servers that ask about every write.
    pub upstreams: [Arc<Runtime>; 2],
    /// The state with which sessions begin.
    pub session: Vec<u8>,
}

impl Kit {
    /// A disk, an upstream and a session.
    pub fn new() -> Result<Kit> {
        let (disk, wire) = (Disk::new()?, Wire::default());
        let upstreams = [wire.runtime(&json!({"pay": "ask"}))?, wire.runtime(&json!("writes"))?];
        let session = programs::new_session().context("a session begins")?;
        Ok(Kit { disk, wire, upstreams, session })
    }
}

/// Which schedule is run, and how.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub seed: u64,
    pub number: u64,
    pub fault: Option<Fault>,
    pub spared: Spared,
    /// Whether what happens is written down.
    pub logs: bool,
}

/// What came of a schedule.
#[derive(Debug, Default)]
pub struct Outcome {
    pub violation: Option<String>,
    pub steps: u64,
    /// How many things went wrong.
    pub faults: u64,
    pub counts: Counts,
    pub log: Vec<String>,
}

/// What tasks of a schedule share.
#[derive(Clone)]
pub struct Simulation {
    pub shared: Shared,
    pub spawner: Spawner,
    /// Those that run.
    pub servers: Rc<RefCell<Vec<Option<Rc<Server>>>>>,
    pub oracle: Rc<RefCell<Oracle>>,
}

/// Runs a schedule.
pub fn run(kit: &Kit, plan: &Plan) -> Result<Outcome> {
    kit.disk.clear()?;
    let random = Random::of(plan.seed, plan.number);
    let shared = Shared::new(random, plan.fault, plan.spared.clone(), plan.logs, SERVERS);
    kit.wire.enter(&shared);
    let tasks = Tasks::default();
    let simulation = Simulation {
        shared: shared.clone(),
        spawner: tasks.spawner.clone(),
        servers: Rc::new(RefCell::new(vec![None; SERVERS])),
        oracle: Rc::default(),
    };
    let mut scheduler = Scheduler::new(kit, simulation, tasks);
    scheduler.begin()?;
    let steps = scheduler.run()?;
    let mut state = shared.lock();
    Ok(Outcome {
        violation: state.violation.take(),
        steps,
        faults: state.faults(),
        counts: std::mem::take(&mut state.counts),
        log: state.log.take().unwrap_or_default(),
    })
}

impl Simulation {
    /// Sends a question to a server. It may come late, twice or never, and so may the answer.
    pub fn send(&self, node: usize, ask: Ask, to: &Mailbox<Said>) {
        let copies = 1 + usize::from(self.shared.lock().strikes("message doubled", |rates| rates.doubled));
        for _ in 0..copies {
            let Some(travels) = self.shared.lock().travels() else { continue };
            let (simulation, ask, to) = (self.clone(), ask.clone(), to.clone());
            self.spawner.spawn(Of::Network, 0, async move {
                sleep(&simulation.shared, travels).await;
                let server = simulation.servers.borrow()[node].clone();
                if let Some(server) = server {
                    let party = simulation.shared.lock().number();
                    simulation.spawner.spawn(
                        Of::Call(node),
                        party,
                        simulation.clone().call(server, party, ask, to),
                    );
                }
            });
        }
    }

    /// A server that runs.
    pub fn server(&self) -> Option<Rc<Server>> {
        self.servers.borrow().iter().flatten().next().cloned()
    }

    /// A call of a server.
    async fn call(self, server: Rc<Server>, party: u64, ask: Ask, to: Mailbox<Said>) {
        let said = match &ask {
            Ask::Run(request) => server.request(party, request).await,
            Ask::Decide(decide) => server.decide(party, decide).await,
            Ask::Close(close) => server.close(party, *close).await,
        };
        // It may be killed before it says so.
        step().await;
        server.note(party, || format!("answers {}", said.text()));
        {
            let (mut state, mut oracle) = (self.shared.lock(), self.oracle.borrow_mut());
            match (&ask, &said) {
                (Ask::Run(request), Said::Reply(reply)) => oracle.tells(&mut state, &request.scope(), reply),
                (Ask::Decide(decide), Said::Ended(ended)) => {
                    oracle.tells_end(&mut state, &decide.ticket, ended)
                }
                _ => {}
            }
        }
        let Some(travels) = self.shared.lock().travels() else { return };
        let shared = self.shared.clone();
        self.spawner.spawn(Of::Network, 0, async move {
            sleep(&shared, travels).await;
            to.put(said);
        });
    }
}
