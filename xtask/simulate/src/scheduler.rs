//! What happens next in a schedule: one task runs to the next point where it waits, or something goes wrong, or time
//! passes; then everything that must be true is looked at.

use std::rc::Rc;

use anyhow::{Context, Result};
use ptc_server::engine::gate::{GateBounds, Load};
use ptc_store::sessions::{NewSession, SessionQuota};

use crate::messages::Request;
use crate::schedule::{Kit, SERVERS, Simulation};
use crate::server::Server;
use crate::tasks::{Of, Tasks, sleep};
use crate::{clients, programs};

/// Steps of the longest schedule: whoever is not done then waits for ever.
const MOST_STEPS: u64 = 20_000;
/// A long time for sessions and for what is remembered: no schedule takes so long.
const LONG_MS: i64 = 24 * 60 * 60 * 1_000;

/// Decides what happens next.
pub struct Scheduler<'k> {
    kit: &'k Kit,
    simulation: Simulation,
    tasks: Tasks,
    bounds: GateBounds,
    /// When servers that are down are started.
    restarts: Vec<Option<i64>>,
    /// What clients will ask for once more.
    wishes: Vec<Request>,
    /// Steps in which something may go wrong.
    chaos: u64,
    /// How often the disk had changed when somebody last looked.
    looked: u64,
}

impl<'k> Scheduler<'k> {
    pub fn new(kit: &'k Kit, simulation: Simulation, tasks: Tasks) -> Scheduler<'k> {
        let mut state = simulation.shared.lock();
        let mut small = |most: u64| usize::try_from(1 + state.random.below(most)).unwrap_or(1);
        let each = 1 << 20;
        let bounds = GateBounds {
            running: small(3),
            waiting: small(3),
            queued: small(4),
            memory: small(4) * each,
            each,
        };
        let chaos = 40 + state.random.below(400);
        drop(state);
        let (restarts, wishes) = (vec![None; SERVERS], Vec::new());
        Scheduler { kit, simulation, tasks, bounds, restarts, wishes, chaos, looked: 0 }
    }

    /// Starts the servers, begins the sessions and lets the clients go.
    pub fn begin(&mut self) -> Result<()> {
        for node in 0..SERVERS {
            self.start(node);
        }
        let wishes = clients::wishes(&self.simulation);
        let server = self.simulation.servers.borrow()[0].clone().context("it was started")?;
        self.simulation.shared.lock().chaos = false;
        for id in ["s1", "s2"] {
            if wishes.iter().any(|wish| wish.session == Some(id)) {
                let owner = clients::owner_of(id);
                let meta = programs::new_meta();
                let new =
                    NewSession { id, owner, origin: &meta, meta: &meta, ttl_ms: LONG_MS, idle_ms: LONG_MS };
                server.sessions.create(&new, SessionQuota { most: 10, per_owner: 10 })?;
                let taken = server.sessions.take(id, owner, 1, None)?;
                server.sessions.commit(&taken.lease, taken.version, &meta, Some(&self.kit.session))?;
            }
        }
        self.look()?;
        let mut state = self.simulation.shared.lock();
        state.chaos = true;
        if state.random.below(4) == 0 {
            self.wishes.clone_from(&wishes);
        }
        let over: Vec<&str> = ["s1", "s2"]
            .into_iter()
            .filter(|id| wishes.iter().any(|wish| wish.session == Some(id)) && state.random.below(4) == 0)
            .collect();
        drop(state);
        for session in over {
            let simulation = self.simulation.clone();
            self.simulation.spawner.spawn(Of::Client, 0, clients::close(simulation, session));
        }
        for wish in wishes {
            let simulation = self.simulation.clone();
            self.simulation.shared.note(|| format!("a client wants {}", wish.text()));
            self.simulation.spawner.spawn(Of::Client, 0, clients::request(simulation, wish));
        }
        Ok(())
    }

    /// Runs to the end, or until something is wrong; says how many steps it took.
    pub fn run(&mut self) -> Result<u64> {
        for number in 1..=MOST_STEPS {
            self.tasks.take_in();
            if self.simulation.shared.lock().violation.is_some() {
                return Ok(number);
            }
            let idle = self.tasks.count(|of| matches!(of, Of::Client | Of::Call(_))) == 0;
            if idle && self.ends() {
                return Ok(number);
            }
            if number >= self.chaos {
                self.calm_down();
            }
            self.restart();
            self.step()?;
            self.bury();
            self.look()?;
        }
        self.simulation.shared.lock().violated(|| "nothing waits for ever: it goes on and on".to_owned());
        Ok(MOST_STEPS)
    }

    /// Whether it ends when all clients have their answers. Before that, a person looks into what nobody knows, when no call
    /// is on its way any more, and everybody asks once more.
    fn ends(&mut self) -> bool {
        self.permits_are_back();
        if self.wishes.is_empty() {
            return true;
        }
        self.calm_down();
        let on_the_way = self.simulation.shared.lock().upstream.next_arrival().is_some();
        if !on_the_way && self.simulation.server().is_some() {
            let wishes = std::mem::take(&mut self.wishes);
            let simulation = self.simulation.clone();
            self.simulation.spawner.spawn(Of::Client, 0, clients::settle(simulation, wishes));
        }
        false
    }

    /// One step: something goes wrong, or one task runs, or time passes.
    fn step(&mut self) -> Result<()> {
        if self.goes_wrong()? {
            return Ok(());
        }
        let (tasks, simulation) = (&mut self.tasks, &self.simulation);
        let mut state = simulation.shared.lock();
        let may: Vec<bool> =
            state.nodes.iter().map(|node| node.alive && node.stopped_until <= state.now).collect();
        let runnable = tasks.runnable(|node| may[node]);
        if runnable.is_empty() {
            let stopped = state.nodes.iter().map(|node| node.stopped_until);
            let restarts = self.restarts.iter().flatten().copied();
            let timers = state.timers.keys().next().map(|(at, _)| *at);
            let events = stopped.chain(restarts).chain(timers).chain(state.upstream.next_arrival());
            let now = state.now;
            let next = events.filter(|at| *at > now).min();
            match next {
                Some(next) => state.now = next,
                None => state.violated(|| "nothing waits for ever: nobody can go on".to_owned()),
            }
        } else {
            let passes = state.random.between(1, 8);
            state.now += passes;
        }
        state.arrive();
        state.wake_due();
        if runnable.is_empty() {
            return Ok(());
        }
        let chosen = *state.random.pick(&runnable);
        drop(state);
        tasks.run(chosen, &simulation.shared);
        Ok(())
    }

    /// Whether something goes wrong between two steps.
    fn goes_wrong(&mut self) -> Result<bool> {
        let mut state = self.simulation.shared.lock();
        if state.strikes("power lost", |rates| rates.power) {
            drop(state);
            self.lose_power()?;
            return Ok(true);
        }
        let node = usize::try_from(state.random.below(SERVERS as u64)).unwrap_or_default();
        if state.nodes[node].alive && state.strikes("server killed", |rates| rates.killed) {
            state.nodes[node].alive = false;
            state.note(|| format!("server {node} is killed"));
            return Ok(true);
        }
        if state.nodes[node].alive && state.strikes("server stopped", |rates| rates.stopped) {
            let until = state.now + state.random.between(500, 25_000);
            state.nodes[node].stopped_until = until;
            state.note(|| format!("server {node} is stopped"));
            return Ok(true);
        }
        if state.strikes("clock jumped", |rates| rates.clock) {
            let jump = state.random.between(-60_000, 60_000);
            let skew = (state.nodes[node].skew + jump).clamp(-120_000, 120_000);
            state.nodes[node].skew = skew;
            state.note(|| format!("the clock of server {node} is off by {skew} ms"));
            return Ok(true);
        }
        Ok(false)
    }

    /// The machine, with all its servers, loses its power.
    fn lose_power(&mut self) -> Result<()> {
        let unsynced = self.kit.disk.unsynced();
        let left = {
            let mut state = self.simulation.shared.lock();
            let left = usize::try_from(state.random.below(unsynced as u64 + 1)).unwrap_or_default();
            state.nodes.iter_mut().for_each(|node| node.alive = false);
            state.note(|| {
                format!("power is lost, and {} of {unsynced} unsynced transactions", unsynced - left)
            });
            left
        };
        self.bury();
        let kept_promises = self.kit.disk.lose_power(left)?;
        let picture = self.kit.disk.picture()?;
        self.looked = self.kit.disk.changes();
        let mut state = self.simulation.shared.lock();
        self.simulation.oracle.borrow_mut().lost_power(&mut state, picture, kept_promises);
        Ok(())
    }

    /// Tasks of servers that were killed are gone, and they are started again after a while.
    fn bury(&mut self) {
        for node in 0..SERVERS {
            let mut state = self.simulation.shared.lock();
            if state.nodes[node].alive || self.restarts[node].is_some() {
                continue;
            }
            self.restarts[node] = Some(state.now + state.random.between(10, 4_000));
            drop(state);
            let server = self.simulation.servers.borrow_mut()[node].take();
            self.tasks.kill(node);
            drop(server);
        }
    }

    /// Starts servers whose time has come, and sees to those whose disk failed.
    fn restart(&mut self) {
        for node in 0..SERVERS {
            let mut state = self.simulation.shared.lock();
            let now = state.now;
            if state.nodes[node].disk_failed && (!state.chaos || state.random.below(100) == 0) {
                state.nodes[node].alive = false;
                state.note(|| format!("server {node} is stopped, because its disk failed"));
            }
            drop(state);
            self.bury();
            if self.restarts[node].is_some_and(|at| at <= now) {
                self.start(node);
            }
        }
    }

    fn start(&mut self, node: usize) {
        self.restarts[node] = None;
        {
            let mut state = self.simulation.shared.lock();
            let one = &mut state.nodes[node];
            (one.alive, one.disk_failed, one.stopped_until) = (true, false, 0);
            one.incarnation += 1;
            state.note(|| format!("server {node} is started"));
        }
        let Simulation { shared, spawner, .. } = &self.simulation;
        // Somebody may have changed its configuration meanwhile.
        let upstreams = shared.lock().random.pick(&[0, 0, 0, 1]).to_owned();
        let upstreams = &self.kit.upstreams[upstreams];
        let server = Server::start(node, shared, spawner, &self.kit.disk, upstreams, self.bounds);
        self.simulation.servers.borrow_mut()[node] = Some(server.clone());
        let party = shared.lock().number();
        spawner.spawn(Of::Upkeep(node), party, sweep(server, party));
    }

    /// From now on nothing goes wrong any more.
    fn calm_down(&mut self) {
        let mut state = self.simulation.shared.lock();
        if state.chaos {
            state.chaos = false;
            state.nodes.iter_mut().for_each(|node| node.stopped_until = 0);
            state.note(|| "nothing goes wrong any more".to_owned());
        }
    }

    /// Looks at the store, if anything has changed.
    fn look(&mut self) -> Result<()> {
        let changes = self.kit.disk.changes();
        if changes != self.looked {
            self.looked = changes;
            let picture = self.kit.disk.picture()?;
            let mut state = self.simulation.shared.lock();
            self.simulation.oracle.borrow_mut().look(&mut state, picture);
        }
        for (node, party) in self.tasks.take_calm_ends() {
            let mut state = self.simulation.shared.lock();
            // A disk that failed before cannot be told to give anything back.
            if !state.nodes[node].disk_failed {
                self.simulation.oracle.borrow().holds_nothing(&mut state, party);
            }
        }
        Ok(())
    }

    /// Servers without calls have all their permits.
    fn permits_are_back(&self) {
        for server in self.simulation.servers.borrow().iter().flatten() {
            let load = server.gate.load();
            if load != Load::default() {
                let node = server.node;
                let mut state = self.simulation.shared.lock();
                state.violated(|| format!("permits return: server {node} has no calls, and {load:?}"));
            }
        }
    }
}

/// What a server forgets from time to time.
async fn sweep(server: Rc<Server>, party: u64) {
    loop {
        let pause = server.shared.lock().random.between(2_000, 60_000);
        sleep(&server.shared, pause).await;
        let _ = server.ask(party, |server| server.journal.requests().sweep(LONG_MS)).await;
        let _ = server.ask(party, |server| server.journal.effects().sweep(LONG_MS, "plan:")).await;
        let _ = server.ask(party, |server| server.tickets.sweep()).await;
        let _ = server.ask(party, |server| server.sessions.sweep()).await;
    }
}
