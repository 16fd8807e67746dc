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
}
