//! Keys of programs that wait for people: which a store needs, and a copy of them.

use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use ptc_server::engine::{Keys, LackingKeys};
use ptc_store::copy;
use ptc_system::owned::{self, Reach};
use ptc_system::private;

use crate::agents::several;

/// The longest file of keys that is copied.
const KEYS_BYTES: u64 = 1 << 20;

/// Says which programs of a store wait that cannot go on with the keys of a file, if there are any.
pub fn lacking(store: &str, file: &Path) -> anyhow::Result<Option<String>> {
    // A file that is not needed is not looked into.
    let mut keys = None;
    let mut lacking = LackingKeys::default();
    copy::each_seal(store, |id, owner, sealed| {
        let keys = keys.get_or_insert_with(|| file.exists().then(|| Keys::load(file)));
        lacking.look(keys.as_ref().and_then(|keys| keys.as_ref().ok()), id, owner, sealed);
    })?;
    if let Some(Some(Err(problem))) = keys {
        bail!("{problem}");
    }
    let count = lacking.count();
    let waits = if count == 1 { "waits" } else { "wait" };
    let told = || format!("{} {waits}, sealed with the key {}", several(count, "program"), lacking.names());
    Ok((count > 0).then(told))
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

/// Refuses a place where there are other keys than these; the same ones were left by a command that was killed.
pub fn free(place: &Path, keys: &Path, first: &str) -> anyhow::Result<()> {
    if place.exists() && !(keys.exists() && read(place)? == read(keys)?) {
        bail!("{} is there already; {first}", place.display());
    }
    Ok(())
}

/// Copies a file of keys into one that is not there, or has the same keys.
pub fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    owned::check(from, Reach::GroupReads).map_err(|problem| anyhow!("{problem}"))?;
    let keys = read(from)?;
    if to.exists() && read(to)? == keys {
        return Ok(());
    }
    let written = private::create_new(to).and_then(|mut file| {
        file.write_all(&keys)?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write {}", to.display()))
}
