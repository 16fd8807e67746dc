//! How programs of callers stand in a pool.

use std::sync::{Mutex, mpsc};

use super::*;

/// Takes several turns of a pool.
const LONG: &str = "(loop [i 0] (if (< i 50000) (recur (inc i)) i))";
const MANY: usize = 8;

/// All programs are as long and wait for the same worker, so only whose turn it is decides who ends first.
#[tokio::test]
async fn a_program_of_one_account_ends_before_all_that_another_has_begun_over_several_connections() {
    let settings = Settings { max_concurrent_calls: MANY, ..Settings::default() };
    let engine = Engine::with(settings, Parts::default()).await.expect("it starts");
    let pool = Pool::new(PoolConfig { workers: 1, ..PoolConfig::default() });
    let (open, opened) = mpsc::channel::<()>();
    let opened = Mutex::new(opened);
    let door = pool.run(Program::new("nil").prepare(move |_| {
        // The other end is dropped when all programs are there.
        let _ = opened.lock().expect("nobody panics").recv();
        Ok(())
    }));

    let connection = |number| Caller {
        owner: format!("greedy over {number}").into(),
        ..Caller::new("greedy", Transport::Http)
    };
    let callers = (0..MANY).map(connection).chain([Caller::new("other", Transport::Http)]);
    let ended = Arc::new(Mutex::new(Vec::new()));
    let mut running = Vec::new();
    for caller in callers {
        let permit =
            engine.permit(&caller, &Signals::default()).await.expect("it is wanted").expect("it has room");
        let (account, list) = (caller.principal.clone(), ended.clone());
        let program =
            Program::new(LONG).look(move |_, _| list.lock().expect("nobody panics").push(account.clone()));
        running.push((pool.run(engine.owned(program, &caller, &permit)), permit));
    }
    drop(open);
    for (program, _permit) in running {
        assert_eq!(program.await.value, "50000");
    }
    assert_eq!(door.await.value, "nil");
    let ended: Vec<String> =
        ended.lock().expect("nobody panics").iter().map(|name| name.to_string()).collect();
    let mut expected = vec!["other"];
    expected.extend(["greedy"; MANY]);
    assert_eq!(ended, expected);
}
