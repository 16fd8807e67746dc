//! Numbers that look random and are the same for the same seed.

/// A source of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The source of one schedule of a run.
    pub fn of(seed: u64, schedule: u64) -> Random {
        let mut source = Random(seed ^ schedule.wrapping_mul(0xd134_2543_de82_ef95));
        source.next();
        source
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another.
    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    /// A number from one to another.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        least + i64::try_from(self.below(u64::try_from(most - least + 1).unwrap_or(1))).unwrap_or_default()
    }

    /// Whether something happens that does so in so many of 1,000 cases.
    pub fn per_mille(&mut self, share: u32) -> bool {
        self.below(1_000) < u64::from(share)
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap_or_default()]
    }
}
