//! Making a changed dump look whole.

use ptc_lisp::dump::checksum;

/// The bytes with the right checksum at their end.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 8;
    let sum = checksum(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}
