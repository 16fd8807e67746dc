//! `java.util`, and the few classes of `java.net`, `java.security` and `java.text` that data programs reach for: `UUID`,
//! `Date`, `Pattern`, `Base64`, `URLEncoder`, `SimpleDateFormat`, `MessageDigest`, `Normalizer`.

mod dates;
mod digests;
mod encodings;
mod normalizing;
mod patterns;
mod uuids;

use super::Builtin;

pub(super) use dates::parse_legacy;
pub(super) use encodings::bytes;

pub(super) static TABLES: &[&[Builtin]] =
    &[dates::TABLE, digests::TABLE, encodings::TABLE, normalizing::TABLE, patterns::TABLE, uuids::TABLE];
