//! Permits to run programs, by owner. A program that waits for tools or people holds none. What does not get one at once
//! stands in the queue of its owner, which is bounded; only a call that finds that queue full is turned away. Owners do
//! not see each other here: how they share the processors is the pool's matter, which gives them equal turns.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptc_host::Waits;
use tokio::sync::oneshot::{Sender, channel};

use super::api::Line;

/// How much of one owner there may be at a time.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Programs that run.
    pub running: usize,
    /// Programs that wait for tools.
    pub waiting: usize,
    /// Calls that stand in the queue.
    pub queued: usize,
}

/// Where programs of all owners get their permits.
#[derive(Clone, Debug)]
pub struct Gate {
    bounds: Bounds,
    lanes: Arc<Mutex<HashMap<Arc<str>, Lane>>>,
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
#[derive(Debug)]
pub struct Full;

impl Gate {
    /// A gate with these bounds for each owner.
    pub fn new(bounds: Bounds) -> Self {
        let bounds = Bounds { running: bounds.running.max(1), waiting: bounds.waiting.max(1), ..bounds };
        Gate { bounds, lanes: Arc::default() }
    }

    /// A permit, when it is the caller's turn. Whoever stops waiting leaves the queue.
    pub async fn enter(&self, owner: &Arc<str>, line: &Line) -> Result<Permit, Full> {
        let turn = {
            let mut lanes = self.lanes();
            let lane = lanes.entry(owner.clone()).or_default();
            lane.queue.retain(|waiter| !waiter.is_closed());
            if lane.queue.is_empty() && lane.has_room(&self.bounds) {
                lane.running += 1;
                return Ok(self.permit(owner));
            }
            if lane.queue.len() >= self.bounds.queued {
                return Err(Full);
            }
            let (sender, turn) = channel();
            lane.queue.push_back(sender);
            turn
        };
        let _stands = line.stand();
        // The gate outlives the queue, so that a turn always comes.
        turn.await.map_err(|_| Full)
    }

    fn permit(&self, owner: &Arc<str>) -> Permit {
        Permit { gate: self.clone(), owner: owner.clone(), state: Arc::default() }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<Arc<str>, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts of an owner, and lets in whoever has room now.
    fn change(&self, owner: &Arc<str>, change: impl FnOnce(&mut Lane)) {
        let mut turns = Vec::new();
        {
            let mut lanes = self.lanes();
            let Some(lane) = lanes.get_mut(owner) else { return };
            change(lane);
            while lane.has_room(&self.bounds)
                && let Some(waiter) = lane.queue.pop_front()
            {
                lane.running += 1;
                turns.push(waiter);
            }
            if lane.running == 0 && lane.waiting == 0 && lane.queue.is_empty() {
                lanes.remove(owner);
            }
        }
        // A permit that nobody takes any more is dropped here, and lets in the next one.
        turns.into_iter().for_each(|waiter| drop(waiter.send(self.permit(owner))));
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
        lanes.values().fold(Load::default(), |load, lane| Load {
            begun: load.begun + lane.running + lane.waiting,
            queued: load.queued + lane.queue.len(),
            full: load.full + usize::from(lane.is_full(&self.bounds)),
        })
    }
}

impl Lane {
    fn count(&mut self, state: State) -> &mut usize {
        match state {
            State::Waits => &mut self.waiting,
            State::Runs | State::Over => &mut self.running,
        }
    }

    fn has_room(&self, bounds: &Bounds) -> bool {
        self.running < bounds.running && self.waiting < bounds.waiting
    }

    /// Whether the next call is turned away.
    fn is_full(&self, bounds: &Bounds) -> bool {
        !self.has_room(bounds) && self.queue.len() >= bounds.queued
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
        Gate::new(Bounds { running, waiting, queued })
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
        assert!(gate.lanes().is_empty(), "owners without programs are forgotten");
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
