//! Laws of reading and writing, over random values.

use proptest::prelude::*;

use super::{ReadOptions, Unwritable, WriteOptions, read, write};
use crate::builtins::testing::heap;
use crate::edn;
use crate::interchange::Keys;
use crate::names::Names;
use crate::reader::{ReadLimits, read_one};
use crate::value::Value;
use crate::value::equal::same_key;
use crate::value::print::pr_str;

/// Values that JSON can hold, with string keys.
fn values() -> impl Strategy<Value = PlainValue> {
    let leaf = prop_oneof![
        Just(PlainValue::Nil),
        any::<bool>().prop_map(PlainValue::Bool),
        any::<i64>().prop_map(PlainValue::Int),
        any::<i128>().prop_map(PlainValue::Big),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(PlainValue::Float),
        any::<String>().prop_map(PlainValue::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(PlainValue::Items),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(PlainValue::Members),
        ]
    })
}

/// A value without shared pointers, which the test runner can hand to another thread.
#[derive(Clone, Debug)]
enum PlainValue {
    Nil,
    Bool(bool),
    Int(i64),
    Big(i128),
    Float(f64),
    Text(String),
    Items(Vec<PlainValue>),
    Members(Vec<(String, PlainValue)>),
}

impl PlainValue {
    fn value(&self) -> Value {
        match self {
            PlainValue::Nil => Value::Nil,
            PlainValue::Bool(flag) => Value::Bool(*flag),
            PlainValue::Int(int) => Value::Int(*int),
            PlainValue::Big(int) => Value::big((*int).into()),
            PlainValue::Float(float) => Value::Float(*float),
            PlainValue::Text(text) => Value::str(text),
            PlainValue::Items(items) => Value::vector(items.iter().map(PlainValue::value).collect()),
            PlainValue::Members(members) => {
                let pairs = members.iter().map(|(key, value)| (Value::str(key), value.value()));
                Value::map_of(pairs)
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(plain in values(), pretty in any::<bool>()) {
        let value = plain.value();
        let mut names = Names::default();
        let options =
            WriteOptions { sorted: false, pretty, limit: usize::MAX, fuel: u64::MAX };
        let (text, _) = write(&value, &names, &options).expect("JSON can hold it");
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        let interrupt = crate::Interrupt::default();
        let options = ReadOptions { keys: Keys::Strings, room: usize::MAX, interrupt: &interrupt };
        let (back, _) = read(&text, &options, &mut names).expect("readable");
        prop_assert!(same_key(&back, &value), "{}", text);
    }

    /// One character may become six bytes, so a text that fits need not fit as JSON.
    #[test]
    fn what_is_written_keeps_to_its_limit(text in "[\\x01\\x1f\\n\"\\\\a]{1,200}", percent in 0..100_usize) {
        let names = Names::default();
        let (text, more) = (Value::str(&text), Value::Int(1));
        for value in [
            text.clone(),
            Value::vector(vec![more.clone(), text.clone()]),
            Value::map_of([(text.clone(), more)]),
            Value::map_of([(Value::str("k"), text)]),
        ] {
            let written = |limit| {
                let options =
                    WriteOptions { sorted: true, pretty: false, limit, fuel: u64::MAX };
                write(&value, &names, &options).map(|(text, _)| text)
            };
            let whole = written(usize::MAX).expect("there is room");
            prop_assert_eq!(written(whole.len()), Ok(whole.clone()));
            // What ends texts and collections is not waited for.
            const ENDS: usize = 3;
            let limit = whole.len() * percent / 100;
            match written(limit) {
                Ok(text) => prop_assert!(text.len() <= limit + ENDS, "{} bytes of {}", text.len(), limit),
                Err(stopped) => prop_assert_eq!(stopped, Unwritable::TooLong(0)),
            }
        }
    }

    #[test]
    fn what_is_not_json_for_another_reader_is_not_json_here(text in "[\\[\\]{}:,\"a0-9.eE+\\- \\\\nutrue]{0,12}") {
        let other = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        let interrupt = crate::Interrupt::default();
        let options = ReadOptions { keys: Keys::Strings, room: usize::MAX, interrupt: &interrupt };
        prop_assert_eq!(read(&text, &options, &mut Names::default()).is_ok(), other, "{}", text);
    }

    #[test]
    fn what_is_printed_reads_back(plain in values()) {
        let mut heap = heap();
        let value = plain.value();
        let text = pr_str(&value, &heap.names);
        let (form, _) = read_one(&text, &ReadLimits::default()).expect("readable").expect("a form");
        let back = edn::value_of(&form, &mut heap).expect("data");
        prop_assert!(same_key(&back, &value), "{}", text);
    }
}
