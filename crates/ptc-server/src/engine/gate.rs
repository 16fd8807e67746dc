//! Permits to run programs, by owner. A program that waits for tools or people holds none. What does not get one at once
//! stands in the queue of its owner, which is bounded; only a call that finds that queue full is turned away. How owners
//! share the processors is the pool's matter, which gives them equal turns. What they share here is memory: programs that
//! have begun, whether they run or wait, are so many that all of them may use what each may use. Room that comes free
//! goes to the owner with the fewest, and an owner without any gets one in any case, so that nobody is kept out.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptc_host::Waits;
use tokio::sync::oneshot::{Sender, channel};

use super::api::Line;

/// How much there may be at a time.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Programs of one owner that run.
    pub running: usize,
    /// Programs of one owner that wait for tools.
    pub waiting: usize,
    /// Calls of one owner that stand in the queue.
    pub queued: usize,
    /// Programs of all owners that run or wait for tools.
    pub begun: usize,
}

/// Where programs of all owners get their permits.
#[derive(Clone, Debug)]
pub struct Gate {
    bounds: Bounds,
    lanes: Arc<Mutex<Lanes>>,
}

/// What there is of all owners.
#[derive(Debug, Default)]
struct Lanes {
    of: HashMap<Arc<str>, Lane>,
    /// Programs that run or wait for tools.
    begun: usize,
}

/// What there is of one owner.
#[derive(Debug, Default)]
struct Lane {
    running: usize,
    waiting: usize,
    queue: VecDeque<Sender<Permit>>,
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
    state: Arc<Mutex<State>>,
}

/// What a program with a permit does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Runs,
    Waits,
    /// Its call is over. The program may hear of that later, and says nothing that counts until then.
    Over,
}

/// The queue of the owner is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Its own programs are as many as they may be.
    Own,
    /// The programs of all owners are.
    All,
}

impl Gate {
    /// A gate with these bounds for each owner.
    pub fn new(bounds: Bounds) -> Self {
        let Bounds { running, waiting, begun, queued } = bounds;
        let bounds = Bounds { running: running.max(1), waiting: waiting.max(1), begun: begun.max(1), queued };
        Gate { bounds, lanes: Arc::default() }
    }

    /// A permit, when it is the caller's turn. Whoever stops waiting leaves the queue.
    pub async fn enter(&self, owner: &Arc<str>, line: &Line) -> Result<Permit, Full> {
        let turn = {
            let mut lanes = self.lanes();
            let Lanes { of, begun } = &mut *lanes;
            let lane = of.entry(owner.clone()).or_default();
            lane.queue.retain(|waiter| !waiter.is_closed());
            let room = lane.room(&self.bounds, *begun);
            if lane.queue.is_empty() && room.is_ok() {
                lane.running += 1;
                *begun += 1;
                return Ok(self.permit(owner));
            }
            if lane.queue.len() >= self.bounds.queued {
                return Err(room.err().unwrap_or(Full::Own));
            }
            let (sender, turn) = channel();
            lane.queue.push_back(sender);
            turn
        };
        let _stands = line.stand();
        // The gate outlives the queue, so that a turn always comes.
        turn.await.map_err(|_| Full::Own)
    }

    fn permit(&self, owner: &Arc<str>) -> Permit {
        Permit { gate: self.clone(), owner: owner.clone(), state: Arc::default() }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts of an owner, and lets in whoever has room now.
    fn change(&self, owner: &Arc<str>, change: impl FnOnce(&mut Lane)) {
        let mut turns = Vec::new();
        {
            let mut lanes = self.lanes();
            let Lanes { of, begun } = &mut *lanes;
            let Some(lane) = of.get_mut(owner) else { return };
            let before = lane.begun();
            change(lane);
            *begun = (*begun + lane.begun()).saturating_sub(before);
            if lane.is_idle() {
                of.remove(owner);
            }
            while let Some((owner, lane)) = next(of, &self.bounds, *begun)
                && let Some(waiter) = lane.queue.pop_front()
            {
                lane.running += 1;
                *begun += 1;
                turns.push((owner, waiter));
            }
        }
        // A permit that nobody takes any more is dropped here, and lets in the next one.
        turns.into_iter().for_each(|(owner, waiter)| drop(waiter.send(self.permit(&owner))));
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
            full: load.full + usize::from(lane.is_full(&self.bounds, lanes.begun)),
        })
    }
}

/// The owner whose call is let in next, if there is room for one: among those with calls in their queues, the one with
/// the fewest programs.
fn next<'l>(
    lanes: &'l mut HashMap<Arc<str>, Lane>,
    bounds: &Bounds,
    begun: usize,
) -> Option<(Arc<str>, &'l mut Lane)> {
    let waiting =
        lanes.iter_mut().filter(|(_, lane)| !lane.queue.is_empty() && lane.room(bounds, begun).is_ok());
    let (owner, lane) = waiting.min_by_key(|(_, lane)| lane.begun())?;
    Some((owner.clone(), lane))
}

impl Lane {
    fn count(&mut self, state: State) -> &mut usize {
        match state {
            State::Waits => &mut self.waiting,
            State::Runs | State::Over => &mut self.running,
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

    /// Whether a program may begin where so many of all owners have, or what keeps it from that.
    fn room(&self, bounds: &Bounds, begun: usize) -> Result<(), Full> {
        if self.running >= bounds.running || self.waiting >= bounds.waiting {
            return Err(Full::Own);
        }
        match begun < bounds.begun || self.begun() == 0 {
            true => Ok(()),
            false => Err(Full::All),
        }
    }

    /// Whether the next call is turned away.
    fn is_full(&self, bounds: &Bounds, begun: usize) -> bool {
        self.room(bounds, begun).is_err() && self.queue.len() >= bounds.queued
    }
}

impl Permit {
    /// Gives the permit back while the program waits for tools. A program that goes on does so at once, also if others
    /// have taken its place meanwhile: it has its memory already, and the sooner it ends, the better.
    pub fn pace(&self) -> impl Fn(Waits) + Send + Sync + 'static {
        let (gate, owner, state) = (self.gate.clone(), self.owner.clone(), self.state.clone());
        move |waits| {
            let next = match waits {
                Waits::Begins => State::Waits,
                Waits::Ends => State::Runs,
            };
            gate.turn(&owner, &state, next);
        }
    }
}

impl Gate {
    /// A program with a permit does something else from now on.
    fn turn(&self, owner: &Arc<str>, state: &Mutex<State>, next: State) {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state == State::Over || *state == next {
            return;
        }
        let before = std::mem::replace(&mut *state, next);
        self.change(owner, |lane| {
            *lane.count(before) -= 1;
            if next != State::Over {
                *lane.count(next) += 1;
            }
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.turn(&self.owner, &self.state, State::Over);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    fn gate(running: usize, waiting: usize, queued: usize) -> Gate {
        Gate::new(Bounds { running, waiting, queued, begun: usize::MAX })
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
        let (gate, line) = (gate(1, 8, 2), Line::default());
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
        let gate = Gate::new(Bounds { running: 8, waiting: 8, queued: 2, begun: 4 });
        let (line, anna, ben): (_, Arc<str>, Arc<str>) = (Line::default(), "anna".into(), "ben".into());
        let mut annas = Vec::new();
        for _ in 0..4 {
            annas.push(gate.enter(&anna, &line).await.expect("room"));
        }
        // A program that waits for tools has its memory all the same.
        annas[0].pace()(Waits::Begins);
        let mut fifth = pin!(gate.enter(&anna, &line));
        let mut sixth = pin!(gate.enter(&anna, &line));
        assert!(now(&mut fifth).await.is_none() && now(&mut sixth).await.is_none());
        assert_eq!(gate.enter(&anna, &line).await.expect_err("a full queue"), Full::All);
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
        assert!(gate.lanes().of.is_empty() && gate.lanes().begun == 0);
    }

    #[tokio::test]
    async fn a_program_that_waits_for_tools_holds_no_permit() {
        let (gate, line, anna): (_, _, Arc<str>) = (gate(1, 1, 4), Line::default(), "anna".into());
        let first = gate.enter(&anna, &line).await.expect("room");
        let pace = first.pace();
        let mut second = pin!(gate.enter(&anna, &line));
        assert!(now(&mut second).await.is_none());
        pace(Waits::Begins);
        // One program waits, which is as many as may; so nobody begins.
        assert!(now(&mut second).await.is_none());
        pace(Waits::Ends);
        drop(first);
        let second = now(&mut second).await.expect("its turn").expect("a permit");
        let wide = self::gate(1, 2, 4);
        let first = wide.enter(&anna, &line).await.expect("room");
        let mut next = pin!(wide.enter(&anna, &line));
        assert!(now(&mut next).await.is_none());
        first.pace()(Waits::Begins);
        assert!(now(&mut next).await.is_some(), "the first one's permit");
        drop((first, second));
        assert_eq!(wide.load().begun, 0);
    }

    #[tokio::test]
    async fn r1_4_permits_come_back_however_a_call_ends() {
        let (gate, line, anna): (_, _, Arc<str>) = (gate(1, 1, 4), Line::default(), "anna".into());
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
        pace(Waits::Begins);
        drop(next);
        pace(Waits::Ends);
        assert_eq!(gate.load(), Load::default());
    }
}
