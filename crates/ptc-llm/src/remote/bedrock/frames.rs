//! The binary stream of AWS: frames with a length, headers, a payload and two checksums.

use crate::remote::fault::{Class, Fault};

/// Bytes in front of the headers, and behind the payload.
const PRELUDE: usize = 12;
const TRAILER: usize = 4;

/// The longest frame that AWS sends.
const MAX_FRAME: usize = 16 << 20;

/// A frame.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Frame {
    /// What happened.
    pub(crate) event: String,
    /// What went wrong, if that is what the frame is about.
    pub(crate) exception: Option<String>,
    /// JSON.
    pub(crate) payload: Vec<u8>,
}

/// Puts bytes together until they are frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    waiting: Vec<u8>,
}

impl Frames {
    /// Takes bytes and gives every frame that they end.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Fault> {
        self.waiting.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut rest = self.waiting.as_slice();
        while let Some((frame, after)) = split(rest).map_err(|what| {
            Fault::new(Class::Malformed, format!("a frame of the reply is damaged: {what}"))
        })? {
            frames.push(frame);
            rest = after;
        }
        let read = self.waiting.len() - rest.len();
        self.waiting.drain(..read);
        Ok(frames)
    }
}

/// The first frame and what is behind it; `None` while it is not complete.
fn split(bytes: &[u8]) -> Result<Option<(Frame, &[u8])>, &'static str> {
    let (Some(total), Some(headers), Some(check)) = (number(bytes, 0), number(bytes, 4), number(bytes, 8))
    else {
        return Ok(None);
    };
    let (total, headers) = (total as usize, headers as usize);
    if crc32(&bytes[..8]) != check {
        return Err("its checksum is wrong");
    }
    if !(PRELUDE + TRAILER..=MAX_FRAME).contains(&total) || headers > total - PRELUDE - TRAILER {
        return Err("its length is wrong");
    }
    if bytes.len() < total {
        return Ok(None);
    }
    let (whole, after) = bytes.split_at(total);
    let (checked, _) = whole.split_at(total - TRAILER);
    if number(whole, total - TRAILER) != Some(crc32(checked)) {
        return Err("its checksum is wrong");
    }
    let (headers, payload) = checked[PRELUDE..].split_at(headers);
    let mut frame = Frame { payload: payload.to_vec(), ..Frame::default() };
    let mut rest = headers;
    while !rest.is_empty() {
        rest = header(rest, &mut frame).ok_or("its headers are wrong")?;
    }
    Ok(Some((frame, after)))
}

/// Reads one header; only those that are text matter.
fn header<'b>(bytes: &'b [u8], frame: &mut Frame) -> Option<&'b [u8]> {
    const TEXT: u8 = 7;
    let (length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let (kind, rest) = rest.split_first()?;
    // Lengths by kind: yes, no, numbers, bytes, text, a time, an id.
    let (length, rest) = match kind {
        0 | 1 => (0, rest),
        2 => (1, rest),
        3 => (2, rest),
        4 => (4, rest),
        5 | 8 => (8, rest),
        9 => (16, rest),
        6 | &TEXT => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    let text = || String::from_utf8_lossy(value).into_owned();
    match (name, *kind) {
        (b":event-type", TEXT) => frame.event = text(),
        (b":exception-type" | b":error-code", TEXT) => frame.exception = Some(text()),
        _ => {}
    }
    Some(rest)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

/// The checksum of zip files, which is that of frames.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_checksum_is_the_known_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_frames_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Frames::default().push(&bytes);
            // With a right beginning, more of them is read.
            let total = (bytes.len() + PRELUDE + TRAILER) as u32;
            let mut frame = [total.to_be_bytes(), (bytes.len() as u32 / 2).to_be_bytes()].concat();
            frame.extend(crc32(&frame).to_be_bytes());
            frame.extend(&bytes);
            frame.extend(crc32(&frame).to_be_bytes());
            let _ = Frames::default().push(&frame);
        }
    }
}
