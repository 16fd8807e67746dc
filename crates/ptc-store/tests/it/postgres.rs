//! A PostgreSQL server for the length of a test: its own cluster in a temporary folder, reached through a unix
//! socket there. Skipped only where no server is installed.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running server.
pub struct Server {
    folder: PathBuf,
    process: Child,
}

impl Server {
    /// Starts a server; `None` where there is none to start.
    pub fn start(name: &str) -> Option<Server> {
        let Some(programs) = programs() else {
            crate::skip::skip("a PostgreSQL server");
            return None;
        };
        // Paths of sockets are short.
        let folder = PathBuf::from(format!("/tmp/ptc-pg-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the cluster");
        let user = user_beside_root();
        if let Some((uid, gid)) = user {
            chown(&folder, Some(uid), Some(gid)).expect("the folder changes hands");
        }
        let data = folder.join("data");
        let made = as_user(programs.join("initdb"), user)
            .args(["--username=ptc", "--auth=trust", "--encoding=UTF8", "--no-sync", "-D"])
            .arg(&data)
            .current_dir(&folder)
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let process = serve(&programs, &folder);
        let server = Server { folder, process };
        server.wait();
        Some(server)
    }

    /// Ends the server, with all connections.
    #[allow(dead_code, reason = "not all tests that share this file need it")]
    pub fn stop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }

    /// Starts it again after [`Server::stop`].
    #[allow(dead_code, reason = "not all tests that share this file need it")]
    pub fn again(&mut self) {
        self.process = serve(&programs().expect("it was there before"), &self.folder);
        self.wait();
    }

    fn wait(&self) {
        crate::eventually::eventually("the server answers", || {
            ::postgres::Client::connect(&self.database(), ::postgres::NoTls).is_ok()
        });
    }

    fn database(&self) -> String {
        format!("postgres://ptc@/postgres?host={}", self.folder.display())
    }

    /// A connection to the server that is nobody's.
    pub fn client(&self) -> ::postgres::Client {
        ::postgres::Client::connect(&self.database(), ::postgres::NoTls).expect("connects")
    }

    /// An empty place on the server.
    pub fn place(&self, name: &str) -> String {
        self.client().batch_execute(&format!("CREATE SCHEMA {name}")).expect("a new schema");
        self.at(name)
    }

    fn at(&self, name: &str) -> String {
        format!("{}&options=-csearch_path%3D{name}", self.database())
    }

    /// What is in a place, as `pg_dump` writes it.
    #[allow(dead_code, reason = "not all tests that share this file need it")]
    pub fn dump(&self, name: &str) -> Vec<u8> {
        let program = programs().expect("it was there before").join("pg_dump");
        let schema = format!("--schema={name}");
        let output = Command::new(program).args([&schema, &self.database()]).output().expect("pg_dump runs");
        assert!(output.status.success(), "pg_dump: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Reads what [`Server::dump`] gave of a place, as `psql` does.
    #[allow(dead_code, reason = "not all tests that share this file need it")]
    pub fn load(&self, name: &str, dump: &[u8]) -> String {
        let program = programs().expect("it was there before").join("psql");
        let mut psql = Command::new(program)
            .args(["--quiet", "--set=ON_ERROR_STOP=1", &self.database()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("psql starts");
        psql.stdin.take().expect("a pipe").write_all(dump).expect("it reads");
        assert!(psql.wait().expect("psql ends").success());
        self.at(name)
    }
}

fn serve(programs: &Path, folder: &Path) -> Child {
    let log = std::fs::File::create(folder.join("log")).expect("a log");
    as_user(programs.join("postgres"), user_beside_root())
        .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=100", "-D"])
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the server starts")
}

impl Drop for Server {
    fn drop(&mut self) {
        // At once, but with its shared memory given back.
        let _ = Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(self.folder.join("log")).unwrap_or_default());
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder with `initdb` and `postgres`: Debian's newest, or one of the path.
fn programs() -> Option<PathBuf> {
    let both = |folder: &Path| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort_by_key(|folder| {
        let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        std::cmp::Reverse(version.and_then(|name| name.parse::<u32>().ok()))
    });
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    folders.into_iter().find(|folder| both(folder))
}

/// The server refuses to run as root: then it is another user's.
fn user_beside_root() -> Option<(u32, u32)> {
    if std::fs::metadata("/proc/self").map_or(1, |process| process.uid()) != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |wanted: &str| {
        users.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            match fields.as_slice() {
                [name, _, uid, gid, ..] if *name == wanted => Some((uid.parse().ok()?, gid.parse().ok()?)),
                _ => None,
            }
        })
    };
    find("postgres").or_else(|| find("nobody"))
}

fn as_user(program: PathBuf, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}
