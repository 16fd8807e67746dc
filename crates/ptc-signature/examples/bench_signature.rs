//! How much validation costs, beside a clone of the same value.
//!
//! `cargo run --release -p ptc-signature --example bench_signature`
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ptc_signature::{Mode, Signature, Template, Type, mask};
use serde_json::{Value, json};

/// The largest signature of the specification.
const LARGEST: &str = "(query :string, options {limit :int?, sort :string?}) ->
{results [{id :int, score :float, metadata :map}], total :int}";

/// The best of several runs: what the work costs when nothing else disturbs it.
fn best(runs: usize, mut work: impl FnMut()) -> Duration {
    let timed = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..runs).map(|_| timed(&mut work)).min().unwrap_or_default()
}

fn rows(count: usize) -> Value {
    let row = |i: usize| {
        json!({
            "id": i, "name": format!("customer {i}"), "score": i as f64 / 7.0, "active": i.is_multiple_of(2),
            "status": if i.is_multiple_of(3) { "open" } else { "closed" }, "tags": ["a", "b"],
            "address": {"city": "Paris", "zip_code": "75001"},
        })
    };
    Value::Array((0..count).map(row).collect())
}

fn main() {
    let text = "[{id :int, name :string, score :float, active :bool, status :enum[open closed], tags [:string], \
                address {city :string, zip_code :string}, note :string?}]";
    let ty = Type::parse(text).expect("a type");
    let value = rows(10_000);
    let clone = best(20, || drop(black_box(black_box(&value).clone())));
    let ratio = |name: &str, time: Duration| {
        println!(
            "{name:<34} {:>9.3} ms   {:.2} x clone",
            time.as_secs_f64() * 1e3,
            time.as_secs_f64() / clone.as_secs_f64()
        );
    };
    println!("a list of 10,000 typed maps");
    ratio("clone", clone);
    ratio("validate", best(20, || assert!(ty.validate(black_box(&value), Mode::Enabled).is_ok())));
    ratio("validate, strict", best(20, || assert!(ty.validate(black_box(&value), Mode::Strict).is_ok())));
    ratio(
        "coerce (builds a new value)",
        best(20, || assert!(ty.coerce(black_box(&value), Mode::Enabled).is_ok())),
    );
    ratio("mask (builds a new value)", best(20, || drop(black_box(mask(black_box(&value))))));

    let each = |name: &str, work: &mut dyn FnMut()| {
        let time = best(20, || (0..1000).for_each(|_| work()));
        println!("{name:<34} {:>9.3} µs", time.as_secs_f64() * 1e3);
    };
    println!("single operations");
    let signature = Signature::parse(LARGEST).expect("a signature");
    each("parse the largest seed signature", &mut || drop(black_box(Signature::parse(black_box(LARGEST)))));
    each("render it", &mut || drop(black_box(signature.to_string())));
    each("its input schema", &mut || drop(black_box(signature.input_schema())));
    let call = json!({"query": "budget", "options": {"limit": "10"}});
    each("coerce a call", &mut || drop(black_box(signature.coerce_input(black_box(&call), Mode::Enabled))));
    each("parse a template", &mut || {
        drop(black_box(Template::parse("Find {{query}}: {{#options}}{{limit}}{{/options}}")))
    });
}
