//! Panics of the machine itself. There is no program that causes one, so they are made here.

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
