//! Maps against a list of pairs, and what they promise about memory.

use std::rc::Rc;

use proptest::prelude::*;

use super::*;

fn numbers(count: i64) -> Map {
    (0..count).map(|n| (Value::Int(n), Value::Int(n * 10))).collect()
}

fn layout_of(count: i64) -> Shared<Layout> {
    Rc::new(Layout::of((0..count).map(Value::Int).collect()))
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Int(0), |inner, _| Value::vector(vec![inner]))
}

#[test]
fn a_row_takes_a_header_and_its_values() {
    assert_eq!((size_of::<Map>(), size_of::<Option<Map>>()), (8, 8));
    for count in 0..=16 {
        let row = Map::row(layout_of(count), (0..count).map(Value::Int)).expect("a value for each key");
        let header = row.header();
        assert_eq!(
            block(header.room, header.flags & EXTRA != 0).size(),
            size_of::<Header>() + 16 * count as usize
        );
    }
}

#[test]
fn a_row_needs_a_value_for_each_key_and_drops_what_it_does_not_take() {
    let text = Value::str("a text that is too long to stand in a value");
    let Value::Str(crate::value::Text::Long(counted)) = &text else { panic!("a long text") };
    for count in [0, 1, 2, 4, 9] {
        assert!(Map::row(layout_of(3), vec![text.clone(); count]).is_none());
        assert_eq!(Rc::strong_count(counted), 1);
    }
    let failing = (0..3).map(|n| if n < 2 { Ok(text.clone()) } else { Err("late") });
    assert_eq!(Map::try_row(layout_of(3), failing).map(|_| ()), Err("late"));
    assert_eq!(Rc::strong_count(counted), 1);
    let row = Map::row(layout_of(3), vec![text.clone(); 3]).expect("three values");
    assert_eq!(Rc::strong_count(counted), 4);
    drop((row.clone(), row));
    assert_eq!(Rc::strong_count(counted), 1);
}

#[test]
fn a_row_takes_the_last_values_of_a_stack() {
    let text = Value::str("a text that is too long to stand in a value");
    let Value::Str(crate::value::Text::Long(counted)) = &text else { panic!("a long text") };
    let mut stack = vec![Value::Int(1), text.clone(), nested(3)];
    assert!(Map::row_of_last(layout_of(4), &mut stack).is_none());
    assert_eq!(stack.len(), 3);
    let row = Map::row_of_last(layout_of(2), &mut stack).expect("two values");
    assert_eq!((stack.len(), row.len(), row.shape().depth), (1, 2, 4));
    assert_eq!(row.get(&Value::Int(0)).and_then(Value::as_str), text.as_str());
    assert_eq!(Rc::strong_count(counted), 2);
    drop(row);
    assert_eq!(Rc::strong_count(counted), 1);
    assert!(Map::row_of_last(layout_of(0), &mut stack).is_some_and(|row| row.is_empty()));
}

#[test]
fn keys_with_holes_make_no_row() {
    let mut map = numbers(30);
    map.remove(&Value::Int(3));
    let holed = map.layout().expect("keys").clone();
    assert_eq!((holed.slots(), holed.len()), (30, 29));
    assert!(Map::row(holed.clone(), (0..30).map(Value::Int)).is_none());
    assert!(Map::row(holed.clone(), (0..29).map(Value::Int)).is_none());
    assert!(Map::row_of_last(holed, &mut (0..30).map(Value::Int).collect()).is_none());
}

#[test]
fn a_map_that_others_have_is_copied_and_an_own_one_is_not() {
    let mut map = numbers(5);
    let before = map.address();
    map.insert(Value::Int(2), Value::Nil);
    assert_eq!(map.address(), before);
    let kept = map.clone();
    assert_eq!((map.owners(), map.is_own(), map.is(&kept)), (2, false, true));
    assert!(map.own_slot(&Value::Int(2)).is_none());
    map.insert(Value::Int(2), Value::Int(7));
    assert!(map.is_own() && kept.is_own() && !map.is(&kept));
    assert!(matches!(kept.get(&Value::Int(2)), Some(Value::Nil)));
    assert!(matches!(map.own_slot(&Value::Int(2)), Some(Value::Int(7))));
}

#[test]
fn rows_that_change_alike_share_their_keys_again() {
    let row = numbers(5);
    let mut rows: Vec<Map> = (0..10).map(|_| row.entries_only()).collect();
    for row in &mut rows {
        row.insert(Value::str("a"), Value::Int(1));
        row.insert(Value::str("b"), Value::Int(2));
        row.remove(&Value::Int(2));
    }
    let layout = rows[0].layout().expect("keys").clone();
    assert!(rows.iter().all(|row| row.layout().is_some_and(|other| Rc::ptr_eq(&layout, other))));
}

#[test]
fn equal_keys_are_taken_over_and_others_are_not() {
    let mut map = Map::with_capacity(9);
    (0..3).for_each(|n| drop(map.insert(Value::Int(n), Value::Int(n))));
    map.share_keys(&layout_of(4));
    assert_eq!((map.len(), map.header().room.places()), (3, 3));
    let layout = layout_of(3);
    map.share_keys(&layout);
    assert!(map.layout().is_some_and(|own| Rc::ptr_eq(own, &layout)));
    assert!(matches!(map.get(&Value::Int(2)), Some(Value::Int(2))));
}

#[test]
fn a_hint_is_only_a_hint() {
    let map = numbers(20);
    let mut hint = 99;
    assert!(matches!(map.get_near(&Value::Int(7), &mut hint), Some(Value::Int(70))));
    assert_eq!(hint, 7);
    assert!(matches!(map.get_near(&Value::Int(9), &mut hint), Some(Value::Int(90))));
    assert!(map.get_near(&Value::Int(20), &mut hint).is_none());
}

#[test]
fn the_shape_follows_what_is_put_in() {
    let mut map = Map::default();
    assert_eq!(map.shape(), Shape::EMPTY);
    map.insert(Value::Int(1), nested(3));
    assert_eq!(map.shape().depth, 4);
    map.insert(nested(7), Value::Nil);
    assert_eq!(map.shape().depth, 8);
    map.set_meta(Some(nested(9).into()));
    assert_eq!(map.shape().depth, 10);
    map.change(&Value::Int(1), |value| *value = nested(20));
    map.change(&Value::Int(2), |value| *value = nested(21));
    assert_eq!(map.shape().depth, 22);
    assert_eq!(map.remove(&Value::Int(2)).map(|(_, value)| value.shape().depth), Some(21));
    assert_eq!(map.entries_only().shape().depth, 21);
    let row = Map::row(layout_of(2), [nested(4), nested(2)]).expect("two values");
    assert_eq!(row.shape().depth, 5);
    let table: Table<Value> = [(nested(6), Value::Nil)].into_iter().collect();
    assert_eq!(Map::from(table).shape().depth, 7);
}

#[test]
fn room_follows_the_number_of_entries_both_ways() {
    let most = if cfg!(miri) { 100 } else { 2000 };
    let mut map = Map::default();
    for n in 0..most {
        map.insert(Value::Int(n), Value::Nil);
        assert!(map.header().room.places() <= 2 * map.count() + 2);
    }
    for n in 0..most {
        map.remove(&Value::Int(n));
        assert!(map.header().room.places() <= 4 * map.count() + 8);
    }
    assert!(map.is_empty());
}

#[test]
fn deep_maps_are_dropped() {
    let deep = (0..1000).fold(Value::Nil, |inner, n| Value::map_of([(Value::Int(n), inner)]));
    assert_eq!(deep.shape().depth, 1000);
}

/// What a test does to one of a few maps.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u8),
    Remove(u8),
    Change(u8, u8),
    Own(u8),
    /// The map becomes another owner of a second one.
    Share(usize),
    Copy(usize),
    Meta(Option<u8>),
    Record(Option<u8>),
    Fit,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    // Few keys, so that most are met again; more than 8, so that indexes and holes come up.
    let key = 0..40_u8;
    let step = prop_oneof![
        12 => (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
        8 => key.clone().prop_map(Step::Remove),
        2 => (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::Change(key, value)),
        2 => key.prop_map(Step::Own),
        3 => (0..MAPS).prop_map(Step::Share),
        1 => (0..MAPS).prop_map(Step::Copy),
        1 => any::<Option<u8>>().prop_map(Step::Meta),
        1 => any::<Option<u8>>().prop_map(Step::Record),
        1 => Just(Step::Fit),
        1 => Just(Step::Clear),
    ];
    proptest::collection::vec((0..MAPS, step), 1..if cfg!(miri) { 60 } else { 300 })
}

const MAPS: usize = 3;

/// What a map is meant to be.
#[derive(Clone, Debug, Default)]
struct Model {
    pairs: Vec<(u8, u8)>,
    meta: Option<u8>,
    record: Option<u8>,
}

impl Model {
    fn set(&mut self, key: u8, value: u8) {
        match self.pairs.iter_mut().find(|(known, _)| *known == key) {
            Some(pair) => pair.1 = value,
            None => self.pairs.push((key, value)),
        }
    }
}

/// A value that is counted, so that a wrong count shows.
fn text(number: u8) -> Value {
    Value::string(format!("the text of the number {number}, which no value has room for"))
}

/// Keys of all sorts: plain ones, texts and collections.
fn key(number: u8) -> Value {
    match number % 3 {
        0 => Value::Int(i64::from(number)),
        1 => Value::str(number.to_string()),
        _ => Value::vector(vec![Value::Int(i64::from(number))]),
    }
}

fn take_step(maps: &mut [Map; MAPS], models: &mut [Model; MAPS], at: usize, step: Step) {
    match step {
        Step::Insert(number, value) => {
            let old = models[at].pairs.iter().find(|(key, _)| *key == number).map(|(_, value)| text(*value));
            let replaced = maps[at].insert(key(number), text(value));
            assert_eq!(replaced.as_ref().and_then(Value::as_str), old.as_ref().and_then(Value::as_str));
            models[at].set(number, value);
        }
        Step::Remove(number) => {
            let known = models[at].pairs.iter().position(|(key, _)| *key == number);
            assert_eq!(maps[at].remove(&key(number)).is_some(), known.is_some());
            known.map(|known| models[at].pairs.remove(known));
        }
        Step::Change(number, value) => {
            maps[at].change(&key(number), |slot| *slot = text(value));
            models[at].set(number, value);
        }
        Step::Own(number) => {
            if let Some(slot) = maps[at].own_slot(&key(number)) {
                *slot = text(0);
                models[at].set(number, 0);
            }
        }
        Step::Share(other) => {
            maps[at] = maps[other].clone();
            models[at] = models[other].clone();
        }
        Step::Copy(other) => {
            maps[at] = maps[other].entries_only();
            models[at] = Model { pairs: models[other].pairs.clone(), ..Model::default() };
        }
        Step::Meta(meta) => {
            maps[at].set_meta(meta.map(|meta| text(meta).into()));
            models[at].meta = meta;
        }
        Step::Record(record) => {
            maps[at].set_record(record.map(|record| Name(u32::from(record))));
            models[at].record = record;
        }
        Step::Fit => {
            let layout = maps[at].layout().cloned();
            layout.iter().for_each(|layout| maps[at].share_keys(layout));
        }
        Step::Clear => {
            maps[at] = Map::default();
            models[at] = Model::default();
        }
    }
}

fn check(map: &Map, model: &Model) {
    assert_eq!(map.len(), model.pairs.len());
    let shown: Vec<String> = map.iter().map(|(key, value)| format!("{key:?} {value:?}")).collect();
    let meant: Vec<String> =
        model.pairs.iter().map(|(name, value)| format!("{:?} {:?}", key(*name), text(*value))).collect();
    assert_eq!(shown, meant);
    for number in 0..40 {
        let meant = model.pairs.iter().find(|(key, _)| *key == number).map(|(_, value)| text(*value));
        assert_eq!(map.get(&key(number)).and_then(Value::as_str), meant.as_ref().and_then(Value::as_str));
    }
    let (mut at, mut walked) = (0, 0);
    while let Some((_, next)) = map.slot_from(at) {
        at = next;
        walked += 1;
    }
    assert_eq!(walked, model.pairs.len());
    assert_eq!(map.record(), model.record.map(|record| Name(u32::from(record))));
    let meta = model.meta.map(text);
    assert_eq!(map.meta().as_deref().and_then(Value::as_str), meta.as_ref().and_then(Value::as_str));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn maps_are_what_a_list_of_pairs_is(steps in steps()) {
        let mut maps = [(); MAPS].map(|()| Map::default());
        let mut models = [(); MAPS].map(|()| Model::default());
        for (at, step) in steps {
            take_step(&mut maps, &mut models, at, step);
            let owners = |map: &Map| maps.iter().filter(|other| other.is(map)).count();
            for (map, model) in maps.iter().zip(&models) {
                check(map, model);
                prop_assert_eq!(map.owners(), owners(map));
            }
        }
    }
}
