//! `cargo deny`: licences, crates that stand in two versions, where crates come from, and known vulnerabilities where
//! the list of them can be reached. `deny.toml` has the rules, and a reason for each exception.
//!
//! The program is a package of PyPI, because building it takes longer than everything that it checks. Its newest
//! version there reads package ids as cargo wrote them before 1.77, and does not know licences that are younger. So this
//! program stands in for cargo, and writes ids as they were and such licences as references.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;

/// Names the real cargo; where it is set, this program stands in for it.
pub const CARGO: &str = "PTC_XTASK_CARGO";

/// Licences that the program does not know.
const YOUNGER: &[&str] = &["Unicode-3.0"];

/// Checks the dependencies of the workspace.
pub fn check(root: &Path) -> Result<()> {
    let program = crate::packages::cargo_deny(root)?;
    let deny = |checks: &[&str]| -> Result<Command> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&program);
        command.arg("check").args(checks).current_dir(root);
        command.env(CARGO, cargo).env("CARGO", std::env::current_exe()?);
        Ok(command)
    };
    if !deny(&["bans", "licenses", "sources"])?.status()?.success() {
        bail!("deny.toml does not allow that; see above");
    }
    let output = deny(&["advisories"])?.output()?;
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match advisories(&told) {
        Advisories::Clean => eprintln!("advisories ok"),
        Advisories::Found => bail!("there are advisories against dependencies:\n{told}"),
        Advisories::Unknown(why) => eprintln!("advisories are not checked: {why}"),
    }
    Ok(())
}

/// What is known of vulnerabilities.
#[derive(Debug, PartialEq)]
enum Advisories<'t> {
    Clean,
    Found,
    /// The list of them cannot be had; this is what the program says.
    Unknown(&'t str),
}

fn advisories(told: &str) -> Advisories<'_> {
    match told {
        _ if told.contains("advisories ok") => Advisories::Clean,
        _ if told.contains("advisories FAILED") => Advisories::Found,
        _ => {
            Advisories::Unknown(told.lines().find(|line| line.contains("ERROR")).unwrap_or("it says nothing"))
        }
    }
}

/// Does what cargo is asked to do.
pub fn as_cargo(cargo: &OsStr, args: &[OsString]) -> Result<ExitCode> {
    let mut command = Command::new(cargo);
    command.args(args).env("CARGO", cargo).env_remove(CARGO);
    if args.first().is_none_or(|first| first != "metadata") {
        return Ok(exit(command.status()?.code()));
    }
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Ok(exit(output.status.code()));
    }
    let mut metadata: Json = serde_json::from_slice(&output.stdout)?;
    let ids = old_ids(&metadata).context("cargo says too little about a package")?;
    rewrite(&mut metadata, &ids);
    refer_to_licences(&mut metadata);
    serde_json::to_writer(std::io::stdout().lock(), &metadata)?;
    Ok(ExitCode::SUCCESS)
}

fn exit(code: Option<i32>) -> ExitCode {
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// The ids that packages had before, by those that they have.
fn old_ids(metadata: &Json) -> Option<BTreeMap<String, String>> {
    let id = |package: &Json| {
        let text = |name: &str| package[name].as_str();
        let folder =
            || text("manifest_path")?.rsplit_once('/').map(|(folder, _)| format!("path+file://{folder}"));
        let source = text("source").map(str::to_owned).or_else(folder)?;
        Some((text("id")?.to_owned(), format!("{} {} ({source})", text("name")?, text("version")?)))
    };
    metadata["packages"].as_array()?.iter().map(id).collect()
}

fn rewrite(json: &mut Json, ids: &BTreeMap<String, String>) {
    match json {
        Json::String(text) => {
            if let Some(old) = ids.get(text) {
                text.clone_from(old);
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rewrite(item, ids)),
        Json::Object(fields) => fields.values_mut().for_each(|field| rewrite(field, ids)),
        _ => {}
    }
}

fn refer_to_licences(metadata: &mut Json) {
    for package in metadata["packages"].as_array_mut().into_iter().flatten() {
        if let Json::String(licence) = &mut package["license"] {
            for younger in YOUNGER {
                *licence = licence.replace(younger, &format!("LicenseRef-{younger}"));
            }
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use serde_json::json;

    #[test]
    fn package_ids_and_licences_are_written_as_before() {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let new = format!("{registry}#serde@1.0.0");
        let mut metadata = json!({
            "packages": [
                {"id": new, "name": "serde", "version": "1.0.0", "source": registry, "manifest_path": "/r/serde/Cargo.toml",
                 "license": "MIT AND Unicode-3.0"},
                {"id": "path+file:///w/a#0.1.0", "name": "a", "version": "0.1.0", "source": null,
                 "manifest_path": "/w/a/Cargo.toml"},
            ],
            "resolve": {"nodes": [{"id": "path+file:///w/a#0.1.0", "dependencies": [new]}]},
        });
        let ids = old_ids(&metadata).expect("all is there");
        rewrite(&mut metadata, &ids);
        refer_to_licences(&mut metadata);
        assert_eq!(metadata["packages"][0]["license"], "MIT AND LicenseRef-Unicode-3.0");
        let node = &metadata["resolve"]["nodes"][0];
        assert_eq!(node["id"], "a 0.1.0 (path+file:///w/a)");
        assert_eq!(node["dependencies"][0], format!("serde 1.0.0 ({registry})"));
    }

    #[test]
    fn a_list_that_cannot_be_reached_is_no_verdict() {
        assert_eq!(advisories("advisories ok"), Advisories::Clean);
        assert_eq!(advisories("error[vulnerability]: x\nadvisories FAILED"), Advisories::Found);
        let unreachable = "a\n2026 [ERROR] failed to fetch advisory database\nb";
        let why = "2026 [ERROR] failed to fetch advisory database";
        assert_eq!(advisories(unreachable), Advisories::Unknown(why));
    }
}
