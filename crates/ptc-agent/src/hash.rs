//! A hash that is the same in every process and version, for ids and cache keys. It keeps nobody out.

/// FNV-1a with 64 bits.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
