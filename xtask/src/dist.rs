//! Archives of the command: one for each target, with the licences and the README, and their sums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask dist [TARGET…]
  builds the command for these targets, or for this computer, and packs target/dist/ptc-VERSION-TARGET.tar.gz with SHA256SUMS;
  a target needs its standard library (rustup target add) and a linker";

/// What is in an archive beside the command.
const BESIDE: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// The sums of all archives of a folder.
const SUMS: &str = "SHA256SUMS";

/// Builds and packs.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if args.iter().any(|arg| arg.starts_with('-')) {
        bail!("{USAGE}");
    }
    let targets = if args.is_empty() { vec![host()?] } else { args.to_vec() };
    let folder = root.join("target/dist");
    for target in &targets {
        let build = ["build", "--locked", "--release", "--package", "ptc", "--target", target];
        done(Command::new("cargo").args(build).current_dir(root))?;
        let end = if target.contains("windows") { ".exe" } else { "" };
        let binary = root.join("target").join(target).join("release").join(format!("ptc{end}"));
        eprintln!("{}", pack(root, &folder, &binary, target)?.display());
    }
    sums(&folder)
}

/// The target that this computer builds for.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc does not start")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it builds for")?.to_owned())
}

/// The version of the command.
fn version(root: &Path) -> Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    Ok(version.context("there is no version in Cargo.toml")?.trim_end_matches('"').to_owned())
}

/// Packs a binary for a target. Equal files give equal archives, whenever and by whomever they are packed.
fn pack(root: &Path, folder: &Path, binary: &Path, target: &str) -> Result<PathBuf> {
    let name = format!("ptc-{}-{target}", version(root)?);
    let inside = folder.join(&name);
    let _ = fs::remove_dir_all(&inside);
    fs::create_dir_all(&inside)?;
    let command = inside.join(binary.file_name().context("the binary has no name")?);
    fs::copy(binary, &command).with_context(|| format!("{} is not there", binary.display()))?;
    for file in BESIDE {
        fs::copy(root.join(file), inside.join(file))?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    let plain = [
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--use-compress-program=gzip -n",
    ];
    done(Command::new("tar").args(plain).arg("-cf").arg(&archive).arg(&name).current_dir(folder))?;
    fs::remove_dir_all(&inside)?;
    Ok(archive)
}

/// Writes the sums of all archives of a folder.
fn sums(folder: &Path) -> Result<()> {
    let names = fs::read_dir(folder)?.map(|file| Ok(file?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<String>>>()?;
    names.retain(|name| name.ends_with(".tar.gz"));
    names.sort();
    let output = Command::new("sha256sum").args(&names).current_dir(folder).output()?;
    if !output.status.success() {
        bail!("sha256sum: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(fs::write(folder.join(SUMS), output.stdout)?)
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{:?} does not start", command.get_program()))?;
    if !status.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}

#[cfg(test)]
mod unit {
    use super::*;

    /// A folder with an archive of a command that only says its name, for this computer.
    fn packed(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ptc-dist-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let binary = folder.join("ptc");
        fs::write(&binary, "#!/bin/sh\necho packed\n").expect("a file");
        pack(&crate::root(), &folder, &binary, &host().expect("a target")).expect("an archive");
        fs::remove_file(binary).expect("it is packed");
        sums(&folder).expect("sums");
        folder
    }

    fn install(folder: &Path) -> std::process::Output {
        let mut shell = Command::new("sh");
        shell.arg(crate::root().join("install.sh")).env("PTC_FROM", folder).env("PTC_TO", folder.join("bin"));
        shell.output().expect("a shell")
    }

    #[test]
    fn the_script_installs_what_was_packed() {
        let folder = packed("whole");
        let output = install(&folder);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = Command::new(folder.join("bin/ptc")).output().expect("it is installed");
        assert_eq!(String::from_utf8_lossy(&said.stdout), "packed\n");
        fs::remove_dir_all(folder).expect("it is gone");
    }

    #[test]
    fn an_archive_with_another_sum_is_not_installed() {
        let folder = packed("damaged");
        let archive = fs::read_dir(&folder).expect("the folder").map(|file| file.expect("a file").path());
        let archive = archive.into_iter().find(|path| path.extension().is_some_and(|end| end == "gz"));
        let archive = archive.expect("an archive");
        let mut bytes = fs::read(&archive).expect("its bytes");
        bytes.push(0);
        fs::write(&archive, bytes).expect("it is changed");
        let output = install(&folder);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("is not what SHA256SUMS says"), "{said}");
        assert!(!folder.join("bin/ptc").exists());
        fs::remove_dir_all(folder).expect("it is gone");
    }

    #[test]
    fn equal_files_give_equal_archives() {
        let read = |folder: PathBuf| {
            let sums = fs::read_to_string(folder.join(SUMS)).expect("sums");
            fs::remove_dir_all(folder).expect("it is gone");
            sums
        };
        assert_eq!(read(packed("first")), read(packed("second")));
    }
}
