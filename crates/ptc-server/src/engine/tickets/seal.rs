//! Keys, and what they seal: authenticated encryption, with the id of the key beside it so that keys can change.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ptc_system::owned::{self, Reach};
use ptc_system::private;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::super::text::hex;

/// Keys by their ids. The first seals, all of them open.
pub struct Keys {
    keys: Vec<Key>,
    /// The file that they are from.
    file: Option<PathBuf>,
}

struct Key {
    id: String,
    key: LessSafeKey,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|key| &key.id)).finish()
    }
}

/// Why something sealed cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It does not look like anything sealed here.
    #[error("it is not sealed by this server")]
    Unknown,
    /// Its key is not here.
    #[error("it is sealed with the key '{0}', which this server does not have")]
    NoKey(String),
    /// Somebody changed it, or it belongs elsewhere.
    #[error("it was changed, or belongs to something else")]
    Tampered,
}

/// Bytes of a key.
const KEY: usize = 32;

impl Keys {
    /// A key that nobody keeps: what it seals ends with the process.
    pub fn random() -> Result<Keys, String> {
        Ok(Keys { keys: vec![Key::new("memory", &random::<KEY>()?)?], file: None })
    }

    /// Reads keys, one per line: an id and 32 bytes in Base64. Lines that begin with `#` are comments.
    pub fn parse(text: &str) -> Result<Keys, String> {
        let mut keys: Vec<Key> = Vec::new();
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let wrong = |what: &str| format!("line {at} {what}; a line is an id and 32 bytes in Base64");
            let (id, key) = line.split_once(char::is_whitespace).ok_or_else(|| wrong("has one word"))?;
            if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                return Err(wrong("has an id with other signs than letters, digits and '-'"));
            }
            if id.len() > 32 || keys.iter().any(|known| known.id == id) {
                return Err(wrong("has an id that is too long or there already"));
            }
            let bytes = STANDARD.decode(key.trim()).map_err(|_| wrong("has a key that is no Base64"))?;
            keys.push(Key::new(id, &bytes).map_err(|_| wrong("has a key of another length"))?);
        }
        match keys.is_empty() {
            true => Err("there is no key; a line is an id and 32 bytes in Base64".to_owned()),
            false => Ok(Keys { keys, file: None }),
        }
    }

    /// The keys of a file, which nobody but its owner may write.
    pub fn load(path: &Path) -> Result<Keys, String> {
        owned::check(path, Reach::GroupReads)?;
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let keys = Keys::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(keys.of(path))
    }

    fn of(self, path: &Path) -> Keys {
        Keys { file: Some(path.to_owned()), ..self }
    }

    /// Whether whoever reads their file now opens what these keys seal.
    pub fn check_file(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let (now, probe) = (Keys::load(file)?, self.seal("probe", b"")?);
        let opened = now.open("probe", &probe).map(|_| ());
        opened.map_err(|_| format!("{} does not have the key '{}' any more", file.display(), probe.key))
    }

    /// The keys of a file that only its owner may read; it is made with a new key if it is not there. Its id is one that no key
    /// had before: what is sealed with a key that was lost must not be taken for its own.
    pub fn kept(path: &Path) -> Result<Keys, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        match private::create_new(path) {
            Ok(mut file) => {
                let line = format!("k{} {}\n", hex(&random::<8>()?), STANDARD.encode(random::<KEY>()?));
                file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
                Ok(Keys::parse(&line)?.of(path))
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                // Another process may be writing it at this moment.
                for _ in 0..20 {
                    if std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
                        break;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                owned::check(path, Reach::Nobody)?;
                Keys::load(path)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Seals bytes. `bound` is not in them, and they open with nothing else.
    pub fn seal(&self, bound: &str, plain: &[u8]) -> Result<Sealed, String> {
        let key = self.keys.first().ok_or("there is no key")?;
        let nonce = random::<NONCE_LEN>()?;
        let mut bytes = plain.to_vec();
        key.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(bound), &mut bytes)
            .map_err(|_| "it cannot be sealed")?;
        bytes.splice(0..0, nonce);
        Ok(Sealed { key: key.id.clone(), bytes })
    }

    /// What was sealed.
    pub fn open(&self, bound: &str, sealed: &Sealed) -> Result<Vec<u8>, SealError> {
        let key = self.keys.iter().find(|key| key.id == sealed.key);
        let key = key.ok_or_else(|| SealError::NoKey(sealed.key.clone()))?;
        let (nonce, sealed) = sealed.bytes.split_first_chunk::<NONCE_LEN>().ok_or(SealError::Tampered)?;
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain =
            key.key.open_in_place(nonce, Aad::from(bound), &mut bytes).map_err(|_| SealError::Tampered)?;
        let length = plain.len();
        bytes.truncate(length);
        Ok(bytes)
    }
}

impl Key {
    fn new(id: &str, bytes: &[u8]) -> Result<Key, String> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).map_err(|_| format!("a key has {KEY} bytes"))?;
        Ok(Key { id: id.to_owned(), key: LessSafeKey::new(key) })
    }
}

/// Bytes that nobody can guess.
fn random<const BYTES: usize>() -> Result<[u8; BYTES], String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system has no randomness: {error}"))?;
    Ok(bytes)
}

/// Something sealed, and with which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    key: String,
    bytes: Vec<u8>,
}

/// The version of sealed bytes.
const VERSION: u8 = 1;
/// How texts begin.
const PREFIX: &str = "ptct1_";

impl Sealed {
    /// The id of the key that it is sealed with.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// As bytes: a version, the id of the key, and the rest.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 + self.key.len() + self.bytes.len());
        // Ids of keys have at most 32 bytes.
        bytes.extend([VERSION, self.key.len() as u8]);
        bytes.extend_from_slice(self.key.as_bytes());
        bytes.extend_from_slice(&self.bytes);
        bytes
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Sealed, SealError> {
        let [VERSION, length, rest @ ..] = bytes else { return Err(SealError::Unknown) };
        let (key, sealed) = rest.split_at_checked(usize::from(*length)).ok_or(SealError::Unknown)?;
        let key = std::str::from_utf8(key).map_err(|_| SealError::Unknown)?;
        Ok(Sealed { key: key.to_owned(), bytes: sealed.to_vec() })
    }

    /// As text that travels anywhere.
    pub fn to_text(&self) -> String {
        format!("{PREFIX}{}_{}", self.key, URL_SAFE_NO_PAD.encode(&self.bytes))
    }

    /// From text.
    pub fn from_text(text: &str) -> Result<Sealed, SealError> {
        let rest = text.trim().strip_prefix(PREFIX).ok_or(SealError::Unknown)?;
        let (key, sealed) = rest.split_once('_').ok_or(SealError::Unknown)?;
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| SealError::Tampered)?;
        Ok(Sealed { key: key.to_owned(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, byte: u8) -> String {
        format!("{id} {}\n", STANDARD.encode([byte; KEY]))
    }

    #[test]
    fn what_is_sealed_opens_with_its_key_and_what_it_is_bound_to() {
        let keys = Keys::parse(&line("k1", 1)).expect("a key");
        let sealed = keys.seal("here", b"secret").expect("it seals");
        assert_eq!(keys.open("here", &sealed).as_deref(), Ok(&b"secret"[..]));
        assert_eq!(keys.open("there", &sealed), Err(SealError::Tampered));
        let text = sealed.to_text();
        assert_eq!(Sealed::from_text(&text), Ok(sealed.clone()));
        assert_eq!(Sealed::from_bytes(&sealed.to_bytes()), Ok(sealed.clone()));
        let again = keys.seal("here", b"secret").expect("it seals");
        assert_ne!(again, sealed, "never the same twice");
        for at in 0..sealed.bytes.len() {
            let mut changed = sealed.clone();
            changed.bytes[at] ^= 1;
            assert_eq!(keys.open("here", &changed), Err(SealError::Tampered), "byte {at}");
        }
        for text in ["", "ptct1_", "ptct2_k1_AAAA", "ptct1_k1", "ptct1_k1_***"] {
            assert!(Sealed::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_change_and_old_ones_open_for_as_long_as_they_are_there() {
        let old = Keys::parse(&line("k1", 1)).expect("a key");
        let sealed = old.seal("x", b"a").expect("it seals");
        let both = Keys::parse(&format!("# the new one first\n{}{}", line("k2", 2), line("k1", 1)));
        let both = both.expect("two keys");
        assert_eq!(both.open("x", &sealed).as_deref(), Ok(&b"a"[..]));
        assert!(both.seal("x", b"a").expect("it seals").to_text().starts_with("ptct1_k2_"));
        let new = Keys::parse(&line("k2", 2)).expect("a key");
        assert_eq!(new.open("x", &sealed), Err(SealError::NoKey("k1".to_owned())));
        let other = Keys::parse(&line("k1", 3)).expect("a key");
        assert_eq!(other.open("x", &sealed), Err(SealError::Tampered));
    }

    #[test]
    fn files_of_keys_say_what_is_wrong() {
        let cases = [
            (String::new(), "there is no key"),
            ("k1".to_owned(), "line 1 has one word"),
            (format!("# x\nk_1 {}", STANDARD.encode([1; KEY])), "line 2 has an id with other signs"),
            ("k1 ???".to_owned(), "no Base64"),
            ("k1 AAAA".to_owned(), "another length"),
            (line("k1", 1) + &line("k1", 2), "line 2 has an id that is too long or there already"),
        ];
        for (text, expected) in cases {
            let error = Keys::parse(&text).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_file_is_made_once_and_only_its_owner_reads_it() {
        let folder = std::env::temp_dir().join(format!("ptc-keys-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("store.keys");
        let sealed = Keys::kept(&path).expect("it is made").seal("x", b"a").expect("it seals");
        assert_eq!(Keys::kept(&path).expect("it is there").open("x", &sealed).as_deref(), Ok(&b"a"[..]));
        let lost = folder.join("lost.keys");
        let keys = Keys::kept(&lost).expect("it is made");
        assert_eq!(keys.check_file(), Ok(()));
        std::fs::copy(&path, &lost).expect("another key is in its place");
        assert!(
            keys.check_file().expect_err("it is another key").contains("lost.keys does not have the key")
        );
        std::fs::remove_file(&lost).expect("it goes");
        assert!(keys.check_file().expect_err("it is gone").contains("lost.keys"));
        assert_eq!(Keys::random().expect("a key").check_file(), Ok(()), "there never was a file");
        let other = Keys::kept(&lost).expect("it is made").open("x", &sealed);
        assert_eq!(other, Err(SealError::NoKey(sealed.key.clone())), "a new key has an id of its own");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            // Keys that others could have put there open what they sealed.
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("it changes");
            assert!(Keys::kept(&path).expect_err("it is refused").contains("chmod 600"));
            Keys::load(&path).expect("a group may read keys that are named");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).expect("it changes");
            assert!(Keys::load(&path).expect_err("it is refused").contains("chmod 640"));
        }
        std::fs::remove_dir_all(&folder).expect("it goes");
    }
}
