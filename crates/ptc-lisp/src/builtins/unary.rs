//! Builtins of one argument that natives apply to plain values without a call.

use super::{BuiltinId, registry};
use crate::value::Value;

/// Which builtin it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Dec,
    Even,
    Identity,
    Inc,
    Neg,
    Nil,
    Not,
    Odd,
    Pos,
    Some,
    Zero,
}

impl Unary {
    /// Recognises a builtin.
    pub(super) fn of(id: BuiltinId) -> Option<Unary> {
        Some(match registry().get(id).name {
            "clojure.core/dec" => Unary::Dec,
            "clojure.core/even?" => Unary::Even,
            "clojure.core/identity" => Unary::Identity,
            "clojure.core/inc" => Unary::Inc,
            "clojure.core/neg?" => Unary::Neg,
            "clojure.core/nil?" => Unary::Nil,
            "clojure.core/not" => Unary::Not,
            "clojure.core/odd?" => Unary::Odd,
            "clojure.core/pos?" => Unary::Pos,
            "clojure.core/some?" => Unary::Some,
            "clojure.core/zero?" => Unary::Zero,
            _ => return None,
        })
    }

    /// Whether the result counts as true, where that takes no more than a look.
    #[inline(always)]
    pub(super) fn test(self, item: &Value) -> Option<bool> {
        Some(match (self, item) {
            (unary, Value::Int(int)) => unary.test_int(*int),
            (Unary::Nil, item) => item.is_nil(),
            (Unary::Some, item) => !item.is_nil(),
            (Unary::Not, item) => !item.truthy(),
            (Unary::Identity, item) => item.truthy(),
            _ => return None,
        })
    }

    /// The same for an integer, for which that is always so.
    #[inline(always)]
    pub(super) fn test_int(self, int: i64) -> bool {
        match self {
            Unary::Even => int & 1 == 0,
            Unary::Odd => int & 1 != 0,
            Unary::Zero => int == 0,
            Unary::Pos => int > 0,
            Unary::Neg => int < 0,
            Unary::Nil | Unary::Not => false,
            // All numbers count as true.
            Unary::Some | Unary::Identity | Unary::Inc | Unary::Dec => true,
        }
    }

    /// Keeps the integers for which the result's truth is `wanted`. One loop for each builtin: a choice for each
    /// integer costs as much as the test.
    pub(super) fn keep_ints(self, ints: &mut Vec<i64>, wanted: bool) {
        match self {
            Unary::Even => keep(ints, |int| (int & 1 == 0) == wanted),
            Unary::Odd => keep(ints, |int| (int & 1 != 0) == wanted),
            Unary::Zero => keep(ints, |int| (int == 0) == wanted),
            Unary::Pos => keep(ints, |int| (int > 0) == wanted),
            Unary::Neg => keep(ints, |int| (int < 0) == wanted),
            _ if self.test_int(0) != wanted => ints.clear(),
            _ => {}
        }
    }

    /// Puts results in the place of integers, if all of them are small integers.
    pub(super) fn change_ints(self, ints: &mut [i64]) -> bool {
        let (limit, change) = match self {
            Unary::Inc => (i64::MAX, 1),
            Unary::Dec => (i64::MIN, -1),
            _ => return false,
        };
        // Looked at first, so that both loops are without a way out and go over several at once.
        let fit = ints.iter().fold(true, |fit, int| fit & (*int != limit));
        if fit {
            ints.iter_mut().for_each(|int| *int += change);
        }
        fit
    }

    /// The result, where it takes no more than a look; the builtin knows the rest.
    #[inline(always)]
    pub(super) fn apply(self, item: &Value) -> Option<Value> {
        Some(match (self, item) {
            (Unary::Inc, Value::Int(int)) => Value::Int(int.checked_add(1)?),
            (Unary::Dec, Value::Int(int)) => Value::Int(int.checked_sub(1)?),
            (Unary::Identity, item) => item.clone(),
            (Unary::Inc | Unary::Dec, _) => return None,
            _ => Value::Bool(self.test(item)?),
        })
    }
}

/// Keeps the integers for which `holds`, without a jump that depends on them.
fn keep(ints: &mut Vec<i64>, holds: impl Fn(i64) -> bool) {
    let mut kept = 0;
    for at in 0..ints.len() {
        let int = ints[at];
        ints[kept] = int;
        kept += usize::from(holds(int));
    }
    ints.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::super::Run;
    use super::super::testing::heap;
    use super::*;

    #[test]
    fn every_shortcut_gives_what_the_builtin_gives() {
        let heap = &mut heap();
        let items = [Value::Nil, Value::Bool(true), Value::Bool(false), Value::str("a"), Value::Float(0.0)];
        let ints = [i64::MIN, -3, -2, -1, 0, 1, 2, i64::MAX].map(Value::Int);
        let mut compared = 0;
        for (id, entry) in registry().iter() {
            let Some(unary) = Unary::of(id) else { continue };
            let Run::Native(run) = entry.run else { panic!("{} is native", entry.name) };
            for item in items.iter().chain(&ints) {
                if let Some(value) = unary.apply(item) {
                    let called = run(heap, &mut [item.clone()]).map(|value| format!("{value:?}"));
                    assert_eq!(called.ok(), Some(format!("{value:?}")), "{} {item:?}", entry.name);
                    compared += 1;
                }
            }
        }
        assert!(compared > 80, "{compared}");
    }

    #[test]
    fn many_integers_give_what_each_gives() {
        let all = [i64::MIN, -3, -2, -1, 0, 1, 2, i64::MAX];
        for (id, _) in registry().iter() {
            let Some(unary) = Unary::of(id) else { continue };
            for wanted in [true, false] {
                let mut kept = all.to_vec();
                unary.keep_ints(&mut kept, wanted);
                let each: Vec<i64> = all.into_iter().filter(|int| unary.test_int(*int) == wanted).collect();
                assert_eq!(kept, each, "{unary:?} {wanted}");
            }
            for ints in [&all[..], &all[1..7], &all[..7], &all[1..]] {
                let mut changed = ints.to_vec();
                let each =
                    ints.iter().map(|int| unary.apply(&Value::Int(*int)).and_then(|value| value.as_i64()));
                match (unary.change_ints(&mut changed), each.collect::<Option<Vec<_>>>()) {
                    (true, each) => assert_eq!(Some(changed), each, "{unary:?}"),
                    (false, _) => assert_eq!(changed, ints, "{unary:?}"),
                }
            }
        }
    }
}
