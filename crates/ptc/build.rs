//! Collects the pages of the book, so that the command can print them, and tells the linker what makes the command
//! start sooner.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    link_for_a_short_start();
    collect_pages()
}

/// On Linux with glibc, unwinding is linked in, which saves loading a library, and addresses that loading adjusts are
/// packed, which saves reading two megabytes. Both only if the computer that builds can run what it makes: glibc reads
/// packed addresses since 2.36.
fn link_for_a_short_start() {
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" || env::var_os("TARGET") != env::var_os("HOST") {
        return;
    }
    if said("cc", "-print-file-name=libgcc_eh.a").is_some_and(|path| path.starts_with('/')) {
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
    let version = said("getconf", "GNU_LIBC_VERSION").and_then(|text| {
        let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    if version.is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// What a program of the system prints, if it is there.
fn said(program: &str, question: &str) -> Option<String> {
    let output = Command::new(program).arg(question).output().ok()?;
    String::from_utf8(output.stdout).ok()
}

fn collect_pages() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").canonicalize()?;
    println!("cargo::rerun-if-changed={}", docs.display());
    let mut files: Vec<_> = fs::read_dir(&docs)?.collect::<io::Result<_>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let mut table = String::from("&[\n");
    for path in
        files.iter().map(fs::DirEntry::path).filter(|path| path.extension().is_some_and(|end| end == "md"))
    {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(table, "    ({name:?}, include_str!({path:?})),");
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&out).join("pages.rs"), table)
}
