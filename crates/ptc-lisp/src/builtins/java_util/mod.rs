//! `java.util`, and the few classes of `java.net` and `java.text` that data programs reach for: `UUID`,
//! `Date`, `Pattern`, `Base64`, `URLEncoder`, `SimpleDateFormat`.

mod dates;
mod encodings;
mod patterns;
mod uuids;

use super::Builtin;

pub(super) use dates::parse_legacy;

pub(super) static TABLES: &[&[Builtin]] = &[dates::TABLE, encodings::TABLE, patterns::TABLE, uuids::TABLE];
