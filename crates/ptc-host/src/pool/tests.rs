//! Panics of the machine itself, which no program causes, so they are made here; and who is woken when there is room.

use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use ptc_lisp::ErrorKind;

use super::{Pool, PoolConfig, task};
use crate::program::Program;

#[test]
fn a_panic_ends_one_program_and_nothing_else() {
    let pool = Pool::new(PoolConfig { workers: 1, programs: 10, ..PoolConfig::default() });
    let endless = pool.run(
        Program::new("(loop [] (recur))")
            .limits(ptc_lisp::Limits { fuel: u64::MAX, ..ptc_lisp::Limits::default() }),
    );
    for _ in 0..3 {
        let error = pool.run(Program::new(task::PANICS)).wait().result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert_eq!(error.message, "the machine stopped by a bug of its own: on purpose");
        assert_eq!(pool.run(Program::new("(+ 1 2)")).wait().value, "3", "the worker lives on");
    }
    endless.cancel();
    assert_eq!(endless.wait().result.unwrap_err().kind, ErrorKind::Cancelled);
}

#[test]
fn a_session_lost_to_a_panic_says_so() {
    let pool = Pool::new(PoolConfig { workers: 1, programs: 10, ..PoolConfig::default() });
    let session = pool.session();
    assert!(session.run(Program::new("(def x 1)")).wait().result.is_ok());
    assert!(session.run(Program::new(task::PANICS)).wait().result.is_err());
    let error = session.run(Program::new("x")).wait().result.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Internal, "the session was lost with an earlier program")
    );
    assert!(pool.session().run(Program::new("(def x 1)")).wait().result.is_ok());
}

/// Tells when it is woken.
struct Bell(Mutex<Sender<()>>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Nobody listens any more.
        let _ = self.0.lock().expect("nobody panics").send(());
    }
}

/// Polls a program that has to wait for room; what tells when it is woken.
fn in_line(running: &mut super::Running) -> Receiver<()> {
    let (sender, rung) = channel();
    let waker = Waker::from(Arc::new(Bell(Mutex::new(sender))));
    assert!(matches!(Pin::new(running).poll(&mut Context::from_waker(&waker)), Poll::Pending));
    rung
}

/// Otherwise all who stand in line would wait for somebody who has left.
#[test]
fn whoever_leaves_the_line_when_its_turn_has_come_wakes_the_next() {
    let pool = Pool::new(PoolConfig { workers: 1, programs: 1, ..PoolConfig::default() });
    let limits = ptc_lisp::Limits { fuel: u64::MAX, ..ptc_lisp::Limits::default() };
    let endless = pool.run(Program::new("(loop [] (recur))").limits(limits));
    let (mut first, mut second, mut third) =
        (pool.run(Program::new("1")), pool.run(Program::new("2")), pool.run(Program::new("3")));
    let (one, _, three) = (in_line(&mut first), in_line(&mut second), in_line(&mut third));
    drop(second);
    assert!(one.try_recv().is_err() && three.try_recv().is_err(), "there is no room yet");
    endless.cancel();
    one.recv().expect("it is the turn of the first");
    assert!(three.try_recv().is_err(), "there is room for one");
    drop(first);
    three.try_recv().expect("the first has left, so it is the turn of the third");
    assert_eq!(third.wait().value, "3");
    drop(endless);
}
