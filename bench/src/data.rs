//! Inputs of the workloads: made from a fixed seed, so that every run and every engine sees the same.

use std::collections::BTreeSet;
use std::fmt::Write;

/// One input of a program.
#[derive(Clone, Debug)]
pub enum Input {
    /// A number.
    Int(i64),
    /// A text.
    Text(String),
    /// A value, as JSON text.
    Json(String),
}

/// Inputs by name.
pub type Inputs = Vec<(&'static str, Input)>;

/// A small generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len() as u64) as usize]
    }

    /// An amount of money with two digits, never whole, so that every engine reads a float.
    fn amount(&mut self) -> String {
        format!("{}.{:02}", self.below(500), 1 + self.below(99))
    }
}

const REGIONS: &[&str] =
    &["north", "south", "east", "west", "north-east", "north-west", "south-east", "south-west"];
const STATES: &[&str] = &["new", "paid", "shipped", "cancelled"];
const SYLLABLES: &[&str] = &["ba", "ko", "ri", "te", "mu", "sa", "lo", "ne", "pi", "du", "ga", "ve"];

/// `count` objects as a JSON array.
fn array(count: usize, mut object: impl FnMut(usize) -> String) -> String {
    let objects: Vec<String> = (0..count).map(|i| format!("{{{}}}", object(i))).collect();
    format!("[{}]", objects.join(", "))
}

/// Orders with a region, an amount, a state and a customer.
pub fn orders(count: usize) -> String {
    let random = &mut Random(42);
    array(count, |id| {
        let (region, amount, status) = (random.pick(REGIONS), random.amount(), random.pick(STATES));
        let (customer, name) = (random.below(5000), random.below(5000));
        format!(
            r#""id": {id}, "region": "{region}", "amount": {amount}, "status": "{status}", "customer": {{"id": {customer}, "name": "Customer {name}"}}"#
        )
    })
}

/// Lines of twelve words, some of them capitalised; frequent words are much more frequent.
pub fn text(bytes: usize) -> String {
    let random = &mut Random(7);
    let mut words = BTreeSet::new();
    while words.len() < 5000 {
        let syllables = 1 + random.below(4);
        words.insert((0..syllables).map(|_| random.pick(SYLLABLES)).collect::<String>());
    }
    let mut words: Vec<String> = words.into_iter().collect();
    for i in (1..words.len()).rev() {
        words.swap(i, random.below(i as u64 + 1) as usize);
    }
    let mut out = String::with_capacity(bytes + 200);
    while out.len() < bytes {
        for place in 0..12 {
            // The word of rank r is about 1/r as frequent as the first.
            let rank = (words.len() as f64).powf(random.unit()) as usize - 1;
            let word = &words[rank];
            let word = match random.below(20) {
                0 => word.to_uppercase(),
                1..=3 => word[..1].to_uppercase() + &word[1..],
                _ => word.clone(),
            };
            out += if place == 0 { "" } else { " " };
            out += &word;
        }
        out.push('\n');
    }
    out
}

/// Contact lines as people type them: stray blanks, mixed case, separators of all kinds.
pub fn contacts(count: usize) -> String {
    let random = &mut Random(11);
    let mut lines = Vec::with_capacity(count);
    for _ in 0..count {
        let mut word = |upper: bool| {
            let word: String = (0..2 + random.below(2)).map(|_| random.pick(SYLLABLES)).collect();
            if upper { word.to_uppercase() } else { word }
        };
        let (first, last, host) = (word(true), word(false), word(true));
        let blanks = " ".repeat(1 + random.below(3) as usize);
        lines.push(format!("\"{blanks}{first}{blanks}{last} ;{blanks}{last}@{host}.Example{blanks}\""));
    }
    format!("[{}]", lines.join(", "))
}

/// The two tables of the join: customers, and orders that name one of them.
pub fn tables(count: usize) -> Inputs {
    let random = &mut Random(13);
    let customers = array(count, |id| format!(r#""id": {id}, "name": "Customer {id}", "tier": {}"#, id % 5));
    let bought = array(count, |id| {
        format!(r#""id": {id}, "customer_id": {}, "amount": {}"#, random.below(count as u64), random.amount())
    });
    vec![("customers", Input::Json(customers)), ("purchases", Input::Json(bought))]
}

/// Changes to a nested document: a path of three keys and a number each.
pub fn changes(count: usize) -> String {
    let random = &mut Random(17);
    array(count, |_| {
        let mut out = String::new();
        for (name, end) in [("a", 10), ("b", 10), ("c", 10), ("by", 100)] {
            let comma = if name == "a" { "" } else { ", " };
            match name {
                "by" => write!(out, r#"{comma}"{name}": {}"#, random.below(end)),
                _ => write!(out, r#"{comma}"{name}": "{name}{}""#, random.below(end)),
            }
            .expect("a string takes any text");
        }
        out
    })
}

/// Dates as ISO text.
pub fn dates(count: usize) -> String {
    let random = &mut Random(19);
    let date = |random: &mut Random| {
        format!("\"{}-{:02}-{:02}\"", 2000 + random.below(30), 1 + random.below(12), 1 + random.below(28))
    };
    let dates: Vec<String> = (0..count).map(|_| date(random)).collect();
    format!("[{}]", dates.join(", "))
}
