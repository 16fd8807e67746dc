//! Turns on the threads that runs share. Whoever has many runs waits behind their own, not before those of others: a
//! run takes a turn for each slice of its program, and lanes have turns alike.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ptc_host::{Fair, Lane, Waits};
use tokio::sync::oneshot::{Sender, channel};

/// Whose share of the threads a run uses, and who hears when it begins and ends to wait for models and tools.
#[derive(Clone)]
pub struct Share {
    /// Runs with the same lane have one share together.
    pub lane: Arc<str>,
    /// Hears of waiting.
    pub pace: Arc<dyn Fn(Waits) + Send + Sync>,
}

/// Turns that are free, and who waits for one.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    queue: Fair<Sender<Turn>>,
}

/// The right to run one slice. Dropping it gives it to the next.
#[derive(Debug)]
pub(crate) struct Turn(Turns);

impl Turns {
    pub fn new(free: usize) -> Turns {
        Turns(Arc::new(Mutex::new(State { free, queue: Fair::default() })))
    }

    /// Those of all runs of the process: one for each thread.
    pub fn shared() -> &'static Turns {
        static SHARED: LazyLock<Turns> = LazyLock::new(|| Turns::new(super::drive::threads()));
        &SHARED
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn of a lane.
    pub async fn take(&self, lane: &Lane) -> Turn {
        let turn = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Turn(self.clone());
            }
            let (sender, turn) = channel();
            state.queue.push(lane, sender);
            turn
        };
        // Turns are dropped only with the queue, which this keeps.
        turn.await.unwrap_or_else(|_| Turn(Turns::new(0)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.state();
            let queue = &mut state.queue;
            let next = std::iter::from_fn(|| queue.pop()).find(|waiter| !waiter.is_closed());
            state.free += usize::from(next.is_none());
            next
        };
        // If it left right now, the turn comes back here and goes to the one after it.
        if let Some(next) = next {
            drop(next.send(Turn(self.0.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    use std::task::Poll;

    use super::*;

    async fn now<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> Option<T> {
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    #[tokio::test]
    async fn lanes_take_turns_and_who_leaves_takes_none() {
        let turns = Turns::new(1);
        let lane = |name: &str| Some(Arc::<str>::from(name));
        let (greedy, other) = (lane("greedy"), lane("other"));
        let mut held = Some(turns.take(&greedy).await);
        let mut waiting = vec![
            ("greedy 1", Box::pin(turns.take(&greedy))),
            ("greedy 2", Box::pin(turns.take(&greedy))),
            ("greedy 3", Box::pin(turns.take(&greedy))),
            ("other", Box::pin(turns.take(&other))),
        ];
        for (name, turn) in &mut waiting {
            assert!(now(turn).await.is_none(), "{name}");
        }
        drop(waiting.remove(1));
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(held.take());
            for index in 0..waiting.len() {
                if let Some(turn) = now(&mut waiting[index].1).await {
                    order.push(waiting.remove(index).0);
                    held = Some(turn);
                    break;
                }
            }
        }
        assert_eq!(order, ["greedy 1", "other", "greedy 3"]);
        drop(held);
        assert_eq!(turns.state().free, 1);
    }
}
