//! Modes of files and folders, whatever was there before.
#![cfg(unix)]

#[path = "../../ptc-store/tests/it/skip.rs"]
mod skip;

use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use ptc_system::owned::{self, Reach};
use ptc_system::private;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    private::folder(&folder).expect("a folder");
    folder
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it changes");
}

#[test]
fn folders_and_files_are_their_owners_alone() {
    let folder = scratch("alone");
    private::folder(&folder.join("a/b")).expect("folders");
    for made in ["a", "a/b"] {
        assert_eq!(mode(&folder.join(made)), 0o700, "{made}");
    }
    private::create_new(&folder.join("new")).expect("a file");
    private::create(&folder.join("created")).expect("a file");
    private::append(&folder.join("appended")).expect("a file");
    private::replace(&folder.join("replaced"), b"x").expect("a file");
    for made in ["new", "created", "appended", "replaced"] {
        assert_eq!(mode(&folder.join(made)), 0o600, "{made}");
    }
}

#[test]
fn a_file_that_was_there_is_taken_from_others() {
    let folder = scratch("narrowed");
    for name in ["created", "appended", "replaced"] {
        std::fs::write(folder.join(name), "before").expect("it writes");
        chmod(&folder.join(name), 0o666);
    }
    private::create(&folder.join("created")).expect("it opens");
    private::append(&folder.join("appended")).expect("it opens").write_all(b"!").expect("it writes");
    private::replace(&folder.join("replaced"), b"after").expect("it writes");
    for (name, text) in [("created", ""), ("appended", "before!"), ("replaced", "after")] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
        assert_eq!(std::fs::read_to_string(folder.join(name)).expect("it reads"), text, "{name}");
    }
}

#[test]
fn what_was_created_can_be_read_back_and_devices_can_be_named() {
    let folder = scratch("back");
    let mut file = private::create(&folder.join("file")).expect("a file");
    file.write_all(b"text").and_then(|()| file.rewind()).expect("it writes");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("it reads");
    assert_eq!(text, "text");
    private::create(Path::new("/dev/null")).expect("a device");
    private::append(Path::new("/dev/null")).expect("a device");
}

#[test]
fn a_file_that_others_may_write_or_read_is_refused_with_the_fix() {
    let folder = scratch("checked");
    let file = folder.join("store");
    std::fs::write(&file, "").expect("it writes");
    for (bits, reach, refused) in [
        (0o600, Reach::Nobody, None),
        (0o640, Reach::Nobody, Some("chmod 600")),
        (0o604, Reach::Nobody, Some("chmod 600")),
        (0o640, Reach::GroupReads, None),
        (0o644, Reach::GroupReads, Some("chmod 640")),
        (0o660, Reach::GroupReads, Some("chmod 640")),
        (0o644, Reach::AllRead, None),
        (0o666, Reach::AllRead, Some("chmod 6")),
    ] {
        chmod(&file, bits);
        let checked = owned::check(&file, reach);
        match refused {
            None => assert_eq!(checked, Ok(()), "{bits:o} {reach:?}"),
            Some(fix) => {
                let message = checked.expect_err("it is refused");
                assert!(message.contains(fix), "{bits:o} {reach:?}: {message}");
            }
        }
    }
    assert_eq!(owned::check(&folder.join("missing"), Reach::Nobody), Ok(()));
    assert_eq!(owned::check(Path::new("/dev/null"), Reach::Nobody), Ok(()));
}

#[test]
fn a_file_of_another_user_is_refused() {
    // The only user whose files are everywhere, unless the tests run as that user.
    let theirs = Path::new("/etc/passwd");
    use std::os::unix::fs::MetadataExt as _;
    let own = std::fs::metadata(env!("CARGO_TARGET_TMPDIR")).expect("it is there").uid();
    if own == 0 {
        // As root, a file is given away instead.
        let file = scratch("anothers").join("store");
        std::fs::write(&file, "").expect("it writes");
        std::os::unix::fs::chown(&file, Some(12345), None).expect("root may");
        chmod(&file, 0o600);
        let message = owned::check(&file, Reach::Nobody).expect_err("it is refused");
        assert!(message.contains("belongs to another user (id 12345"), "{message}");
        assert!(owned::trusted(&file).is_err());
        let error = private::append(&file).expect_err("it is refused");
        assert!(error.to_string().contains("belongs to another user"), "{error}");
        return;
    }
    let message = owned::check(theirs, Reach::Nobody).expect_err("it is refused");
    assert!(message.contains("belongs to another user (id 0"), "{message}");
    assert_eq!(owned::check(theirs, Reach::AllRead), Ok(()), "root may be trusted with what all may read");
}

#[test]
fn what_lies_in_a_folder_that_others_may_write_is_not_trusted() {
    let folder = scratch("trusted");
    let file = folder.join("agent.toml");
    std::fs::write(&file, "").expect("it writes");
    chmod(&file, 0o644);
    assert_eq!(owned::trusted(&file), Ok(()));
    chmod(&folder, 0o777);
    assert!(owned::trusted(&file).expect_err("it is refused").contains("could change it"));
    chmod(&folder, 0o1777);
    assert_eq!(owned::trusted(&file), Ok(()), "nobody else can change it there");
    chmod(&folder, 0o755);
    chmod(&file, 0o666);
    assert!(owned::trusted(&file).is_err());
    chmod(&file, 0o644);
    let link = folder.join("link.toml");
    symlink(&file, &link).expect("a link");
    assert_eq!(owned::trusted(&link), Ok(()));
}

#[test]
fn links_that_others_could_have_laid_are_not_followed() {
    let folder = scratch("links");
    let (precious, link) = (folder.join("precious"), folder.join("shared/link"));
    let shared = folder.join("shared");
    private::folder(&shared).expect("a folder");
    std::fs::write(&precious, "precious").expect("it writes");
    symlink(&precious, &link).expect("a link");
    let mine = folder.join("mine");
    symlink(&link, &mine).expect("a link");

    chmod(&shared, 0o777);
    for path in [&link, &mine] {
        for error in
            [private::create(path).expect_err("refused"), private::append(path).expect_err("refused")]
        {
            assert!(error.to_string().contains("is not followed"), "{error}");
        }
    }
    assert_eq!(std::fs::read_to_string(&precious).expect("it reads"), "precious");
    private::replace(&link, b"new").expect("a link is replaced");
    assert!(!link.is_symlink());
    assert_eq!(std::fs::read_to_string(&precious).expect("it reads"), "precious");

    chmod(&shared, 0o700);
    std::fs::remove_file(&link).expect("it goes");
    symlink("../precious", &link).expect("a link");
    private::append(&mine).expect("the user's own links").write_all(b"!").expect("it writes");
    assert_eq!(std::fs::read_to_string(&precious).expect("it reads"), "precious!");
    private::create(&mine).expect("the user's own links");
    assert_eq!(std::fs::read_to_string(&precious).expect("it reads"), "");
}

#[test]
fn a_link_of_another_user_is_not_followed_anywhere() {
    let folder = scratch("anothers-link");
    let link = folder.join("link");
    std::fs::write(folder.join("precious"), "precious").expect("it writes");
    symlink("precious", &link).expect("a link");
    // Only root can give a link away.
    if std::os::unix::fs::lchown(&link, Some(12345), None).is_err() {
        skip::skip("the right to give a link to another user");
        return;
    }
    let error = private::create(&link).expect_err("it is refused");
    assert!(error.to_string().contains("is a link of another user (id 12345)"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.join("precious")).expect("it reads"), "precious");
}

#[test]
fn what_lies_where_a_file_is_prepared_is_not_written_through() {
    let folder = scratch("beside");
    std::fs::write(folder.join("precious"), "precious").expect("it writes");
    let beside = folder.join(format!("file.{}.new", std::process::id()));
    for replace in [private::replace, ptc_system::project::replace] {
        symlink("precious", &beside).expect("a link");
        replace(&folder.join("file"), b"new").expect("it writes");
        assert_eq!(std::fs::read_to_string(folder.join("precious")).expect("it reads"), "precious");
        assert_eq!(std::fs::read_to_string(folder.join("file")).expect("it reads"), "new");
    }
}
