//! `java.security.MessageDigest`: fingerprints of bytes, such as SHA-256.
//!
//! A digest is a constant that names its algorithm: it holds no bytes, so there is no `.update`. Its bytes are 0 to 255,
//! because an integer here does not know that it is a byte, and `(format "%02x" b)` must have two digits.

use md5::Md5;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::super::java_lang::no_method;
use super::super::{Builtin, args, native};
use super::encodings::bytes;
use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Constant};
use crate::value::{Time, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "MessageDigest/getInstance",
        "[algorithm]",
        get_instance,
        "A digest for .digest: MD5, SHA-256, SHA-384 or SHA-512.",
        &[(r#"(str (MessageDigest/getInstance "SHA-256"))"#, r#""SHA-256""#)],
    ),
    native(
        ".digest",
        "[digest bytes]",
        digest,
        "The digest of bytes or of the UTF-8 of a string, as a vector of integers from 0 to 255.",
        &[(
            r#"(apply str (map #(format "%02x" %) (.digest (MessageDigest/getInstance "MD5") (.getBytes "a"))))"#,
            r#""0cc175b9c0f1b6a831c399e269772661""#,
        )],
    ),
];

fn get_instance(_: &mut Heap, args: &mut [Value]) -> Res {
    let name = args::text(args, 0)?.to_ascii_uppercase();
    match Class::MessageDigest.constant(&name) {
        Some(constant) => Ok(Value::time(Time::Constant(constant))),
        None => {
            let message = format!("there is no digest {}", excerpt(&name));
            let known = Class::MessageDigest.names().join(", ");
            Err(Error::new(ErrorKind::IllegalArgument, message).hint(format!("known are {known}")).into())
        }
    }
}

fn digest(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Time(time) = &args[0] else { return Err(no_method(args, RECEIVER)) };
    let Time::Constant(constant @ Constant { class: Class::MessageDigest, .. }) = **time else {
        return Err(no_method(args, RECEIVER));
    };
    let bytes = bytes(heap, args, 1)?;
    heap.work(1 + bytes.len() / 8)?;
    let found = match constant.name() {
        "MD5" => Md5::digest(&bytes).to_vec(),
        "SHA-384" => Sha384::digest(&bytes).to_vec(),
        "SHA-512" => Sha512::digest(&bytes).to_vec(),
        _ => Sha256::digest(&bytes).to_vec(),
    };
    heap.reserve_values(found.len())?;
    Ok(Value::vector(found.into_iter().map(|byte| Value::Int(i64::from(byte))).collect()))
}

/// What has the methods of this file.
const RECEIVER: &str = "a MessageDigest";
