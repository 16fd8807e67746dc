//! Hashers: with a secret for keys that come from outside, without one for keys that the machine makes.
//!
//! Whoever chooses keys (names in programs, members of JSON, texts) could choose ones that collide, if the seed were
//! known; so it is drawn once per process. Nothing that a program or a host can see depends on it: tables keep
//! their order apart from hashes, and work is counted in keys, not in collisions.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::{FoldHasher, RandomState};

static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Hashes keys that outsiders choose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seeded;

impl BuildHasher for Seeded {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        SEED.build_hasher()
    }
}

/// Hashes addresses and numbers that the machine gives itself, and whatever must hash alike in every process.
pub(crate) type Unseeded = foldhash::fast::FixedState;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use crate::value::hash::hash_key;

    /// How many different hashes keys have, of which tables keep 32 bits.
    fn different(keys: impl Iterator<Item = Value>) -> (usize, usize) {
        let mut hashes: Vec<u32> = keys.map(|key| (hash_key(&key, &Seeded) >> 32) as u32).collect();
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        (hashes.len(), count)
    }

    /// 56 bytes of which all collide under the seed 0x9e3779b9 of a hasher without a secret.
    fn collides(number: u64) -> String {
        let mut key = *b"k-------\x1f9\\.(n\x7fn----------------------------------------";
        key[48..].copy_from_slice(format!("{number:08}").as_bytes());
        String::from_utf8_lossy(&key).into_owned()
    }

    #[test]
    fn keys_that_were_made_to_collide_do_not() {
        const COUNT: i64 = 10_000;
        let known: Vec<u64> =
            (0..4).map(|n| Unseeded::with_seed(0x9e37_79b9).hash_one(&*collides(n))).collect();
        assert!(known.iter().all(|hash| *hash == known[0]), "with that seed they do");
        type Key = Box<dyn Fn(i64) -> Value>;
        let kinds: [(&str, Key); 8] = [
            ("texts", Box::new(|n| Value::string(collides(n.cast_unsigned())))),
            ("short texts", Box::new(|n| Value::str(format!("{n:08}")))),
            ("integers", Box::new(Value::Int)),
            ("integers without low bits", Box::new(|n| Value::Int(n << 32))),
            ("integers with high bits only", Box::new(|n| Value::Int(n << 50))),
            ("floats", Box::new(|n| Value::Float(n as f64))),
            ("floats without low bits", Box::new(|n| Value::Float(f64::from_bits(n.cast_unsigned() << 40)))),
            ("vectors", Box::new(|n| Value::vector(vec![Value::Int(n << 40), Value::Nil]))),
        ];
        for (kind, key) in kinds {
            let (different, count) = different((0..COUNT).map(key));
            // Among ten thousand hashes of 32 bits one pair in a hundred tables is alike by chance.
            assert!(different + count / 10 >= count, "{kind}: {different} hashes of {count} keys");
        }
    }
}
