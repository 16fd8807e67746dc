//! Permits to run programs, by owner. A program that waits for tools or people holds none. What does not get one at once
//! stands in the queue of its owner, which is bounded; only a call that finds that queue full is turned away. How owners
//! share the processors is the pool's matter, which gives them equal turns. What they share here is memory: a program that
//! runs counts with all that it may use, one that waits for upstreams with what it keeps, and goes on when there is room for
//! it again. Room that comes free goes to those that go on, then to the owner with the fewest programs. An owner without any
//! gets one in any case, and so does a program that goes on while none runs, so that nobody is kept out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptc_host::{Room, Waits};
use tokio::sync::oneshot::{Receiver, Sender, channel};

use super::api::QueueState;

/// How much there may be at a time.
#[derive(Clone, Copy, Debug)]
pub struct GateBounds {
    /// Programs of one owner that run.
    pub running: usize,
    /// Programs of one owner that wait for tools.
    pub waiting: usize,
    /// Calls of one owner that stand in the queue.
    pub queued: usize,
    /// Bytes that the programs of all owners have together.
    pub memory: usize,
    /// Bytes that a program may use.
    pub each: usize,
}

/// Bytes that a program takes at least while it waits, beside its values.
const LEAST: usize = 64 << 10;

/// Where programs of all owners get their permits.
#[derive(Clone, Debug)]
pub struct Gate {
    bounds: GateBounds,
    lanes: Arc<Mutex<Lanes>>,
}

/// What there is of all owners.
#[derive(Debug, Default)]
struct Lanes {
    of: BTreeMap<Arc<str>, Lane>,
    /// Bytes that count for programs that run or wait for tools.
    used: usize,
    /// Programs that count with all that they may use.
    whole: usize,
    /// Programs that have their answers and wait for room.
    returning: VecDeque<Returning>,
}

/// What there is of one owner.
#[derive(Debug, Default)]
struct Lane {
    running: usize,
    waiting: usize,
    queue: VecDeque<Sender<Permit>>,
}

/// A program that goes on when there is room.
#[derive(Debug)]
struct Returning {
    owner: Arc<str>,
    state: Arc<Mutex<PermitState>>,
    turn: Sender<()>,
}

/// The sums over all owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Programs that run or wait for tools.
    pub begun: usize,
    /// Calls in queues.
    pub queued: usize,
    /// Owners whose next call would be turned away.
    pub full: usize,
}

/// The right to run a program. Dropping it, in whichever way a call ends, gives it back.
#[derive(Debug)]
pub struct Permit {
    gate: Gate,
    owner: Arc<str>,
    state: Arc<Mutex<PermitState>>,
}

/// What a program with a permit does. It changes only while the lanes are locked, so that their counts are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PermitState {
    #[default]
    Runs,
    /// It waits for tools, and keeps so many bytes.
    Waits(usize),
    /// It has its answers, and room to go on.
    Returns,
    /// Its call is over. The program may hear of that later, and says nothing that counts until then.
    Over,
}

impl PermitState {
    /// What it counts for, where a program may use so much.
    fn bytes(self, each: usize) -> usize {
        match self {
            PermitState::Runs | PermitState::Returns => each,
            PermitState::Waits(bytes) => bytes.max(LEAST).min(each),
            PermitState::Over => 0,
        }
    }

    /// Whether it counts with all that it may use although it may wait.
    fn is_whole(self) -> bool {
        matches!(self, PermitState::Runs | PermitState::Returns)
    }
}

/// The queue of the owner is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueFull {
    /// Its own programs are as many as they may be.
    Own,
    /// The programs of all owners are.
    All,
}

impl Gate {
    /// A gate with these bounds for each owner.
    pub fn new(bounds: GateBounds) -> Self {
        let (running, waiting) = (bounds.running.max(1), bounds.waiting.max(1));
        Gate { bounds: GateBounds { running, waiting, ..bounds }, lanes: Arc::default() }
    }

    /// A permit, when it is the caller's turn. Whoever stops waiting leaves the queue.
    pub async fn enter(&self, owner: &Arc<str>, line: &QueueState) -> Result<Permit, QueueFull> {
        let turn = {
            let mut lanes = self.lanes();
            let used = lanes.used;
            let lane = lanes.of.entry(owner.clone()).or_default();
            lane.queue.retain(|waiter| !waiter.is_closed());
            let room = lane.room(&self.bounds, used);
            if lane.queue.is_empty() && room.is_ok() {
                lane.running += 1;
                lanes.begin(self.bounds.each);
                return Ok(self.permit(owner));
            }
            if lane.queue.len() >= self.bounds.queued {
                return Err(room.err().unwrap_or(QueueFull::Own));
            }
            let (sender, turn) = channel();
            lane.queue.push_back(sender);
            turn
        };
        let _stands = line.stand();
        // The gate outlives the queue, so that a turn always comes.
        turn.await.map_err(|_| QueueFull::Own)
    }

    fn permit(&self, owner: &Arc<str>) -> Permit {
        Permit { gate: self.clone(), owner: owner.clone(), state: Arc::default() }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program with a permit does something else from now on. Lets in whoever has room then.
    fn turn(&self, owner: &Arc<str>, state: &Mutex<PermitState>, next: PermitState) {
        let mut lanes = self.lanes();
        let before = *lock(state);
        match (before, next) {
            // One that has room keeps it until it goes on.
            (PermitState::Over, _) | (PermitState::Returns, PermitState::Waits(_)) => return,
            _ if before == next => return,
            _ => *lock(state) = next,
        }
        lanes.change(owner, before, next, self.bounds.each);
        let (returning, turns) = (lanes.let_back(&self.bounds), lanes.let_in(&self.bounds));
        drop(lanes);
        // One that nobody waits for any more has been dropped, and gives its room back as it goes.
        for turn in returning {
            let _ = turn.send(());
        }
        // A permit that nobody takes any more is dropped here, and lets in the next one.
        turns.into_iter().for_each(|(owner, waiter)| drop(waiter.send(self.permit(&owner))));
    }

    /// Makes room for a program that has its answers: at once, or when the turn comes that is given back.
    fn come_back(&self, owner: &Arc<str>, state: &Arc<Mutex<PermitState>>) -> Option<Receiver<()>> {
        let mut lanes = self.lanes();
        // One that has not begun to wait counts as before.
        let PermitState::Waits(_) = *lock(state) else { return None };
        let (turn, receiver) = channel();
        lanes.returning.push_back(Returning { owner: owner.clone(), state: state.clone(), turn });
        let turns = lanes.let_back(&self.bounds);
        drop(lanes);
        for turn in turns {
            let _ = turn.send(());
        }
        Some(receiver)
    }

    /// Programs of one owner that may run at a time.
    pub fn running(&self) -> usize {
        self.bounds.running
    }

    /// Calls of one owner that may stand in the queue.
    pub fn queued(&self) -> usize {
        self.bounds.queued
    }

    /// What there is at this moment.
    pub fn load(&self) -> Load {
        let lanes = self.lanes();
        lanes.of.values().fold(Load::default(), |load, lane| Load {
            begun: load.begun + lane.begun(),
            queued: load.queued + lane.queue.len(),
            full: load.full + usize::from(lane.is_full(&self.bounds, lanes.used)),
        })
    }
}

fn lock(state: &Mutex<PermitState>) -> MutexGuard<'_, PermitState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lanes {
    /// Counts a program that begins.
    fn begin(&mut self, each: usize) {
        self.used = self.used.saturating_add(each);
        self.whole += 1;
    }

    /// Counts what a program of an owner does from now on.
    fn change(&mut self, owner: &Arc<str>, before: PermitState, next: PermitState, each: usize) {
        self.used = self.used.saturating_sub(before.bytes(each)).saturating_add(next.bytes(each));
        self.whole = (self.whole + usize::from(next.is_whole())).saturating_sub(before.is_whole().into());
        let Some(lane) = self.of.get_mut(owner) else { return };
        *lane.count(before) -= 1;
        if next != PermitState::Over {
            *lane.count(next) += 1;
        }
        if lane.is_idle() {
            self.of.remove(owner);
        }
    }

    /// Gives room to programs that wait for it to go on, in the order in which they came. One may go on in any case while
    /// none runs: it has most of what it uses already, and would be waited for otherwise.
    fn let_back(&mut self, bounds: &GateBounds) -> Vec<Sender<()>> {
        let mut turns = Vec::new();
        while let Some(next) = self.returning.front() {
            let before = *lock(&next.state);
            let waits = matches!(before, PermitState::Waits(_)) && !next.turn.is_closed();
            let kept = self.used.saturating_sub(before.bytes(bounds.each));
            if waits && self.whole > 0 && kept.saturating_add(bounds.each) > bounds.memory {
                break;
            }
            let Some(Returning { owner, state, turn }) = self.returning.pop_front() else { break };
            if waits {
                *lock(&state) = PermitState::Returns;
                self.change(&owner, before, PermitState::Returns, bounds.each);
                turns.push(turn);
            }
        }
        turns
    }

    /// Lets in calls of owners that have room, those of the owner with the fewest programs first.
    fn let_in(&mut self, bounds: &GateBounds) -> Vec<(Arc<str>, Sender<Permit>)> {
        let mut turns = Vec::new();
        while let Some((owner, waiter)) = next(&mut self.of, bounds, self.used) {
            self.begin(bounds.each);
            turns.push((owner, waiter));
        }
        turns
    }
}

/// The call that is let in next, if there is room for one: of the owner with the fewest programs among those with calls in
/// their queues.
fn next(
    lanes: &mut BTreeMap<Arc<str>, Lane>,
    bounds: &GateBounds,
    used: usize,
) -> Option<(Arc<str>, Sender<Permit>)> {
    let waiting =
        lanes.iter_mut().filter(|(_, lane)| !lane.queue.is_empty() && lane.room(bounds, used).is_ok());
    let (owner, lane) = waiting.min_by_key(|(_, lane)| lane.begun())?;
    let waiter = lane.queue.pop_front()?;
    lane.running += 1;
    Some((owner.clone(), waiter))
}

impl Lane {
    fn count(&mut self, state: PermitState) -> &mut usize {
        match state {
            PermitState::Waits(_) | PermitState::Returns => &mut self.waiting,
            PermitState::Runs | PermitState::Over => &mut self.running,
        }
    }

    /// Programs that run or wait for tools.
    fn begun(&self) -> usize {
        self.running + self.waiting
    }

    /// Whether there is nothing of the owner any more.
    fn is_idle(&self) -> bool {
        self.begun() == 0 && self.queue.is_empty()
    }

    /// Whether a program may begin where those of all owners have so many bytes, or what keeps it from that.
    fn room(&self, bounds: &GateBounds, used: usize) -> Result<(), QueueFull> {
        if self.running >= bounds.running || self.waiting >= bounds.waiting {
            return Err(QueueFull::Own);
        }
        match used.saturating_add(bounds.each) <= bounds.memory || self.begun() == 0 {
            true => Ok(()),
            false => Err(QueueFull::All),
        }
    }

    /// Whether the next call is turned away.
    fn is_full(&self, bounds: &GateBounds, used: usize) -> bool {
        self.room(bounds, used).is_err() && self.queue.len() >= bounds.queued
    }
}

impl Permit {
    /// Gives the permit back while the program waits for tools. A program that goes on does so at once, also if others have
    /// taken its place meanwhile: the sooner it ends, the better.
    pub fn pace(&self) -> impl Fn(Waits) + Send + Sync + 'static {
        let (gate, owner, state) = (self.gate.clone(), self.owner.clone(), self.state.clone());
        move |waits| {
            let next = match waits {
                Waits::Begins { bytes } => PermitState::Waits(bytes),
                Waits::Ends => PermitState::Runs,
            };
            gate.turn(&owner, &state, next);
        }
    }

    /// Waits until there is room for the program to go on; it counts less while it waits for upstreams.
    pub fn room(&self) -> Room {
        let (gate, owner, state) = (self.gate.clone(), self.owner.clone(), self.state.clone());
        Arc::new(move || {
            let turn = gate.come_back(&owner, &state);
            Box::pin(async move {
                if let Some(turn) = turn {
                    // Where nobody gives a turn any more, nobody counts either.
                    let _ = turn.await;
                }
            })
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.turn(&self.owner, &self.state, PermitState::Over);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    fn gate(running: usize, waiting: usize, queued: usize) -> Gate {
        Gate::new(GateBounds { running, waiting, queued, memory: usize::MAX, each: 1 })
    }

    /// What a future has right now.
    async fn now<T>(future: &mut std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    #[tokio::test]
    async fn calls_stand_in_the_queue_of_their_owner_and_only_a_full_queue_turns_away() {
        let (gate, line) = (gate(1, 8, 2), QueueState::default());
        let (anna, ben): (Arc<str>, Arc<str>) = ("anna".into(), "ben".into());
        let first = gate.enter(&anna, &line).await.expect("room");
        let mut second = pin!(gate.enter(&anna, &line));
        let mut third = pin!(gate.enter(&anna, &line));
        assert!(now(&mut second).await.is_none() && now(&mut third).await.is_none());
        assert!(gate.enter(&anna, &line).await.is_err(), "her queue is full");
        assert_eq!(gate.load(), Load { begun: 1, queued: 2, full: 1 });
        drop(gate.enter(&ben, &line).await.expect("nobody else's business"));
        drop(first);
        let second = now(&mut second).await.expect("its turn").expect("a permit");
        assert!(now(&mut third).await.is_none());
        drop(second);
        assert!(now(&mut third).await.is_some_and(|third| third.is_ok()));
        assert_eq!(gate.load(), Load::default());
        assert!(gate.lanes().of.is_empty(), "owners without programs are forgotten");
    }

    #[tokio::test]
    async fn programs_of_all_owners_are_so_many_and_room_goes_to_who_has_the_fewest() {
        let gate = Gate::new(GateBounds { running: 8, waiting: 8, queued: 2, memory: 4, each: 1 });
        let (line, anna, ben): (_, Arc<str>, Arc<str>) = (QueueState::default(), "anna".into(), "ben".into());
        let mut annas = Vec::new();
        for _ in 0..4 {
            annas.push(gate.enter(&anna, &line).await.expect("room"));
        }
        // A program that waits for tools and keeps all that it may use counts with that.
        annas[0].pace()(Waits::Begins { bytes: 1 });
        let mut fifth = pin!(gate.enter(&anna, &line));
        let mut sixth = pin!(gate.enter(&anna, &line));
        assert!(now(&mut fifth).await.is_none() && now(&mut sixth).await.is_none());
        assert_eq!(gate.enter(&anna, &line).await.expect_err("a full queue"), QueueFull::All);
        let bens = gate.enter(&ben, &line).await.expect("who has none gets one");
        let mut second = pin!(gate.enter(&ben, &line));
        assert!(now(&mut second).await.is_none());
        assert_eq!(gate.load(), Load { begun: 5, queued: 3, full: 1 });
        // Five have begun where four may: the first place that comes free is nobody's, the second is Ben's.
        annas.pop();
        assert!(now(&mut second).await.is_none() && now(&mut fifth).await.is_none());
        annas.pop();
        let second = now(&mut second).await.expect("his turn").expect("a permit");
        assert!(now(&mut fifth).await.is_none());
        drop((bens, second));
        let fifth = now(&mut fifth).await.expect("her turn").expect("a permit");
        let sixth = now(&mut sixth).await.expect("her turn").expect("a permit");
        drop((annas, fifth, sixth));
        assert!(gate.lanes().of.is_empty() && gate.lanes().used == 0);
    }

    #[tokio::test]
    async fn a_program_that_waits_for_tools_holds_no_permit() {
        let (gate, line, anna): (_, _, Arc<str>) = (gate(1, 1, 4), QueueState::default(), "anna".into());
        let first = gate.enter(&anna, &line).await.expect("room");
        let pace = first.pace();
        let mut second = pin!(gate.enter(&anna, &line));
        assert!(now(&mut second).await.is_none());
        pace(Waits::Begins { bytes: 1 });
        // One program waits, which is as many as may; so nobody begins.
        assert!(now(&mut second).await.is_none());
        pace(Waits::Ends);
        drop(first);
        let second = now(&mut second).await.expect("its turn").expect("a permit");
        let wide = self::gate(1, 2, 4);
        let first = wide.enter(&anna, &line).await.expect("room");
        let mut next = pin!(wide.enter(&anna, &line));
        assert!(now(&mut next).await.is_none());
        first.pace()(Waits::Begins { bytes: 1 });
        assert!(now(&mut next).await.is_some(), "the first one's permit");
        drop((first, second));
        assert_eq!(wide.load().begun, 0);
    }

    #[tokio::test]
    async fn programs_that_wait_count_with_what_they_keep_and_go_on_when_there_is_room() {
        let (each, small) = (64 << 20, Waits::Begins { bytes: 1 << 20 });
        let gate = Gate::new(GateBounds { running: 8, waiting: 8, queued: 8, memory: 2 * each, each });
        let (line, anna): (_, Arc<str>) = (QueueState::default(), "anna".into());
        let mut waiting = Vec::new();
        for _ in 0..4 {
            let permit = gate.enter(&anna, &line).await.expect("room");
            permit.pace()(small);
            waiting.push(permit);
        }
        assert_eq!(gate.lanes().used, 4 << 20);
        // The first of them goes on at once; beside it there is no room for another one.
        waiting[0].room()().await;
        waiting[0].pace()(Waits::Ends);
        let (mut second, mut third) = (waiting[1].room()(), waiting[2].room()());
        assert!(now(&mut pin!(&mut second)).await.is_none());
        assert!(now(&mut pin!(&mut third)).await.is_none());
        assert_eq!(gate.lanes().used, each + (3 << 20));
        // Who does not want to go on any more leaves.
        drop(second);
        drop(waiting.remove(0));
        assert!(now(&mut pin!(&mut third)).await.is_some(), "its turn");
        assert!(now(&mut pin!(gate.enter(&anna, &line))).await.is_none(), "there is no room to begin");
        waiting[1].pace()(Waits::Ends);
        // A call that ends while its program runs needs no room.
        waiting[1].room()().await;
        drop(waiting);
        assert!(gate.lanes().of.is_empty() && gate.lanes().used == 0 && gate.lanes().whole == 0);
    }

    #[tokio::test]
    async fn a_program_goes_on_in_any_case_while_none_runs() {
        let gate =
            Gate::new(GateBounds { running: 8, waiting: 8, queued: 8, memory: 3 << 20, each: 1 << 20 });
        let (line, anna): (_, Arc<str>) = (QueueState::default(), "anna".into());
        let mut waiting = Vec::new();
        for _ in 0..3 {
            waiting.push(gate.enter(&anna, &line).await.expect("room"));
        }
        waiting.iter().for_each(|permit| permit.pace()(Waits::Begins { bytes: (1 << 20) - 1 }));
        for permit in waiting {
            permit.room()().await;
            permit.pace()(Waits::Ends);
        }
        assert_eq!(gate.lanes().used, 0);
    }

    #[tokio::test]
    async fn r1_4_permits_come_back_however_a_call_ends() {
        let (gate, line, anna): (_, _, Arc<str>) = (gate(1, 1, 4), QueueState::default(), "anna".into());
        let first = gate.enter(&anna, &line).await.expect("room");
        {
            let mut gone = pin!(gate.enter(&anna, &line));
            assert!(now(&mut gone).await.is_none());
        }
        let mut next = pin!(gate.enter(&anna, &line));
        assert!(now(&mut next).await.is_none());
        let crashed = std::thread::spawn(move || {
            let _permit = first;
            panic!("a call crashed");
        });
        assert!(crashed.join().is_err());
        let next = now(&mut next).await.expect("who left the queue takes no permit").expect("a permit");
        let pace = next.pace();
        pace(Waits::Begins { bytes: 1 });
        drop(next);
        pace(Waits::Ends);
        assert_eq!(gate.load(), Load::default());
    }
}
