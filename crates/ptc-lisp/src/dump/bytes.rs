//! Bytes out and bytes in: the few shapes everything else is written with.
//!
//! Integers take seven bits per byte, lowest first; signed ones are folded so that small magnitudes
//! stay short. Nothing here allocates by a length it has only read: [`In::count`] refuses a count that
//! the bytes that are left cannot hold.

use super::DumpError;

/// The result of reading.
pub(super) type Read<T = ()> = Result<T, DumpError>;

/// Bytes being written.
#[derive(Default)]
pub(super) struct Out {
    pub bytes: Vec<u8>,
}

impl Out {
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub fn int(&mut self, mut int: u64) {
        while int >= 0x80 {
            self.bytes.push(int as u8 | 0x80);
            int >>= 7;
        }
        self.bytes.push(int as u8);
    }

    pub fn size(&mut self, size: usize) {
        self.int(size as u64);
    }

    pub fn signed(&mut self, int: i64) {
        self.int(((int << 1) ^ (int >> 63)) as u64);
    }

    pub fn bool(&mut self, bool: bool) {
        self.byte(u8::from(bool));
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.size(text.len());
        self.raw(text.as_bytes());
    }

    /// Whether it is there, and then the thing.
    pub fn option<T>(&mut self, option: Option<T>, mut some: impl FnMut(&mut Self, T)) {
        self.bool(option.is_some());
        if let Some(thing) = option {
            some(self, thing);
        }
    }
}

/// Bytes being read.
pub(super) struct In<'b> {
    bytes: &'b [u8],
}

impl<'b> In<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        In { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> Read<u8> {
        let (&first, rest) = self.bytes.split_first().ok_or(DumpError::Truncated)?;
        self.bytes = rest;
        Ok(first)
    }

    pub fn int(&mut self) -> Read<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut int = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            int |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(int);
            }
        }
        Err(DumpError::damaged("an integer is too long"))
    }

    /// An integer that fits a smaller type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Read<T> {
        T::try_from(self.int()?).map_err(|_| DumpError::damaged("a number is too large"))
    }

    pub fn signed(&mut self) -> Read<i64> {
        let int = self.int()?;
        Ok((int >> 1) as i64 ^ -((int & 1) as i64))
    }

    /// A signed integer that fits a smaller type.
    pub fn small_signed<T: TryFrom<i64>>(&mut self) -> Read<T> {
        T::try_from(self.signed()?).map_err(|_| DumpError::damaged("a number is too large"))
    }

    pub fn bool(&mut self) -> Read<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DumpError::damaged("a flag is neither on nor off")),
        }
    }

    /// How many things of at least one byte each follow.
    pub fn count(&mut self) -> Read<usize> {
        let count = self.small::<usize>()?;
        self.holds(count)?;
        Ok(count)
    }

    /// Refuses to go on if fewer bytes follow than there must be.
    pub fn holds(&self, least: usize) -> Read<()> {
        if least > self.bytes.len() { Err(DumpError::Truncated) } else { Ok(()) }
    }

    pub fn raw(&mut self, count: usize) -> Read<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(DumpError::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let raw = self.raw(N)?;
        raw.try_into().map_err(|_| DumpError::Truncated)
    }

    pub fn text(&mut self) -> Read<&'b str> {
        let count = self.count()?;
        std::str::from_utf8(self.raw(count)?).map_err(|_| DumpError::damaged("a text is not UTF-8"))
    }

    pub fn string(&mut self) -> Read<String> {
        self.text().map(str::to_owned)
    }

    pub fn option<T>(&mut self, some: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.bool()? { some(self).map(Some) } else { Ok(None) }
    }

    /// A counted list.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.count()?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }
}

/// The checksum at the end: any change of a byte, and most damage, shows. It is no signature: a host
/// that stores dumps where others can write must sign them.
pub fn checksum(bytes: &[u8]) -> u64 {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| {
        let sum = (sum ^ word).wrapping_mul(SPREAD);
        sum ^ (sum >> 29)
    };
    let mut words = bytes.chunks_exact(8);
    let start = mix(SPREAD, bytes.len() as u64);
    let sum = words
        .by_ref()
        .fold(start, |sum, word| mix(sum, u64::from_le_bytes(word.try_into().unwrap_or_default())));
    words.remainder().iter().fold(sum, |sum, &byte| mix(sum, u64::from(byte) + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_read_back_and_small_ones_are_short() {
        for int in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Out::default();
            out.int(int);
            assert_eq!(In::new(&out.bytes).int(), Ok(int));
        }
        for (int, length) in [(0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (i64::MIN, 10), (i64::MAX, 10)] {
            let mut out = Out::default();
            out.signed(int);
            assert_eq!(In::new(&out.bytes).signed(), Ok(int));
            assert_eq!(out.bytes.len(), length, "{int}");
        }
    }

    #[test]
    fn counts_beyond_the_bytes_are_refused() {
        let mut out = Out::default();
        out.int(1 << 40);
        assert_eq!(In::new(&out.bytes).text(), Err(DumpError::Truncated));
        assert!(In::new(&[0xff; 20]).int().is_err());
    }

    #[test]
    fn the_checksum_sees_every_byte() {
        let bytes: Vec<u8> = (0..27).collect();
        let sum = checksum(&bytes);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(checksum(&changed), sum, "byte {at}");
        }
        assert_ne!(checksum(&bytes[..26]), sum);
    }
}
