//! Missions on a real Restate server, with workers that are killed: the real command, and the counting server that
//! knows what it was asked.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::time::Duration;

use super::agents::{command_in, folder, ptc_in, write};
use super::approval::{bills, paid};
use super::eventually::eventually;
use super::flood::withstands_over;
use super::port::own_port;
use super::resume::{Server, kill, questions, ten_steps};
use super::world::World;
use super::*;

/// The key of some Restate server.
const REAL_KEY: &str = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";

/// Restate's binary, where it is installed.
fn binary() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../.tools/npm/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server");
    if !path.exists() {
        super::skip::skip("the Restate server of npm");
    }
    path.exists().then_some(path)
}

/// An answer by HTTP: status and body. `None` if nobody is there.
fn http(port: u16, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(300))).ok()?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\naccept: application/json\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// A Restate server of the test's own.
struct Restate {
    binary: PathBuf,
    folder: PathBuf,
    process: Child,
    ingress: u16,
    admin: u16,
    fabric: u16,
    /// The public key by which workers know it.
    key: String,
}

impl Restate {
    fn start(folder: &Path) -> Option<Self> {
        let binary = binary()?;
        let (ingress, admin, fabric) = (own_port(), own_port(), own_port());
        let key = new_key(folder);
        let process = launch(&binary, folder, ingress, admin, fabric);
        let server = Restate { binary, folder: folder.to_owned(), process, ingress, admin, fabric, key };
        server.wait();
        Some(server)
    }

    fn wait(&self) {
        eventually("Restate is up", || {
            http(self.admin, "GET", "/health", "").is_some_and(|(status, _)| status == 200)
                && http(self.ingress, "GET", "/restate/health", "").is_some_and(|(status, _)| status == 200)
        });
    }

    /// Kills the server and starts it again with what is on disk.
    fn restart(&mut self) {
        self.process.kill().expect("kill -9");
        self.process.wait().expect("it is gone");
        self.process = launch(&self.binary, &self.folder, self.ingress, self.admin, self.fabric);
        self.wait();
    }

    fn admin_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin)
    }

    /// Starts a mission and does not wait for it.
    fn send(&self, mission: &str, inputs: &Value) {
        let (status, body) = http(self.ingress, "POST", &format!("/{mission}/run/send"), &inputs.to_string())
            .expect("an answer");
        assert!(matches!(status, 200 | 202), "{status} {body}");
    }

    /// What a mission gave, as soon as it has.
    fn outcome(&self, mission: &str) -> Value {
        let path = format!("/restate/workflow/{mission}/attach");
        let (status, body) = http(self.ingress, "GET", &path, "").expect("an answer");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("a document")
    }

    /// Whether a mission has given something.
    fn is_through(&self, mission: &str) -> bool {
        let path = format!("/restate/workflow/{mission}/output");
        http(self.ingress, "GET", &path, "").is_some_and(|(status, _)| status == 200)
    }

    /// Asks a mission something while it goes on.
    fn ask(&self, mission: &str, handler: &str, body: &str) -> (u16, Value) {
        let path = format!("/{mission}/{handler}");
        let (status, body) = http(self.ingress, "POST", &path, body).expect("an answer");
        (status, serde_json::from_str(&body).expect("JSON"))
    }

    /// What Restate's tables say.
    fn query(&self, sql: &str) -> Vec<Value> {
        let body = json!({ "query": sql }).to_string();
        let (status, body) = http(self.admin, "POST", "/query", &body).expect("an answer");
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).expect("rows");
        answer["rows"].as_array().expect("rows").clone()
    }

    /// The names of the entries of all missions, in order.
    fn entries(&self) -> Vec<String> {
        let rows = self.query("SELECT name FROM sys_journal WHERE name <> '' ORDER BY index");
        rows.iter().map(|row| row["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// A key by which the server signs its requests, and its public half.
fn new_key(folder: &Path) -> String {
    let script = r#"
        const { privateKey, publicKey } = require("crypto").generateKeyPairSync("ed25519");
        require("fs").writeFileSync(process.argv[1], privateKey.export({ type: "pkcs8", format: "pem" }));
        const bytes = publicKey.export({ type: "spki", format: "der" }).subarray(-32);
        const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
        let number = BigInt("0x" + bytes.toString("hex")), text = "";
        for (; number > 0n; number /= 58n) text = digits[number % 58n] + text;
        for (const byte of bytes) { if (byte) break; text = "1" + text; }
        console.log("publickeyv1_" + text);
    "#;
    let made =
        Command::new("node").args(["-e", script]).arg(folder.join("key.pem")).output().expect("node runs");
    String::from_utf8(made.stdout).expect("a key").trim().to_owned()
}

fn launch(binary: &Path, folder: &Path, ingress: u16, admin: u16, fabric: u16) -> Child {
    let log = fs::File::create(folder.join("restate.log")).expect("a file");
    Command::new(binary)
        .args(["--no-logo", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1"])
        .args(["--default-num-partitions", "1", "--bind-port", &fabric.to_string()])
        .arg("--base-dir")
        .arg(folder.join("restate-data"))
        .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
        .env("RESTATE_ADMIN__BIND_PORT", admin.to_string())
        .env("RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", folder.join("key.pem"))
        .env("DO_NOT_TRACK", "1")
        .stdout(log.try_clone().expect("the same file"))
        .stderr(log)
        .spawn()
        .expect("Restate starts")
}

impl Drop for Restate {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A worker at an address that stays its own when it is killed.
struct Worker {
    folder: PathBuf,
    restate: String,
    key: String,
    listen: String,
    process: Option<Child>,
}

impl Worker {
    fn new(folder: &Path, restate: &Restate) -> Self {
        let listen = format!("127.0.0.1:{}", own_port());
        let (folder, url, key) = (folder.to_owned(), restate.admin_url(), restate.key.clone());
        let mut worker = Worker { folder, restate: url, key, listen, process: None };
        worker.start();
        worker
    }

    /// Starts it and waits until it is registered.
    fn start(&mut self) {
        let args =
            ["worker", "--restate", &self.restate, "--listen", &self.listen, "--identity-key", &self.key];
        let mut command = command_in(&self.folder, &[&args[..], &["agent.toml"]].concat());
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the command starts");
        let (sender, lines) = mpsc::channel();
        let stderr = process.stderr.take().expect("a pipe");
        self.process = Some(process);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // Whoever reads the output of a failed test finds it.
                eprintln!("worker: {line}");
                let _ = sender.send(line);
            }
        });
        // Restate goes on with what it knows of the worker at this address before the worker is registered again: a
        // mission may finish first.
        loop {
            let line = lines.recv_timeout(Duration::from_secs(120)).expect("it says that it serves");
            if line.starts_with("serving ") {
                return;
            }
            assert!(line.ends_with(" finished"), "{line}");
        }
    }

    fn kill(&mut self) {
        kill(self.process.take().expect("it runs"));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            kill(process);
        }
    }
}

/// A mission of ten steps with its server, its Restate and its worker.
fn ten_steps_on_restate(name: &str, effect: &str) -> Option<(PathBuf, Server, Restate, Worker)> {
    binary()?;
    let (folder, server) = ten_steps(name, &format!("{effect}\n"));
    let agent = fs::read_to_string(folder.join("agent.toml")).expect("the agent");
    write(&folder, &[("agent.toml", &format!("name = \"ten\"\n{agent}"))]);
    let restate = Restate::start(&folder)?;
    let worker = Worker::new(&folder, &restate);
    Some((folder, server, restate, worker))
}

/// The steps that a mission was told nothing certain about.
fn unknown(document: &Value) -> Vec<u64> {
    let turns = document["trace"].as_array().expect("turns").iter();
    let calls = turns.flat_map(|turn| turn["calls"].as_array().expect("calls"));
    let unknown =
        calls.filter(|call| call["error"].as_str().is_some_and(|why| why.contains("outcome unknown")));
    unknown.map(|call| call["args"]["n"].as_u64().expect("the step")).collect()
}

#[test]
fn a_mission_whose_worker_is_killed_three_times_finishes_and_repeats_nothing_that_was_answered() {
    let Some((_folder, server, restate, mut worker)) =
        ten_steps_on_restate("restate-reads", "effect = \"read\"")
    else {
        return;
    };
    let killed = ["tool 3", "model 6", "tool 9"];
    server.hold(&killed[..1]);
    restate.send("ten/reads", &json!({}));
    for (at, question) in killed.iter().enumerate() {
        server.wait_for(question, 1);
        worker.kill();
        server.hold(&killed[at + 1..][..usize::from(at + 1 < killed.len())]);
        worker.start();
    }
    let document = restate.outcome("ten/reads");
    assert_eq!((&document["ok"], &document["answer"]), (&json!(true), &json!({"total": 55})), "{document}");
    // What was under way when the worker was killed was asked twice; what was answered once.
    for question in questions() {
        let times = 1 + usize::from(killed.contains(&question.as_str()));
        assert_eq!(server.count(&question), times, "{question}");
    }
    let entries = restate.entries();
    let kinds = |kind: &str| entries.iter().filter(|name| name.starts_with(kind)).count();
    assert_eq!(
        (kinds("begin"), kinds("model "), kinds("tool step"), entries.len()),
        (1, 11, 10, 22),
        "{entries:?}"
    );
}

#[test]
fn writes_are_made_at_most_once_wherever_the_worker_is_killed() {
    let Some((_folder, server, restate, mut worker)) = ten_steps_on_restate("restate-writes", "") else {
        return;
    };
    // Killed while a write is under way: it is not made again, and the program is told.
    let killed = ["tool 2", "tool 5", "tool 8"];
    server.hold(&killed);
    restate.send("ten/writes", &json!({}));
    for question in killed {
        server.wait_for(question, 1);
        worker.kill();
        worker.start();
    }
    let document = restate.outcome("ten/writes");
    assert_eq!(document["answer"], json!({"total": 40}), "{document}");
    assert_eq!(unknown(&document), [2, 5, 8]);
    for n in 1..=10 {
        assert_eq!(server.count(&format!("tool {n}")), 1, "tool {n}");
    }
    // Killed wherever it is when chance has let it ask a few things more, but for the first: without its answer there is
    // nothing to add to.
    server.hold(&[]);
    restate.send("ten/anytime", &json!({}));
    server.wait_for("model 2", 2);
    let mut random = 0x2545_f491_u64;
    for _ in 0..12 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let asked = server.asked().len() + (random >> 33) as usize % 4;
        eventually("it goes on", || server.asked().len() >= asked || restate.is_through("ten/anytime"));
        worker.kill();
        worker.start();
    }
    let document = restate.outcome("ten/anytime");
    let unknown = unknown(&document);
    let total = document["answer"]["total"].as_u64();
    let total = total.unwrap_or_else(|| panic!("an answer: {document}"));
    assert_eq!(total + unknown.iter().sum::<u64>(), 55, "every gap is told: {document}");
    for n in 1..=10 {
        let times = server.count(&format!("tool {n}")) - 1;
        assert!(times == 1 || (times == 0 && unknown.contains(&n)), "tool {n} was called {times} times");
    }
}

#[test]
fn calls_at_once_are_kept_one_by_one_and_outlive_the_connection() {
    let Some((folder, server, mut restate, mut worker)) = ten_steps_on_restate("restate-parallel", "") else {
        return;
    };
    // Bad inputs are told at once.
    let (status, body) = http(restate.ingress, "POST", "/ten/bad/run", "[1]").expect("an answer");
    assert!(status == 400 && body.contains("inputs"), "{status} {body}");

    // A worker that listens to another server only is not served by this one.
    let elsewhere = folder.join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder");
    let other = new_key(&elsewhere);
    let url = restate.admin_url();
    let ran = ptc_in(
        &folder,
        &["worker", "--restate", &url, "--listen", "127.0.0.1:0", "--identity-key", &other, "agent.toml"],
    );
    assert!(ran.code == 2 && ran.err.contains("refuses the worker"), "{}", ran.err);

    // Restate itself is killed while a write is under way: the worker still knows it.
    server.hold(&["tool 4"]);
    restate.send("ten/alone", &json!({}));
    server.wait_for("tool 4", 1);
    restate.restart();
    server.hold(&[]);
    let document = restate.outcome("ten/alone");
    assert_eq!((&document["answer"], unknown(&document).len()), (&json!({"total": 55}), 0), "{document}");
    for question in questions() {
        assert_eq!(server.count(&question), 1, "{question}");
    }

    // Ten calls at once, of which five are answered when the worker is killed.
    worker.kill();
    let program = r#"{"program": "(return {:total (reduce + (map :total (pmap #(tool/step {:n %}) (range 21 31))))})"}"#;
    let agent = fs::read_to_string(folder.join("agent.toml")).expect("the agent");
    let model = agent.lines().find(|line| line.starts_with("model = ")).expect("its model");
    let agent = agent.replace(model, "model = \"script:replies.jsonl\"").replace("\"ten\"", "\"together\"");
    write(&folder, &[("replies.jsonl", program), ("agent.toml", &format!("{agent}effect = \"read\"\n"))]);
    worker.start();
    let late: Vec<String> = (26..=30).map(|n| format!("tool {n}")).collect();
    server.hold(&late.iter().map(String::as_str).collect::<Vec<_>>());
    restate.send("together/now", &json!({}));
    late.iter().for_each(|name| server.wait_for(name, 1));
    // One beginning, one reply, five results, and the entry that waits for the next.
    eventually("five results are kept", || {
        restate.entries().iter().filter(|name| name.starts_with("one of step")).count() == 6
    });
    worker.kill();
    server.hold(&[]);
    worker.start();
    let document = restate.outcome("together/now");
    assert_eq!(document["answer"], json!({"total": 255}), "{document}");
    for n in 21..=30 {
        assert_eq!(server.count(&format!("tool {n}")), if n > 25 { 2 } else { 1 }, "tool {n}");
    }
}

#[test]
fn people_decide_about_calls_while_the_worker_is_killed() {
    if binary().is_none() {
        return;
    }
    let folder = bills("restate-approval");
    let Some(restate) = Restate::start(&folder) else { return };
    let mut worker = Worker::new(&folder, &restate);
    restate.send("clerk/november", &json!({}));
    let waiting = || restate.ask("clerk/november", "waiting", "").1.as_array().map(Vec::len);
    eventually("three calls wait", || waiting() == Some(3));
    let (_, pending) = restate.ask("clerk/november", "waiting", "");
    assert_eq!((&pending[0]["tool"], &pending[0]["args"]), (&json!("pay"), &json!({"sum": 1})), "{pending}");
    let calls: Vec<u64> = (0..3).map(|at| pending[at]["call"].as_u64().expect("a number")).collect();
    let decide = |call: u64, decision: Value| {
        let sent = json!({"call": call, "decision": decision}).to_string();
        restate.ask("clerk/november", "decide", &sent)
    };
    // What makes no sense changes nothing.
    for (call, decision, code, message) in [
        (99, json!("approve"), 404, "no call 99 waits"),
        (calls[0], json!("maybe"), 400, "a decision may also be"),
        (calls[0], json!({"edit": {"sum": "x"}}), 400, "Tool validation"),
    ] {
        let (status, answer) = decide(call, decision);
        assert!(
            status == code && answer["message"].as_str().is_some_and(|text| text.contains(message)),
            "{answer}"
        );
    }
    // Decisions are taken whether a worker is there or not; none is taken twice.
    assert_eq!(decide(calls[0], json!("approve")).0, 200);
    eventually("the first is decided", || waiting() == Some(2));
    // A call under way when the worker is killed would be unknown. When its answer is kept, the mission waits for the
    // decisions about the two others again.
    let promises =
        || restate.query("SELECT index FROM sys_journal WHERE entry_type = 'Command: GetPromise'").len();
    eventually("the first is made and its answer kept", || promises() == 3 + 2);
    worker.kill();
    worker.start();
    assert_eq!(decide(calls[0], json!("approve")).0, 404);
    assert_eq!(decide(calls[1], json!({"edit": {"sum": 20}})).0, 200);
    eventually("the second is decided", || waiting() == Some(1));
    assert_eq!(decide(calls[2], json!({"reject": "because I say so"})).0, 200);
    let document = restate.outcome("clerk/november");
    assert_eq!(document["answer"], json!({"paid": [1, 20, "because I say so"]}), "{document}");
    assert_eq!(paid(&folder), ["{\"sum\":1}", "{\"sum\":20}"]);
    assert_eq!(waiting(), Some(0));
}

#[test]
fn calls_of_upstreams_are_made_at_most_once() {
    if binary().is_none() {
        return;
    }
    let world = World::start("restate");
    let program = "(defn put [k] (let [r (tool/call {:server \"world\" :tool \"put\" :args {:key k :value 1}})] \
                     (or (:ok r) [(:reason r) (re-find #\"world/put\" (:message r))]))) \
                   (return {:puts (mapv put [\"a\" \"b\" \"c\"]) \
                            :a (:value (:value (tool/call {:server \"world\" :tool \"get\" :args {:key \"a\"}})))})";
    world.write("replies.jsonl", &json!({ "program": program }).to_string());
    world.write(
        "agent.toml",
        "name = \"putter\"\nprompt = \"Put things\"\nmodel = \"script:replies.jsonl\"\n\
         upstreams = \"upstreams.json\"\nallow_writes = true\n",
    );
    let Some(restate) = Restate::start(&world.folder) else { return };
    let mut worker = Worker::new(&world.folder, &restate);
    world.hold(&["did b"]);
    restate.send("putter/one", &json!({}));
    world.wait_for("did b");
    worker.kill();
    world.hold(&[]);
    worker.start();
    let document = restate.outcome("putter/one");
    let expected = json!({"puts": [true, ["outcome_unknown", "world/put"], true], "a": 1});
    assert_eq!(document["answer"], expected, "{document}");
    for key in ["a", "b", "c"] {
        assert_eq!(world.count(&format!("came {key}")), 1, "{key}");
    }
}

#[test]
fn workers_say_what_they_cannot_serve() {
    let folder = folder("worker-usage");
    let agent = "prompt = \"Count\"\nmodel = \"script:replies.jsonl\"\n";
    write(
        &folder,
        &[
            ("one.toml", agent),
            ("two.toml", &format!("name = \"one\"\n{agent}")),
            ("odd.toml", &format!("name = \"no name\"\n{agent}")),
            ("replies.jsonl", "{\"program\": \"(return 1)\"}"),
        ],
    );
    let serve = |more: &[&str]| {
        ptc_in(&folder, &[&["worker", "--restate", "http://127.0.0.1:1", "--listen"][..], more].concat())
    };
    for (args, message) in [
        (&["127.0.0.1:0", "one.toml", "two.toml"][..], "two agents are named `one`"),
        (&["127.0.0.1:0", "odd.toml"][..], "`no name` is no name of a workflow"),
        (&["127.0.0.1:0", "none.toml"][..], "none.toml"),
        (&["0.0.0.0:0", "--identity-key", REAL_KEY, "one.toml"][..], "give --advertise URL"),
        (&["127.0.0.1:0", "--identity-key", "secret", "one.toml"][..], "identity key"),
    ] {
        let ran = serve(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(message), "{message}\n---\n{}", ran.err);
    }
}

/// A server that takes every worker and asks it nothing.
fn takes_any_worker() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                stream.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        }
    });
    url
}

/// Asks for a path over HTTP/2 and gives the first headers of the answer, as HPACK writes them.
fn first_headers(address: &str, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let mut frame = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
        frame.extend_from_slice(payload);
        frame
    };
    // GET, http, and path and authority as they stand.
    let head = [&[0x82, 0x86, 0x04, path.len() as u8][..], path.as_bytes(), &[0x01, 1, b'w']].concat();
    let request =
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, &[]), frame(1, 5, 1, &head)].concat();
    stream.write_all(&request).expect("it is read");
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).expect("all of it");
        if head[3] == 1 {
            return payload;
        }
    }
}

#[test]
fn a_worker_that_listens_to_one_server_tells_everybody_that_it_lives() {
    let folder = folder("worker-health");
    let agent = "name = \"one\"\nprompt = \"Count\"\nmodel = \"script:replies.jsonl\"\n";
    write(&folder, &[("agent.toml", agent), ("replies.jsonl", "{\"program\": \"(return 1)\"}")]);
    let listen = format!("127.0.0.1:{}", own_port());
    let restate = takes_any_worker();
    let args =
        ["worker", "--restate", &restate, "--listen", &listen, "--identity-key", REAL_KEY, "agent.toml"];
    let mut process = command_in(&folder, &args).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut said = String::new();
    BufReader::new(process.stderr.take().expect("a pipe")).read_line(&mut said).expect("a line");
    assert!(said.starts_with("serving one "), "{said}");
    // `:status: 200` has the number 8 of the static table.
    assert_eq!(first_headers(&listen, "/health").first(), Some(&0x88));
    assert_ne!(first_headers(&listen, "/discover").first(), Some(&0x88), "anything else must be signed");
    kill(process);
}

#[test]
fn unfinished_requests_keep_nobody_from_a_worker_and_take_no_memory() {
    let folder = folder("worker-flood");
    let agent = "name = \"one\"\nprompt = \"Count\"\nmodel = \"script:replies.jsonl\"\n";
    write(&folder, &[("agent.toml", agent), ("replies.jsonl", "{\"program\": \"(return 1)\"}")]);
    let listen = format!("127.0.0.1:{}", own_port());
    let mut command =
        command_in(&folder, &["worker", "--restate", &takes_any_worker(), "--listen", &listen, "agent.toml"]);
    let mut process = command.stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut said = String::new();
    BufReader::new(process.stderr.take().expect("a pipe")).read_line(&mut said).expect("a line");
    assert!(said.starts_with("serving one "), "{said}");
    // Without a key, everybody on the machine is admitted: their requests are read, as far as they come.
    let paths = ["/invoke/one/run", "/invoke/one/decide", "/discover"];
    withstands_over("http2", listen.parse().expect("an address"), process.id(), "/health", &paths);
    kill(process);
}
