//! Throws mutated texts at every parser of the crate and checks what must always hold.
//!
//! `cargo run --release -p ptc-signature --example fuzz_signature -- --seconds 600`
//!
//! A panic ends the run; the text that caused it is printed first. The same seed gives the same run.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ptc_signature::{Mode, OnMissing, SchemaReader, Signature, Template, Type, mask};
use serde_json::{Value, json};

const CORPUS: &[&str] = &[
    "(query :string, limit :int?) -> {count :int, items [{id :int}]}",
    "{:id :int :name :string? :tags [:string]?}",
    "(page :int[>0], limit :int[1..100]) -> [{id :int}]!",
    "(status :enum[pending \"in progress\" 1 2.5 true]) -> :string|:int|[:any]?",
    "{_email_ids [:int], meta :map[:keyword {n :float[>=0 <1]}!], at :datetime, x :nil}",
    "-> :any ; comment\n",
    "[:=> [:catn [:q :string] [:n [:maybe :int]]] [:map {:closed true} [:k {:optional true} [:enum \"a\" :b 1]]]]",
    "[:=> [:cat] [:or :string [:and :int [:> 0] [:<= 10]] [:map-of :string [:vector :int]]]]",
    "Hi {{user.name}},\n{{#items}}\n- {{.}} {{! note }}\n{{/items}}\n{{^items}}none{{/items}}",
    r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"anyOf":[{"type":"null"},{"enum":[1,"x"]}]}},"$defs":{"x":{"type":"array","items":{"$ref":"#"}}},"required":["a"]}"##,
];

const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{{",
    "}}",
    "{{#",
    "{{/",
    "{{^",
    "{{.}}",
    "->",
    ":",
    ":int",
    ":string",
    ":enum[",
    ":map[",
    "?",
    "!",
    "|",
    "..",
    ">=",
    "<",
    "\"",
    "\\",
    "\\u{",
    ";",
    ",",
    " ",
    "\n",
    "é",
    "\u{0}",
    "𝄞",
    "-",
    "_",
    "nil",
    "true",
    "1e999",
    "99999999999999999999",
    "[:=>",
    "[:cat",
    "[:map ",
    "[:or ",
    "[:and ",
    "\"type\":",
    "\"$ref\":\"#\"",
    "\"allOf\":[",
    "null",
    "0.5",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n.max(1)
    }

    /// A character boundary of the text.
    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
    }
}

fn mutate(corpus: &[String], dice: &mut Dice) -> String {
    let mut text = corpus[dice.below(corpus.len())].clone();
    for _ in 0..=dice.below(4) {
        let (a, b) = (dice.place(&text), dice.place(&text));
        let (a, b) = (a.min(b), a.max(b));
        match dice.below(6) {
            0 => text.insert_str(a, TOKENS[dice.below(TOKENS.len())]),
            1 => text.replace_range(a..b, ""),
            2 => text.replace_range(a..b, TOKENS[dice.below(TOKENS.len())]),
            3 => {
                let other = &corpus[dice.below(corpus.len())];
                let from = dice.place(other);
                text.truncate(a);
                text.push_str(&other[from..]);
            }
            4 => {
                let piece = text[a..b].repeat(1 + dice.below(3));
                text.insert_str(b, &piece);
            }
            _ => {
                let token = TOKENS[dice.below(TOKENS.len())].repeat(1 + dice.below(400));
                text.insert_str(a, &token);
            }
        }
        if text.len() > 4000 {
            let end = (0..=4000).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
            text.truncate(end);
        }
    }
    text
}

/// Everything that must hold for any text; whether something could be read at all.
fn check(text: &str, values: &[Value]) -> bool {
    let mut read = false;
    if let Ok(signature) = Signature::parse(text) {
        read = true;
        let shown = signature.to_string();
        assert_eq!(Signature::parse(&shown).as_ref(), Ok(&signature), "{shown} reads back");
        for value in values {
            let valid = signature.validate_output(value, Mode::Enabled).is_ok();
            assert!(
                !valid || signature.output.coerce(value, Mode::Enabled).is_ok(),
                "valid values can be coerced"
            );
            let _ = signature.coerce_input(value, Mode::Strict).is_ok();
        }
        let schema = signature.output.to_json_schema();
        let _ = SchemaReader::lenient(&schema).ty(&schema).is_ok();
    }
    if let Ok(ty) = Type::parse_malli(text) {
        read = true;
        assert_eq!(Type::parse(&ty.to_string()).as_ref(), Ok(&ty), "{ty} reads back");
    }
    if let Ok(template) = Template::parse(text) {
        read |= text.contains("{{");
        for value in values {
            let _ = template.render(&mask(value), OnMissing::Keep).is_ok();
        }
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        read = true;
        let ty = Type::from_json_schema(&value).value;
        assert_eq!(Type::parse(&ty.to_string()).as_ref(), Ok(&ty), "{ty} reads back");
    }
    read
}

/// The number after `name` on the command line.
fn option(name: &str, default: u64) -> u64 {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|arg| arg == name);
    at.and_then(|i| args.get(i + 1)).and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let seconds = option("--seconds", 10);
    let mut dice = Dice(option("--seed", 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut corpus: Vec<String> = CORPUS.iter().map(|text| (*text).to_owned()).collect();
    let values = [
        json!({"a": 1, "_b": "x", "items": [{"id": "7"}]}),
        json!([1, "2", null, 2.5]),
        json!("2026-01-31T12:00:00+02:00"),
    ];
    let start = Instant::now();
    let (mut runs, mut read) = (0u64, 0u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..100 {
            let text = mutate(&corpus, &mut dice);
            let outcome = catch_unwind(AssertUnwindSafe(|| check(&text, &values)));
            let Ok(useful) = outcome else {
                println!("crash after {runs} runs on {text:?}");
                std::process::exit(1);
            };
            runs += 1;
            read += u64::from(useful);
            if useful && text.len() < 600 {
                match corpus.len() {
                    0..3000 => corpus.push(text),
                    n => corpus[CORPUS.len() + dice.below(n - CORPUS.len())] = text,
                }
            }
        }
    }
    println!("{runs} texts in {seconds} s, {read} of them readable, no crash");
}
