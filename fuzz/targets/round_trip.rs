//! Any value, made from the bytes: its text reads back as the same value.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ptc_lisp::Limits;
use ptc_lisp::edn::value_of;
use ptc_lisp::heap::Heap;
use ptc_lisp::names::Names;
use ptc_lisp::reader::{ReadLimits, read_all};
use ptc_lisp::value::Value;
use ptc_lisp::value::equal::same_key;

/// Makes values out of bytes, a byte deciding what comes next.
struct Maker<'b> {
    bytes: &'b [u8],
    heap: Heap,
}

impl Maker<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    fn text(&mut self) -> String {
        let length = usize::from(self.byte() % 40).min(self.bytes.len());
        let (text, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    fn name(&mut self) -> String {
        let length = 1 + self.byte() % 6;
        let letters = b"abcxyz-_?!*+<>=.'#123";
        let tail: String =
            (0..length).map(|_| char::from(letters[usize::from(self.byte()) % letters.len()])).collect();
        format!("k{tail}")
    }

    fn value(&mut self, depth: usize) -> Value {
        let kinds = if depth == 0 { 8 } else { 13 };
        match self.byte() % kinds {
            0 => Value::Nil,
            1 => Value::Bool(self.byte() & 1 == 0),
            2 => Value::Int(self.word() as i64),
            3 => Value::Int(i64::from(self.byte())),
            4 => match f64::from_bits(self.word()) {
                // NaN is not equal to itself.
                float if float.is_nan() => Value::Float(0.5),
                float => Value::Float(float),
            },
            5 => Value::string(self.text()),
            6 => {
                let name = self.name();
                self.heap.keyword(&name)
            }
            7 => {
                let name = self.name();
                Value::Sym(self.heap.intern(&name))
            }
            8 => Value::vector(self.values(depth)),
            9 => Value::list(self.values(depth)),
            10 => Value::set_of(self.values(depth)),
            11 => {
                let keys = self.values(depth);
                Value::map_of(keys.into_iter().map(|key| (key, self.value(depth - 1))).collect::<Vec<_>>())
            }
            _ => {
                let big = format!("{}{}", 1 + self.byte() % 9, self.word()).repeat(2);
                Value::big(big.parse().expect("digits"))
            }
        }
    }

    fn values(&mut self, depth: usize) -> Vec<Value> {
        (0..self.byte() % 6).map(|_| self.value(depth - 1)).collect()
    }
}

fuzz_target!(|bytes: &[u8]| {
    let heap = Heap::new(Arc::new(Names::default()), Limits::default());
    let mut maker = Maker { bytes, heap };
    let value = maker.value(6);
    let text = maker.heap.readable(&value).expect("it can be written");
    let forms = read_all(&text, &ReadLimits::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let [form] = forms.as_slice() else { panic!("{text} is {} forms", forms.len()) };
    let back = value_of(form, &mut maker.heap).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(same_key(&value, &back), "{text}");
    assert_eq!(maker.heap.readable(&back).expect("it can be written"), text);
});
