//! `ptc prelude store`: versions of preludes in a file or a database.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use ptc_store::Store;
use ptc_store::preludes::{Bounds, Metadata, PreludeError, Preludes, Pruned, Ref, Version};
use serde_json::{Value, json};

use super::eval::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal::{self, errln};
use crate::values;

/// Keep versions of preludes.
///
/// A version is never changed. Writing makes the next one and the default; set-default goes back to an older
/// one without losing the newer. Superseded versions go, oldest first, where there would be too many or too much; the
/// default, the newest, versions that were made the default by hand and those that others need stay.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct PreludeStoreArgs {
    #[command(subcommand)]
    action: PreludeStoreAction,

    /// An SQLite file, or postgres://user@host/database
    #[arg(long, value_name = "PLACE", global = true)]
    store: Option<String>,

    /// Latest versions of each prelude that writing keeps [default: 1000]
    #[arg(long, value_name = "N", value_parser = values::count, global = true)]
    max_versions: Option<u64>,

    /// Most bytes of all versions together, as writing leaves them [default: 10 MiB]
    #[arg(long, value_name = "BYTES", value_parser = values::bytes, global = true)]
    max_bytes: Option<usize>,

    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum PreludeStoreAction {
    /// All preludes with their default and newest versions.
    List,
    /// The versions of a prelude, oldest first.
    History {
        /// The prelude
        id: String,
    },
    /// The source of a version.
    Read {
        /// ID or ID@VERSION
        #[arg(value_name = "REF")]
        wanted: String,
    },
    /// Compile a file and store it as the next version.
    Write {
        /// The prelude; the file declares the namespace of that name
        id: String,
        /// The source
        file: PathBuf,
        /// Why it was written
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Another prelude of the store that it uses; may be repeated
        #[arg(long, value_name = "REF")]
        needs: Vec<String>,
        /// The version it was made from: refused if another is the default by now
        #[arg(long, value_name = "VERSION")]
        base: Option<i64>,
    },
    /// Make a version the default.
    SetDefault {
        /// ID@VERSION
        #[arg(value_name = "REF")]
        wanted: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Remove superseded versions.
    Prune {
        /// The prelude; all of them by default
        id: Option<String>,
        /// Latest versions of each prelude that stay in any case
        #[arg(long, value_name = "N", value_parser = values::count)]
        keep: u64,
    },
    /// How two versions differ.
    Diff {
        /// ID or ID@VERSION
        from: String,
        /// ID or ID@VERSION
        to: String,
    },
}

/// Runs the command.
pub fn run(args: PreludeStoreArgs) -> anyhow::Result<Outcome> {
    let Some(place) = args.store.as_deref().filter(|place| !place.is_empty()) else {
        anyhow::bail!("--store PLACE is missing: an SQLite file, or postgres://user@host/database");
    };
    super::undamaged(place)?;
    // Only what writes makes a store that is not there.
    let store = match args.action {
        PreludeStoreAction::Write { .. } => Store::open(place),
        _ => Store::open_existing(place),
    };
    let usual = Bounds::default();
    let bounds = Bounds {
        max_versions: args.max_versions.map_or(usual.max_versions, |most| most as usize),
        max_total_bytes: args.max_bytes.unwrap_or(usual.max_total_bytes),
        ..usual
    };
    let preludes = Preludes::new(Arc::new(store.context("cannot open the store")?)).with_bounds(bounds)?;
    match act(&preludes, args.action, args.json)? {
        Ok(text) => {
            ignore_closed_pipe(writeln!(terminal::stdout(), "{}", text.trim_end()))?;
            Ok(Outcome::Done)
        }
        Err(error) => {
            match args.json {
                true => {
                    let told = json!({"ok": false, "reason": error.reason(), "message": error.to_string()});
                    ignore_closed_pipe(writeln!(terminal::stdout(), "{told}"))?;
                }
                false => errln!("{}: {error}", error.reason()),
            }
            Ok(Outcome::Failed)
        }
    }
}

/// What the store says: text, or why not. An error besides is one of usage.
fn act(
    preludes: &Preludes,
    action: PreludeStoreAction,
    as_json: bool,
) -> anyhow::Result<Result<String, PreludeError>> {
    Ok(match action {
        PreludeStoreAction::List => list(preludes, as_json),
        PreludeStoreAction::History { id } => history(preludes, &id, as_json),
        PreludeStoreAction::Read { wanted } => read(preludes, &wanted, as_json),
        PreludeStoreAction::Write { id, file, reason, needs, base } => {
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let mut metadata = noted(reason);
            if !needs.is_empty() {
                metadata.insert("requires_preludes".to_owned(), needs.into());
            }
            if let Some(base) = base {
                metadata.insert("parent_version".to_owned(), base.into());
            }
            preludes.write(&id, &text, &metadata).map(|stored| shown(&stored.version, as_json))
        }
        PreludeStoreAction::SetDefault { wanted, reason } => set_default(preludes, &wanted, reason, as_json),
        PreludeStoreAction::Prune { id, keep } => prune(preludes, id.as_deref(), keep, as_json),
        PreludeStoreAction::Diff { from, to } => diff(preludes, &from, &to, as_json),
    })
}

fn noted(reason: Option<String>) -> Metadata {
    let mut metadata = Metadata::new();
    if let Some(reason) = reason {
        metadata.insert("reason".to_owned(), reason.into());
    }
    metadata
}

fn list(preludes: &Preludes, as_json: bool) -> Result<String, PreludeError> {
    let listed = preludes.list()?;
    if as_json {
        let row = |it: &ptc_store::preludes::ListedPrelude| {
            json!({
                "id": it.id,
                "current_version": it.current_version,
                "latest_version": it.latest_version,
                "checksum": it.checksum,
                "versions": it.versions,
            })
        };
        return Ok(Value::Array(listed.iter().map(row).collect()).to_string());
    }
    if listed.is_empty() {
        return Ok("the store has no preludes".to_owned());
    }
    let line = |it: &ptc_store::preludes::ListedPrelude| {
        format!(
            "{}@{}  latest {}, {} kept  {}",
            it.id, it.current_version, it.latest_version, it.versions, it.checksum
        )
    };
    Ok(listed.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn history(preludes: &Preludes, id: &str, as_json: bool) -> Result<String, PreludeError> {
    let versions = preludes.history(id)?;
    if as_json {
        return Ok(Value::Array(versions.iter().map(version_json).collect()).to_string());
    }
    Ok(versions.iter().map(|version| shown(version, false)).collect::<Vec<_>>().join("\n"))
}

fn version_json(version: &Version) -> Value {
    json!({
        "id": version.id,
        "version": version.version,
        "checksum": version.checksum,
        "source_bytes": version.source_bytes,
        "metadata": version.metadata,
        "created_at": version.created_at,
        "is_current": version.is_current,
        "is_latest": version.is_latest,
        "needs": version.pins.iter().map(|pin| pin.to_json()).collect::<Vec<_>>(),
    })
}

fn shown(version: &Version, as_json: bool) -> String {
    if as_json {
        return version_json(version).to_string();
    }
    let mut line =
        format!("{}@{}  {} bytes  {}", version.id, version.version, version.source_bytes, version.checksum);
    if version.is_current {
        line.push_str("  default");
    }
    if let Some(reason) = version.metadata.get("reason").and_then(Value::as_str) {
        line.push_str(&format!("  ({reason})"));
    }
    line
}

fn read(preludes: &Preludes, wanted: &str, as_json: bool) -> Result<String, PreludeError> {
    let candidate = preludes.read(&Ref::parse(wanted)?)?;
    if !as_json {
        return Ok(candidate.source);
    }
    let mut json = version_json(&candidate.version);
    json["source"] = candidate.source.into();
    Ok(json.to_string())
}

fn set_default(
    preludes: &Preludes,
    wanted: &str,
    reason: Option<String>,
    as_json: bool,
) -> Result<String, PreludeError> {
    let selected = preludes.set_default(&Ref::parse(wanted)?, &noted(reason))?;
    let (id, version) = (&selected.version.id, selected.version.version);
    if as_json {
        return Ok(json!({
            "id": id,
            "version": version,
            "previous_version": selected.previous_version,
            "latest_version": selected.latest_version,
        })
        .to_string());
    }
    let (before, latest) = (selected.previous_version, selected.latest_version);
    Ok(format!("{id}@{version} is the default, it was {before}; the latest is {latest}"))
}

fn prune(preludes: &Preludes, id: Option<&str>, keep: u64, as_json: bool) -> Result<String, PreludeError> {
    let gone = preludes.prune(id, usize::try_from(keep).unwrap_or(usize::MAX))?;
    let bytes: i64 = gone.iter().map(|one| one.source_bytes).sum();
    if as_json {
        let one = |one: &Pruned| json!({"id": one.id, "version": one.version, "bytes": one.source_bytes});
        return Ok(json!({"removed": gone.iter().map(one).collect::<Vec<_>>(), "bytes": bytes}).to_string());
    }
    let mut lines: Vec<String> =
        gone.iter().map(|one| format!("{}@{}  {} bytes", one.id, one.version, one.source_bytes)).collect();
    lines.push(match gone.len() {
        0 => "nothing is superseded beyond that".to_owned(),
        1 => format!("1 version removed, {bytes} bytes"),
        count => format!("{count} versions removed, {bytes} bytes"),
    });
    Ok(lines.join("\n"))
}

fn diff(preludes: &Preludes, from: &str, to: &str, as_json: bool) -> Result<String, PreludeError> {
    let diff = preludes.diff(&Ref::parse(from)?, &Ref::parse(to)?)?;
    if as_json {
        return Ok(json!({
            "from": diff.from.to_json(),
            "to": diff.to.to_json(),
            "added": diff.added,
            "removed": diff.removed,
            "changed": diff.changed,
            "unified": diff.unified,
        })
        .to_string());
    }
    match diff.unified.is_empty() {
        true => Ok("no difference".to_owned()),
        false => Ok(diff.unified),
    }
}
