//! Keys of programs that wait for people: which a store needs, and a copy of them.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use ptc_store::copy;
use ptc_system::owned::{self, Reach};
use ptc_system::private;

use crate::agents::several;

/// The longest file of keys that is copied.
const KEYS_BYTES: u64 = 1 << 20;

/// Says which programs of a store wait that cannot go on with the keys of a file, if there are any.
pub fn lacking(store: &str, keys: &Path) -> anyhow::Result<Option<String>> {
    let seals = copy::seals(store)?;
    if seals.is_empty() {
        return Ok(None);
    }
    let text = if keys.exists() { read(keys)? } else { Vec::new() };
    let text = String::from_utf8_lossy(&text);
    let there: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut lacking = BTreeMap::<&str, u64>::new();
    for key in seals.iter().map(|seal| key_of(seal)).filter(|key| !there.contains(key)) {
        *lacking.entry(key).or_default() += 1;
    }
    if lacking.is_empty() {
        return Ok(None);
    }
    let (names, count): (Vec<&str>, u64) = (lacking.keys().copied().collect(), lacking.values().sum());
    let waits = if count == 1 { "waits" } else { "wait" };
    Ok(Some(format!("{} {waits}, sealed with the key {}", several(count, "program"), names.join(", "))))
}

/// The id of the key that something is sealed with. It stands behind a version and its own length.
fn key_of(seal: &[u8]) -> &str {
    let id = match seal {
        [_, length, rest @ ..] => rest.get(..usize::from(*length)),
        _ => None,
    };
    id.and_then(|id| std::str::from_utf8(id).ok()).unwrap_or("of another version")
}

fn read(from: &Path) -> anyhow::Result<Vec<u8>> {
    let mut keys = Vec::new();
    let file = std::fs::File::open(from).with_context(|| format!("cannot read {}", from.display()))?;
    file.take(KEYS_BYTES + 1).read_to_end(&mut keys)?;
    if keys.len() as u64 > KEYS_BYTES {
        bail!("{} is no file of keys: it is too long", from.display());
    }
    Ok(keys)
}

/// Copies a file of keys into one that is not there.
pub fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    owned::check(from, Reach::GroupReads).map_err(|problem| anyhow!("{problem}"))?;
    let keys = read(from)?;
    let written = private::create_new(to).and_then(|mut file| {
        file.write_all(&keys)?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write {}", to.display()))
}
