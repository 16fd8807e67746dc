//! `Base64`, `URLEncoder` and `URLDecoder`.
//!
//! An encoder is a constant that says which alphabet it uses; bytes are vectors of integers, as
//! `.getBytes` gives them.

use super::super::java_lang::no_method;
use super::super::{Builtin, args, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, raise};
use crate::value::time::{Class, Constant};
use crate::value::{Time, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "Base64/getEncoder",
        "[]",
        |_, _| Ok(codec(0)),
        "Writes bytes as Base64.",
        &[(r#"(.encodeToString (Base64/getEncoder) (.getBytes "hello"))"#, r#""aGVsbG8=""#)],
    ),
    native(
        "Base64/getDecoder",
        "[]",
        |_, _| Ok(codec(1)),
        "Reads Base64.",
        &[(r#"(String. (.decode (Base64/getDecoder) "aGVsbG8="))"#, r#""hello""#)],
    ),
    native(
        "Base64/getUrlEncoder",
        "[]",
        |_, _| Ok(codec(2)),
        "Writes bytes as Base64 for URLs.",
        &[(r#"(.encodeToString (Base64/getUrlEncoder) (.getBytes "??>"))"#, r#""Pz8-""#)],
    ),
    native(
        "Base64/getUrlDecoder",
        "[]",
        |_, _| Ok(codec(3)),
        "Reads Base64 for URLs.",
        &[(r#"(String. (.decode (Base64/getUrlDecoder) "Pz8-"))"#, r#""??>""#)],
    ),
    native(
        ".withoutPadding",
        "[encoder]",
        without_padding,
        "The encoder without = signs at the end.",
        &[(r#"(.encodeToString (.withoutPadding (Base64/getEncoder)) (.getBytes "a"))"#, r#""YQ""#)],
    ),
    native(
        ".encodeToString",
        "[encoder bytes]",
        encode_to_string,
        "Bytes or a string as Base64 text.",
        &[(r#"(.encodeToString (Base64/getEncoder) (.getBytes "a"))"#, r#""YQ==""#)],
    ),
    native(
        ".decode",
        "[decoder text]",
        decode,
        "The bytes that Base64 text stands for, as a vector.",
        &[(r#"(.decode (Base64/getDecoder) "YWI=")"#, "[97 98]")],
    ),
    native(
        "URLEncoder/encode",
        "[text] [text charset]",
        url_encode,
        "A text as it stands in a URL's query.",
        &[(r#"(URLEncoder/encode "a b&c" "UTF-8")"#, r#""a+b%26c""#)],
    ),
    native(
        "URLDecoder/decode",
        "[text] [text charset]",
        url_decode,
        "The text that a part of a query stands for.",
        &[(r#"(URLDecoder/decode "a+b%26c" "UTF-8")"#, r#""a b&c""#)],
    ),
];

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Which Base64 a constant stands for.
#[derive(Clone, Copy)]
struct Codec {
    alphabet: &'static [u8; 64],
    encodes: bool,
    pads: bool,
}

fn codec(ordinal: u8) -> Value {
    Value::time(Time::constant(Class::Base64, ordinal))
}

/// The ordinal of an encoder or decoder, if it is one.
fn ordinal(args: &[Value]) -> Res<u8> {
    if let Value::Time(time) = &args[0]
        && let Time::Constant(Constant { class: Class::Base64, ordinal }) = **time
    {
        return Ok(ordinal);
    }
    Err(no_method(args, "a Base64 encoder or decoder"))
}

fn receiver(args: &[Value], encodes: bool) -> Res<Codec> {
    let ordinal = ordinal(args)?;
    let alphabet = if matches!(ordinal, 2 | 3 | 5) { FOR_URLS } else { STANDARD };
    let codec = Codec { alphabet, encodes: !matches!(ordinal, 1 | 3), pads: ordinal < 4 };
    if codec.encodes == encodes {
        return Ok(codec);
    }
    Err(no_method(args, if encodes { "a Base64 encoder" } else { "a Base64 decoder" }))
}

fn without_padding(_: &mut Heap, args: &mut [Value]) -> Res {
    receiver(args, true)?;
    Ok(codec(if matches!(ordinal(args)?, 2 | 5) { 5 } else { 4 }))
}

/// Bytes from a vector of integers or the UTF-8 of a string.
pub(in crate::builtins) fn bytes(heap: &mut Heap, args: &[Value], at: usize) -> Res<Vec<u8>> {
    if let Value::Str(text) = &args[at] {
        return Ok(text.as_bytes().to_vec());
    }
    let items = heap.collect(&args[at])?;
    let byte = |item: &Value| match item {
        Value::Int(int @ -128..=255) => Some(*int as u8),
        _ => None,
    };
    let found: Option<Vec<u8>> = items.iter().map(byte).collect();
    found.ok_or_else(|| args::wrong(args, at, "bytes (integers from -128 to 255) or a string").into())
}

fn encode_to_string(heap: &mut Heap, args: &mut [Value]) -> Res {
    let codec = receiver(args, true)?;
    let bytes = bytes(heap, args, 1)?;
    heap.work(1 + bytes.len() / 4)?;
    heap.reserve(bytes.len() / 3 * 4 + 4)?;
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sextet = (word >> (18 - 6 * place) & 63) as usize;
            if place <= chunk.len() {
                out.push(char::from(codec.alphabet[sextet]));
            } else if codec.pads {
                out.push('=');
            }
        }
    }
    Ok(out.into())
}

fn decode(heap: &mut Heap, args: &mut [Value]) -> Res {
    let codec = receiver(args, false)?;
    let text = bytes(heap, args, 1)?;
    heap.work(1 + text.len() / 4)?;
    heap.reserve(text.len() * 12)?;
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(&text);
    let mut out = Vec::with_capacity(body.len() / 4 * 3 + 3);
    for chunk in body.chunks(4) {
        let mut word = 0u32;
        for byte in chunk {
            match codec.alphabet.iter().position(|known| known == byte) {
                Some(sextet) => word = word << 6 | sextet as u32,
                None => return raise(ErrorKind::Format, format!("{} is not Base64", heap.brief(&args[1]))),
            }
        }
        if chunk.len() == 1 {
            return raise(ErrorKind::Format, format!("{} is cut off Base64", heap.brief(&args[1])));
        }
        word <<= 6 * (4 - chunk.len());
        let whole = [word >> 16, word >> 8, word].map(|byte| Value::Int(i64::from(byte as u8 as i8)));
        out.extend(whole.into_iter().take(chunk.len() - 1));
    }
    Ok(Value::vector(out))
}

fn url_encode(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = args::text(args, 0)?;
    heap.work(1 + text.len() / 4)?;
    heap.reserve(text.len() * 3)?;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(out.into())
}

fn url_decode(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = args::text(args, 0)?;
    heap.work(1 + text.len() / 4)?;
    heap.reserve(text.len())?;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => out.push(b' '),
            b'%' => {
                let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
                match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
                    Some(byte) => out.push(byte),
                    None => {
                        let message =
                            format!("{} has a % without two hexadecimal digits", heap.brief(&args[0]));
                        return Err(Error::new(ErrorKind::IllegalArgument, message).into());
                    }
                }
                rest = &after[2..];
            }
            byte => out.push(*byte),
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned().into())
}
