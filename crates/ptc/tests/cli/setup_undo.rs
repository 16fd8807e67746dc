//! `ptc setup --undo` where something is not as the setup left it: what is there is told, and what to do.

use std::fs;
use std::path::PathBuf;

use super::setup::Home;

const FILE: &str = ".cursor/mcp.json";
const SERVERS: &str = "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}";
const UNDO: &[&str] = &["setup", "cursor", "--undo"];

fn set_up(name: &str) -> Home {
    let home = Home::new(name);
    home.write(FILE, SERVERS);
    let done = home.ptc(&["setup", "cursor", "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    home
}

/// What is kept, by how its name ends.
fn kept(home: &Home, ending: &str) -> PathBuf {
    let found = home.kept().into_iter().find(|path| path.to_string_lossy().ends_with(ending));
    found.unwrap_or_else(|| panic!("{ending}: {:?}", home.kept()))
}

#[test]
fn what_is_missing_of_what_was_kept_is_named_with_what_to_do() {
    for (gone, expected) in [
        (&["before"][..], "take our server out of it, and put those in by hand that "),
        (&["before", "servers.json"], "are not kept any more: "),
        (&["after"], "which is the file before its first setup, over it by hand, and remove "),
    ] {
        let home = set_up(&format!("undo-without-{}", gone.join("-")));
        let now = home.read(FILE);
        for ending in gone {
            fs::remove_file(kept(&home, &format!(".{ending}"))).expect("it is removed");
        }
        let refused = home.ptc(UNDO);
        assert!(refused.code == 2 && refused.err.contains(expected), "{gone:?}: {}", refused.err);
        assert!(!refused.err.contains("XDG_CONFIG_HOME"), "{gone:?}: {}", refused.err);
        assert_eq!(home.read(FILE), now, "{gone:?}");
    }
}

#[test]
fn a_file_that_was_removed_is_there_again() {
    let home = set_up("undo-removed");
    fs::remove_file(home.0.join(FILE)).expect("it is removed");
    let undone = home.ptc(UNDO);
    assert_eq!((undone.code, home.read(FILE).as_str()), (0, SERVERS), "{}", undone.err);
    assert!(
        undone.out.contains(" was gone, and is there again as it was before its setup."),
        "{}",
        undone.out
    );

    let home = set_up("undo-removed-folder");
    fs::remove_dir_all(home.0.join(".cursor")).expect("it is removed");
    let refused = home.ptc(UNDO);
    assert!(refused.code == 2 && refused.err.contains("is gone, and nothing was done"), "{}", refused.err);
    assert!(refused.err.contains(&kept(&home, ".before").display().to_string()), "{}", refused.err);
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_kept_where_it_is_put_back_all_the_same() {
    let home = set_up("undo-broken");
    fs::write(home.0.join(FILE), "{\"mine\": ").expect("it is written");
    let refused = home.ptc(UNDO);
    assert!(refused.code == 2 && refused.err.contains("mend it and try again"), "{}", refused.err);
    let undone = home.ptc(&[UNDO, &["--yes"]].concat());
    assert_eq!((undone.code, home.read(FILE).as_str()), (0, SERVERS), "{}", undone.err);
    let [changed] = home.kept().try_into().expect("one file is kept");
    let changed: PathBuf = changed;
    assert_eq!(fs::read_to_string(&changed).expect("it is there"), "{\"mine\": ");
    assert!(undone.out.contains(&format!("it is kept in {}\n", changed.display())), "{}", undone.out);
}

#[test]
fn an_undo_without_a_setup_says_so() {
    let home = Home::new("undo-nothing");
    let refused = home.ptc(UNDO);
    assert!(
        refused.code == 2
            && refused.err.contains("is not there, and was not set up, or was put back already"),
        "{}",
        refused.err
    );
    home.write(FILE, SERVERS);
    let refused = home.ptc(UNDO);
    assert!(
        refused.code == 2 && refused.err.contains("mcp.json was not set up, or was put back already"),
        "{}",
        refused.err
    );
}
