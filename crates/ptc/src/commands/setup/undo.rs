//! `ptc setup --undo`: the servers go back into the client's file, whatever became of it and of what is kept since. What
//! cannot be done is told with where the servers are and what to do.

use std::path::PathBuf;

use anyhow::{Context, bail};

use super::client::Client;
use super::place::{SetupFiles, Text};
use super::plan::File;
use super::{SetupArgs, show};
use crate::exit::Outcome;

/// Runs the command.
pub fn undo(client: &Client, place: &SetupFiles, args: &SetupArgs) -> anyhow::Result<Outcome> {
    let file = place.file.display();
    let Some(state) = place.state()? else { return not_set_up(client, place) };
    let is_there = place.file.exists();
    let copy = place.copy();
    if place.file.parent().is_some_and(|folder| !folder.exists()) {
        bail!(
            "the folder of {file} is gone, and nothing was done; make it again to have the file back, or take the servers \
             from {}, which is the file before its first setup",
            copy.display()
        );
    }
    let now = match is_there {
        true => Text::read(&place.file)?,
        false => state.after.clone(),
    };
    let known = File { client, place, now: &now, state: Some(&state) };
    if !args.yes && now != state.after && known.own_entry_changed().unwrap_or(false) {
        bail!(
            "our server in {file} was changed since, and putting the servers back loses that; --yes does it all the same"
        );
    }
    let restored = match now == state.after {
        true => Ok(state.base.clone()),
        false => known.whole().map(|whole| known.now.with(whole)),
    };
    // What the client made of the file may be nothing that servers can be put into.
    let overwrites = args.yes && restored.is_err();
    let restored = match restored {
        Err(_) if args.yes => state.base.clone(),
        restored => restored.with_context(|| {
            format!(
                "the servers cannot be put back into {file}: mend it and try again; --yes puts it back as it was before \
                 the setup, and keeps a copy of what it is now"
            )
        })?,
    };
    let lost = known.not_in(&restored.text)?;
    let mut spared = place.edited()?;
    let is_edited = !spared.is_empty();
    let changed = if overwrites { Some(place.keep_changed(&now)?) } else { None };
    spared.extend(changed.clone());
    place.write(&restored)?;
    let first = Text::read(&copy).ok();
    let is_first = first.is_some_and(|first| first == restored);
    let done = match (is_there, restored == state.base) {
        (false, _) if is_first => "was gone, and is there again as it was before its setup",
        (false, _) => "was gone, and is there again with its servers",
        (true, true) if is_first => "is as it was before",
        (true, true) => "has its servers back, those that joined them since too",
        (true, false) => "has its servers back; what else was changed in it stays",
    };
    let mut told = format!("{file} {done}. Start the client again.\n");
    for name in &lost {
        told.push_str(&format!(
            "  ! '{name}' is not the one that was moved: another one has taken its name since\n"
        ));
    }
    if is_edited {
        told.push_str("  ! what was changed in our file of servers is not put back\n");
    }
    if overwrites {
        told.push_str("  ! what was changed in it since is not in it any more\n");
    }
    if let Some(original) = &place.copied_from {
        told.push_str(&format!("    what was kept stays: {} names it, too\n", original.display()));
        if let Some(changed) = changed {
            told.push_str(&format!("    it is kept in {}\n", changed.display()));
        }
        show(&told)?;
        return Ok(Outcome::Done);
    }
    spared.extend((!lost.is_empty()).then_some(copy));
    for kept in place.forget(&spared)? {
        told.push_str(&format!("    it is kept in {}\n", kept.display()));
    }
    show(&told)?;
    Ok(Outcome::Done)
}

/// Why there is nothing to put back: a file that has our server all the same has lost what it took the place of.
fn not_set_up(client: &Client, place: &SetupFiles) -> anyhow::Result<Outcome> {
    let file = place.file.display();
    let Some(servers) = place.named_servers(client).map(PathBuf::from) else {
        let is_there = if place.file.exists() { "" } else { "is not there, and " };
        bail!(
            "{file} {is_there}was not set up, or was put back already; a file that was set up with --config or --project \
             is put back with the same"
        );
    };
    let (own, copy) = (servers.parent() == place.copy().parent(), place.copy());
    let is_kept = servers.exists();
    let servers = servers.display();
    match (is_kept, own) {
        (true, true) => bail!(
            "{file} has our server, but {}, without which it cannot be put back, is gone: take our server out of it, and \
             put those in by hand that {servers} has under \"mcpServers\"",
            copy.display()
        ),
        (true, false) => bail!(
            "{file} has our server, but what it took the place of is kept elsewhere: its servers are in {servers}; set \
             XDG_CONFIG_HOME as it was at the setup"
        ),
        (false, _) => bail!(
            "{file} has our server, but the servers that it took the place of are not kept any more: {servers} is gone. If \
             this file is a copy of one that was put back, that one has them; else take our server out of it, and put \
             them in again"
        ),
    }
}
