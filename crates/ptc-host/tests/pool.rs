//! The pool, driven from plain threads and from a real tokio runtime.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use ptc_host::{
    Cancel, ErrorKind, Limits, Outcome, Pool, PoolConfig, Program, Room, Running, Tool, Tools, Waits,
    run_blocking,
};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

fn pool(workers: usize) -> Pool {
    Pool::new(PoolConfig { workers, ..PoolConfig::default() })
}

/// A pool that parks whatever waits.
fn parking_pool(workers: usize) -> Pool {
    Pool::new(PoolConfig { workers, park_after: Some(Duration::ZERO), ..PoolConfig::default() })
}

fn endless() -> Program {
    Program::new("(loop [] (recur))").limits(Limits { fuel: u64::MAX, ..Limits::default() })
}

fn kind(outcome: Outcome) -> ErrorKind {
    outcome.result.expect_err("the program fails").kind
}

/// A program that waits until the sender is gone, and a way to know that it waits.
fn stuck() -> (Program, mpsc::Sender<()>, Arc<Notify>) {
    let (gate, closed) = mpsc::channel::<()>();
    let (closed, begun) = (std::sync::Mutex::new(closed), Arc::new(Notify::new()));
    let tell = begun.clone();
    let tool = Tool::blocking(move |_| {
        tell.notify_one();
        closed.lock().expect("nobody panics").recv().map(|()| json!(1))
    });
    (Program::new("(tool/stuck {})").tools(Tools::new().with("stuck", tool)), gate, begun)
}

/// What must not depend on the driver.
fn essence(outcome: Outcome) -> Value {
    let calls: Vec<Value> = outcome
        .calls
        .iter()
        .map(|call| json!([call.id, call.tool, call.args, format!("{:?}", call.end)]))
        .collect();
    json!({
        "result": format!("{:?}", outcome.result),
        "value": outcome.value,
        "json": outcome.json,
        "prints": outcome.prints,
        "fuel": outcome.fuel,
        "calls": calls,
        "tools": outcome.manifest.tools(),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_driver_gives_the_same_outcome() {
    let programs = [
        "(reduce + (range 1000))",
        "(println 1) (def x 5) (print 2) (* x x)",
        "(pmap #(do (println %) (tool/later {:x (tool/now {:x %})})) (range 30))",
        "(loop [i 0 acc []] (if (< i 20) (recur (inc i) (conj acc (tool/later {:x i}))) acc))",
        "(map #(tool/later {:x %}) (filter odd? (iterate inc 0)))",
        "(take 5 (map #(tool/later {:x %}) (filter odd? (iterate inc 0))))",
        "(sort-by #(tool/now {:x (- %)}) > (range 50))",
        "(try (tool/fails {}) (catch Exception e (str \"caught \" (ex-message e))))",
        "(pcalls #(tool/later {:x 1}) #(tool/fails {}))",
        "(fail {:reason (tool/blocks {:x 3})})",
        "(reduce (fn [m i] (assoc m (str i) (vec (range i)))) {} (range 300))",
        "(frequencies (repeatedly 500 #(rand-int 10)))",
        "(/ 1 0)",
        "(undefined 1)",
        "(loop [] (recur))",
    ];
    let tools = Tools::new()
        .with("now", Tool::quick(|args| args["x"].clone()))
        .with("blocks", Tool::blocking(|args| args["x"].clone()))
        .with("fails", Tool::future(|_| async { Err::<Value, _>("no paper") }))
        .with(
            "later",
            Tool::future(|args| async move {
                // The later a call starts, the fewer turns it lets others have, and the sooner it ends: mostly, which is
                // enough, since the order is to make no difference.
                let x = args["x"].as_u64().unwrap_or(0);
                for _ in x..30 {
                    tokio::task::yield_now().await;
                }
                json!(x * 2)
            }),
        )
        .concurrency(8);
    let limits = Limits { fuel: 300_000, tool_calls: 100, ..Limits::default() };
    let (pool, parking) = (pool(2), parking_pool(2));
    for source in programs {
        let program = Program::new(source).tools(tools.clone()).limits(limits.clone()).seed(7).clock_ms(1);
        let alone = program.clone();
        let blocking = tokio::task::spawn_blocking(move || run_blocking(&alone)).await.unwrap();
        let pooled = pool.run(program.clone()).await;
        let session = pool.session().run(program.clone()).await;
        let parked = parking.run(program).await;
        let expected = essence(blocking);
        assert_eq!(essence(pooled), expected, "{source}");
        assert_eq!(essence(session), expected, "{source}");
        assert_eq!(essence(parked), expected, "{source}");
    }
    assert_eq!(pool.stats().parked, 0);
    assert!(parking.stats().parked >= 10, "{:?}", parking.stats());
}

#[tokio::test]
async fn async_calls_of_a_pmap_run_at_once() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = Tool::future(move |args: Value| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            args["x"].clone()
        }
    });
    let program = Program::new("(pmap #(tool/meet {:x %}) [1 2])").tools(Tools::new().with("meet", meet));
    assert_eq!(pool(1).run(program).await.value, "(1 2)");
}

#[tokio::test]
async fn a_program_goes_on_after_futures_when_there_is_room() {
    let barrier = Arc::new(Barrier::new(3));
    let meet = Tool::future(move |args: Value| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            args["x"].clone()
        }
    });
    let (asked, free) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (count, wait) = (asked.clone(), free.clone());
    let room: Room = Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
        let wait = wait.clone();
        Box::pin(async move { wait.notified().await })
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let program = Program::new("(pmap #(tool/meet {:x %}) [1 2 3])")
        .tools(Tools::new().with("meet", meet).gated(&room))
        .pace(move |waits| heard.lock().unwrap().push(waits));
    let workers = pool(1);
    let running = tokio::spawn(workers.run(program));
    // All three calls have met; the last of them waits for room, and the program with it.
    while asked.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!running.is_finished());
    free.notify_one();
    assert_eq!(running.await.unwrap().value, "(1 2 3)");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "room is asked for once, not for every call");
    let told = told.lock().unwrap();
    assert!(matches!(told[..], [Waits::Begins { bytes: 0..=1_000_000 }, Waits::Ends]), "{told:?}");
}

#[tokio::test]
async fn the_future_of_a_program_can_move_between_threads() {
    fn send<T: Send + 'static>(value: T) -> T {
        value
    }
    let pool = pool(2);
    let tasks: Vec<_> =
        (0..50).map(|i| tokio::spawn(send(pool.run(Program::new(format!("(* {i} {i})")))))).collect();
    for (i, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap().json, json!(i * i));
    }
}

#[test]
fn async_tools_work_without_a_runtime_of_the_caller() {
    let tool = Tool::future(|_| async {
        // Timers and other threads are what futures need a runtime for.
        let elsewhere = tokio::task::spawn_blocking(|| json!(5));
        tokio::time::timeout(Duration::from_secs(120), elsewhere).await.unwrap().unwrap()
    });
    let program = Program::new("(tool/later {})").tools(Tools::new().with("later", tool));
    assert_eq!(run_blocking(&program).value, "5");
    assert_eq!(pool(1).run(program).wait().value, "5");
}

#[tokio::test]
async fn a_panic_in_an_async_tool_is_an_error_of_the_tool() {
    let tool = Tool::future(|_| async {
        tokio::task::yield_now().await;
        if true {
            panic!("on purpose");
        }
        json!(1)
    });
    let program = Program::new("(tool/boom {})").tools(Tools::new().with("boom", tool));
    let error = pool(1).run(program).await.result.unwrap_err();
    assert_eq!(error.message, "tool boom failed: it panicked: on purpose");
}

#[tokio::test]
async fn dropping_the_future_cancels_the_program_and_its_calls() {
    /// Tells when it is dropped.
    struct Tell(Arc<Notify>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell_begun, tell_dropped) = (begun.clone(), dropped.clone());
    let tool = Tool::future(move |_| {
        let (begun, tell) = (tell_begun.clone(), Tell(tell_dropped.clone()));
        async move {
            begun.notify_one();
            std::future::pending::<()>().await;
            drop(tell);
            json!(1)
        }
    });
    let pool = Pool::new(PoolConfig { workers: 1, programs: 1, ..PoolConfig::default() });
    let running = pool.run(Program::new("(tool/never {})").tools(Tools::new().with("never", tool)));
    begun.notified().await;
    drop(running);
    dropped.notified().await;
    assert_eq!(pool.run(Program::new("1")).await.value, "1", "its place is free again");

    drop(pool.run(endless()));
    assert_eq!(pool.run(Program::new("2")).await.value, "2", "a busy program stops too");
}

#[tokio::test]
async fn tokens_stop_programs_that_run_wait_or_stand_in_line() {
    let pool = Pool::new(PoolConfig { workers: 1, programs: 2, ..PoolConfig::default() });
    let (waiting, gate, begun) = stuck();
    let cancel = Cancel::new();
    let waiting = pool.run(waiting.cancel(cancel.clone()));
    let busy = pool.run(endless().cancel(cancel.clone()));
    let in_line = tokio::spawn(pool.run(Program::new("1").cancel(cancel.clone())));
    begun.notified().await;
    cancel.cancel();
    for running in [waiting, busy] {
        assert_eq!(kind(running.await), ErrorKind::Cancelled);
    }
    assert_eq!(kind(in_line.await.unwrap()), ErrorKind::Cancelled);
    let one = pool.run(endless());
    one.cancel();
    assert_eq!(kind(one.await), ErrorKind::Cancelled);
    drop(gate);
}

#[tokio::test]
async fn time_runs_out_for_busy_and_for_waiting_programs() {
    let pool = pool(1);
    let (waiting, gate, _) = stuck();
    let waiting = pool.run(waiting.timeout(Duration::from_millis(20)));
    let busy = pool.run(endless().timeout(Duration::from_millis(20)));
    assert_eq!(kind(waiting.await), ErrorKind::Timeout);
    assert_eq!(kind(busy.await), ErrorKind::Timeout);
    drop(gate);

    let never = Tool::future(|_| std::future::pending::<Value>()).timeout(Duration::from_millis(5));
    let program = Program::new("(try (tool/never {}) (catch Exception e (ex-message e)))");
    let outcome = pool.run(program.tools(Tools::new().with("never", never))).await;
    assert_eq!(outcome.value, "\"tool never failed: no answer within 5ms\"");
}

#[test]
fn standing_in_the_queue_is_not_the_programs_time() {
    // One program holds the only worker between its turns and theirs, all in all for longer than the others have.
    const TIMEOUT: Duration = Duration::from_secs(2);
    let pool = pool(1);
    let clock = self::pool(1);
    let hold = Tool::quick(move |_| {
        // Time itself is what is counted here: it has passed when a program has run out of it.
        let never = Tool::future(|_| std::future::pending::<Value>());
        let waits = Program::new("(tool/never {})").tools(Tools::new().with("never", never));
        assert_eq!(kind(clock.run(waits.timeout(TIMEOUT / 2)).wait()), ErrorKind::Timeout);
        json!(null)
    });
    let holds = "(dotimes [_ 3] (tool/hold {}) (loop [i 0] (when (< i 100000) (recur (inc i)))))";
    let holding = pool.run(Program::new(holds).tools(Tools::new().with("hold", hold)));
    let source = "(loop [i 0] (if (< i 30000) (recur (inc i)) i))";
    let all: Vec<Running> = (0..5).map(|_| pool.run(Program::new(source).timeout(TIMEOUT))).collect();
    for running in all {
        let outcome = running.wait();
        assert_eq!(outcome.json, json!(30_000), "{:?}", outcome.result);
        assert!(outcome.turns > 1, "it stood in the queue between its turns");
    }
    assert!(holding.wait().elapsed > TIMEOUT);
}

#[test]
fn busy_programs_get_equal_turns_and_starve_nobody() {
    let pool = pool(1);
    let forever = pool.run(endless());
    let before = pool.stats().turns;
    // Each needs some ten turns; the endless one gets about as many as each of them, not more.
    let source = "(loop [i 0] (if (< i 100000) (recur (inc i)) i))";
    let all: Vec<Running> = (0..20).map(|_| pool.run(Program::new(source))).collect();
    let turns: Vec<u64> = all.into_iter().map(|running| running.wait().turns).collect();
    let (least, most) = (turns.iter().min().copied().unwrap_or(0), turns.iter().max().copied().unwrap_or(0));
    assert!(least >= 2 && most - least <= 1, "{turns:?}");
    let others = pool.stats().turns - before - turns.iter().sum::<u64>();
    // The first turn of each was in front, and that of the endless one may have been before the count.
    assert!(others + 2 >= least, "the endless program had {others} turns, the others {turns:?}");
    forever.cancel();
    assert_eq!(kind(forever.wait()), ErrorKind::Cancelled);
}

#[tokio::test]
async fn programs_beyond_the_bound_wait_for_room() {
    let pool = Pool::new(PoolConfig { workers: 1, programs: 2, ..PoolConfig::default() });
    let (first, gate, begun) = stuck();
    let first = pool.run(first);
    begun.notified().await;
    let second = pool.try_run(endless()).expect("there is room for two");
    assert!(pool.try_run(Program::new("3")).is_err_and(|program| &*program.source == "3"));
    let mut third = Box::pin(pool.run(Program::new("3")));
    let mut fourth = Box::pin(pool.run(Program::new("4")));
    let polled = |running: &mut std::pin::Pin<Box<Running>>| {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        running.as_mut().poll(&mut context).is_ready()
    };
    assert!(!polled(&mut third) && !polled(&mut fourth));
    // The first in line goes away; the next one gets the room.
    drop(third);
    second.cancel();
    assert_eq!(kind(second.await), ErrorKind::Cancelled);
    assert_eq!(fourth.await.value, "4");
    drop(gate);
    assert_eq!(kind(first.await), ErrorKind::Tool);
}

#[tokio::test]
async fn parked_programs_end_like_others() {
    let pool = parking_pool(1);
    let until_parked = async |times: u64| {
        while pool.stats().parked < times {
            tokio::task::yield_now().await;
        }
    };
    let prints = |program: Program| Program { source: "(println 5) (tool/stuck {})".into(), ..program };
    let (program, gate, _) = stuck();
    let cancelled = pool.run(prints(program));
    until_parked(1).await;
    cancelled.cancel();
    let outcome = cancelled.await;
    assert_eq!((outcome.prints.as_slice(), outcome.calls.len()), (["5".to_owned()].as_slice(), 1));
    assert_eq!(kind(outcome), ErrorKind::Cancelled);
    drop(gate);

    let (program, gate, _) = stuck();
    let failed = pool.run(prints(program));
    until_parked(2).await;
    drop(gate);
    assert_eq!(kind(failed.await), ErrorKind::Tool);

    let (program, gate, _) = stuck();
    let shut_down = pool.run(prints(program));
    until_parked(3).await;
    pool.shutdown();
    assert_eq!(kind(shut_down.await), ErrorKind::Cancelled);
    drop(gate);

    let (program, gate, _) = stuck();
    let pool = parking_pool(1);
    let late = pool.run(prints(program).timeout(Duration::from_millis(100)));
    assert_eq!(kind(late.await), ErrorKind::Timeout);
    drop(gate);
}

#[tokio::test]
async fn preludes_stay_with_sessions_and_with_parked_programs() {
    let source = "(ns crm) (def k 2) (defn f [x] (* k (tool/inc {:x x})))";
    let lent = Arc::new(ptc_lisp::prelude::Prelude::compile_text(source).expect("it compiles"));
    // Nothing is answered until the program is parked.
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let open = gate.clone();
    let inc = move |args: Value| {
        let gate = gate.clone();
        async move {
            let _permit = gate.acquire().await;
            json!(args["x"].as_i64().unwrap_or(0) + 1)
        }
    };
    let tools = Tools::new().with("inc", Tool::future(inc));
    let program = |source: &str| Program::new(source).tools(tools.clone()).prelude(lent.clone());
    let parking = parking_pool(1);
    let running = parking.run(program("[(crm/f 1) (crm/f 2)]"));
    while parking.stats().parked < 1 {
        tokio::task::yield_now().await;
    }
    open.add_permits(1);
    assert_eq!(running.await.value, "[4 6]");
    let pool = pool(1);
    let session = pool.session();
    assert_eq!(session.run(program("(def g crm/f) (g 1)")).await.value, "4");
    assert_eq!(session.run(program("(g 2)")).await.value, "6");
    let other = Arc::new(ptc_lisp::prelude::Prelude::compile_text("(ns other)").expect("it compiles"));
    let outcome = session.run(Program::new("1").tools(tools.clone()).prelude(other)).await;
    assert_eq!(kind(outcome), ErrorKind::PreludeAttach);
}

#[tokio::test]
async fn a_session_keeps_definitions_and_runs_programs_in_order() {
    let pool = pool(2);
    let session = pool.session();
    let all_wait = Arc::new(Notify::new());
    let told = all_wait.clone();
    let tool = Tool::future(move |args: Value| {
        let told = told.clone();
        async move {
            told.notified().await;
            args["x"].clone()
        }
    });
    let tools = Tools::new().with("later", tool);
    let first = session.run(Program::new("(def x (tool/later {:x 20}))").tools(tools));
    let second = session.run(Program::new("(def y (+ x data/n)) y").data(json!({"n": 1})));
    let third = session.run(Program::new("[x y data/n *1]"));
    all_wait.notify_one();
    assert_eq!(third.await.value, "[20 21 1 21]");
    assert_eq!(second.await.value, "21");
    assert!(first.await.result.is_ok());

    let failed = session.run(Program::new("(def x 0) (/ 1 0)")).await;
    assert_eq!(kind(failed), ErrorKind::Arithmetic);
    assert_eq!(session.run(Program::new("x")).await.value, "20", "failures change nothing");
    let cancelled = session.run(endless());
    cancelled.cancel();
    assert_eq!(kind(cancelled.await), ErrorKind::Cancelled);
    assert_eq!(session.run(Program::new("x")).await.value, "20");
    assert_eq!(kind(pool.session().run(Program::new("x")).await), ErrorKind::UnboundVar);
}

#[tokio::test]
async fn shutting_down_ends_everything() {
    let pool = Pool::new(PoolConfig { workers: 2, programs: 3, ..PoolConfig::default() });
    let (waiting, gate, begun) = stuck();
    let (waiting, busy) = (pool.run(waiting), pool.run(endless()));
    let session = pool.session();
    let in_session = session.run(endless());
    let in_line = pool.run(Program::new("1"));
    begun.notified().await;
    pool.shutdown();
    for running in [waiting, busy, in_session, in_line, session.run(Program::new("1"))] {
        assert_eq!(kind(running.await), ErrorKind::Cancelled);
    }
    drop(gate);
}

#[test]
fn a_thousand_callers_hit_no_limit_that_one_would_not() {
    let pool = pool(2);
    let source = "(reduce + (map #(count (str %)) (range 300)))";
    let alone = pool.run(Program::new(source)).wait();
    let limits = Limits { fuel: alone.fuel, memory: 1 << 20, ..Limits::default() };
    let program = Program::new(source).limits(limits).timeout(Duration::from_secs(10));
    let good = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let all: Vec<Running> = (0..50).map(|_| pool.run(program.clone())).collect();
                for running in all {
                    let outcome = running.wait();
                    assert_eq!((&outcome.result, outcome.fuel), (&alone.result, alone.fuel));
                    good.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(good.into_inner(), 1_000);
}

#[test]
fn hosts_ready_machines_look_at_them_and_visit_sessions() {
    let pool = Pool::new(PoolConfig { workers: 1, ..PoolConfig::default() });
    let strict = |source: &str| {
        let prepare = |machine: &mut ptc_lisp::machine::Machine| {
            machine.set_strict_inputs(true);
            machine.set_takes_back(true);
            Ok(())
        };
        Program::new(source).data(json!({"here": 1})).prepare(prepare)
    };
    let missing = pool.run(strict("(inc data/there)")).wait();
    let error = missing.result.expect_err("there is no such input");
    assert_eq!(error.message, "there is no input data/there");
    assert_eq!(pool.run(strict("(inc data/here)")).wait().value, "2");

    let session = pool.session();
    let look = |machine: &mut ptc_lisp::machine::Machine, outcome: &mut ptc_host::Outcome| {
        outcome.value = format!("{:?}", machine.definition_sizes(1_000));
        assert!(machine.definitions().len() < 2 || machine.take_back());
    };
    assert_eq!(session.run(strict("(def x 12)").look(look)).wait().value, r#"[("x", 3)]"#);
    let two = session.run(strict("(def y 1)").look(look)).wait();
    assert_eq!(two.value, r#"[("x", 3), ("y", 2)]"#, "then taken back");
    assert!(session.run(strict("y")).wait().result.is_err());
    session.visit(|machine| assert!(machine.forget("x") && !machine.forget("x")));
    assert!(session.run(strict("x")).wait().result.is_err());
    assert_eq!(session.run(strict("(def x 5) x")).wait().value, "5");
}
