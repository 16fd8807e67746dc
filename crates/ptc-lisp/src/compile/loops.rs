//! Loops: what `recur` jumps to, and loops that count.
//!
//! `(loop [i 0 …] (if (< i n) (recur (inc i) …) …))` counts. Its `recur` gets an instruction that adds, compares and
//! jumps behind the test at once; whatever that instruction is not for (the end of the loop, numbers that are no
//! small integers) goes the ordinary way, which stands behind it.

use super::{Builder, Result};
use crate::analyze::node::{Local, Node, NodeKind};
use crate::builtins::registry;
use crate::code::{Const, Op, Reg};

/// What `recur` jumps to.
#[derive(Clone)]
pub(super) struct Target {
    /// Where the loop begins.
    start: u32,
    /// The registers of its locals.
    registers: Vec<Reg>,
    /// The way through the test at the loop's beginning on which the code stands that is being made.
    pub(super) way: Option<Way>,
}

impl Target {
    /// A loop that begins at `start`.
    pub fn new(start: u32, registers: Vec<Reg>) -> Self {
        Target { start, registers, way: None }
    }
}

/// One of the two ways from the test of a loop.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Where it begins.
    start: u32,
    /// The test.
    test: Op,
    /// Whether it is the way of a test that holds.
    holds: bool,
}

impl Way {
    /// The instruction that adds `step` to `counter` and goes this way again.
    ///
    /// Tests for equality have none: they do not prove that the counter is a number, and then it would matter
    /// that it is counted after the other arguments of `recur` have been computed.
    fn count(self, counter: Reg, step: i8) -> Option<Op> {
        let below = |a, value| Op::CountBelowInt { a, step, value };
        let above = |a, value| Op::CountAboveInt { a, step, value };
        let op = match (self.test, self.holds) {
            (Op::IfLessInt { a, value }, true) | (Op::IfMoreEqInt { a, value }, false) => below(a, value),
            (Op::IfLessEqInt { a, value }, true) | (Op::IfMoreInt { a, value }, false) => {
                below(a, value.checked_add(1)?)
            }
            (Op::IfMoreInt { a, value }, true) | (Op::IfLessEqInt { a, value }, false) => above(a, value),
            (Op::IfMoreEqInt { a, value }, true) | (Op::IfLessInt { a, value }, false) => {
                above(a, value.checked_sub(1)?)
            }
            (Op::IfLess { a, b }, true) if a == counter => Op::CountBelow { a, b, step, equal: false },
            (Op::IfLess { a, b }, false) if a == counter => Op::CountAbove { a, b, step, equal: true },
            (Op::IfLess { a, b }, true) => Op::CountAbove { a: b, b: a, step, equal: false },
            (Op::IfLess { a, b }, false) => Op::CountBelow { a: b, b: a, step, equal: true },
            (Op::IfLessEq { a, b }, true) if a == counter => Op::CountBelow { a, b, step, equal: true },
            (Op::IfLessEq { a, b }, false) if a == counter => Op::CountAbove { a, b, step, equal: false },
            (Op::IfLessEq { a, b }, true) => Op::CountAbove { a: b, b: a, step, equal: true },
            (Op::IfLessEq { a, b }, false) => Op::CountBelow { a: b, b: a, step, equal: false },
            _ => return None,
        };
        let counted = match op {
            Op::CountBelowInt { a, .. } | Op::CountAboveInt { a, .. } => a == counter,
            Op::CountBelow { a, b, .. } | Op::CountAbove { a, b, .. } => a == counter && b != counter,
            _ => false,
        };
        counted.then_some(op)
    }
}

/// The local that a node adds a small constant to: `(inc i)`, `(+ i 2)`, `(- i 1)`.
pub(super) fn step(node: &Node) -> Option<(Local, i8)> {
    let NodeKind::Call(function, args) = &node.kind else { return None };
    let NodeKind::Builtin(id) = function.kind else { return None };
    let small = |node: &Node| match node.kind {
        NodeKind::Const(Const::Int(int)) => i8::try_from(int).ok(),
        _ => None,
    };
    let (counter, step) = match (registry().get(id).name, args.as_slice()) {
        ("clojure.core/inc", [counter]) => (counter, 1),
        ("clojure.core/dec", [counter]) => (counter, -1),
        ("clojure.core/+", [counter, step]) if small(step).is_some() => (counter, small(step)?),
        ("clojure.core/+", [step, counter]) => (counter, small(step)?),
        // Not for zero: -0.0 less zero is -0.0, but plus zero it is 0.0.
        ("clojure.core/-", [counter, step]) => {
            (counter, small(step)?.checked_neg().filter(|step| *step != 0)?)
        }
        _ => return None,
    };
    match counter.kind {
        NodeKind::Local(local, _) => Some((local, step)),
        _ => None,
    }
}

impl Builder<'_> {
    /// Begins a loop; returns the one around it.
    pub(super) fn enter_loop(&mut self, bindings: &[(Local, Node)]) -> Result<Target> {
        let registers = self.bindings(bindings)?;
        let start = self.here();
        Ok(std::mem::replace(&mut self.target, Target::new(start, registers)))
    }

    /// Begins one of the ways from a test whose jump is at `jump`; returns the way it is on.
    pub(super) fn enter_way(&mut self, jump: usize, holds: bool) -> Option<Way> {
        let outer = self.target.way;
        // Only if nothing but one comparison stands between the beginning of the loop and the jump.
        let start = self.target.start as usize;
        if jump == start + 1 {
            self.target.way = Some(Way { start: self.here(), test: self.ops[start], holds });
        }
        outer
    }

    /// The argument that counts, with its register and the instruction that counts.
    fn counter(&self, args: &[Node]) -> Option<(usize, Reg, i8, Op)> {
        let way = self.target.way?;
        args.iter().zip(&self.target.registers).enumerate().find_map(|(at, (arg, register))| {
            let (local, step) = step(arg)?;
            let own = self.register(local) == *register;
            own.then(|| way.count(*register, step)).flatten().map(|op| (at, *register, step, op))
        })
    }

    pub(super) fn recur(&mut self, args: &[Node]) -> Result {
        let mark = self.next;
        let Target { start, registers, way } = self.target.clone();
        let counter = self.counter(args);
        let counted = counter.map(|(at, ..)| at);
        let last = (0..args.len()).rev().find(|at| Some(*at) != counted);
        let mut moves = Vec::new();
        for (at, (arg, &register)) in args.iter().zip(&registers).enumerate() {
            // A local that stays what it is needs nothing, unless a later argument moves it away.
            if Some(at) == counted
                || matches!(arg.kind, NodeKind::Local(local, true) if self.register(local) == register)
            {
                continue;
            }
            // The last call can write to its register at once: it has read all it needs by then.
            if Some(at) == last && matches!(arg.kind, NodeKind::Call(..)) {
                self.expr(arg, register)?;
                continue;
            }
            let temp = self.alloc(1)?;
            self.expr(arg, temp)?;
            moves.push((register, temp));
        }
        for (dst, src) in moves {
            self.emit(Op::Move { dst, src });
        }
        if let (Some((at, a, step, count)), Some(way)) = (counter, way) {
            let outer = std::mem::replace(&mut self.span, args[at].span);
            self.emit(count);
            self.emit(Op::Jump { to: way.start });
            self.emit(Op::AddInt { dst: a, a, value: i16::from(step) });
            self.span = outer;
        }
        self.emit(Op::Jump { to: start });
        self.next = mark;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::builtins::trial::check;
    use crate::limits::Limits;
    use crate::machine::Machine;

    #[test]
    fn loops_that_count_give_what_loops_give() {
        // Every comparison, on both ways, up and down, against a constant and against a local.
        let test = |compare: &str, a: i32, b: i32| match compare {
            "<" => a < b,
            "<=" => a <= b,
            ">" => a > b,
            _ => a >= b,
        };
        let mut programs = Vec::new();
        for compare in ["<", "<=", ">", ">="] {
            for (from, step, limit) in [(0, 1, 7), (0, 3, 7), (7, -1, 0), (7, -3, 0), (0, 7, 7), (3, 1, 3)] {
                for (holds, turned) in [(true, false), (false, false), (true, true), (false, true)] {
                    let goes_on =
                        |i| if turned { test(compare, limit, i) } else { test(compare, i, limit) } == holds;
                    let (mut i, mut seen) = (from, Vec::new());
                    while goes_on(i) && seen.len() < 20 {
                        seen.push(i);
                        i += step;
                    }
                    if seen.len() == 20 {
                        continue;
                    }
                    for limit_name in [limit.to_string(), "n".to_owned()] {
                        let operands = if turned { ["n", "i"] } else { ["i", "n"] };
                        let operands = operands.map(|name| name.replace('n', &limit_name)).join(" ");
                        let next = format!("(recur (+ i {step}) (conj seen i))");
                        let ways = if holds { [next.as_str(), "seen"] } else { ["seen", next.as_str()] };
                        programs.push((
                            format!(
                                "(let [n {limit}] (loop [i {from} seen []] (if ({compare} {operands}) {} {})))",
                                ways[0], ways[1]
                            ),
                            format!("{seen:?}").replace(',', ""),
                        ));
                    }
                }
            }
        }
        let cases: Vec<(&str, &str)> =
            programs.iter().map(|(program, expected)| (program.as_str(), expected.as_str())).collect();
        assert!(cases.len() > 80, "{}", cases.len());
        check(&cases);
    }

    #[test]
    fn whatever_is_no_small_integer_counts_the_ordinary_way() {
        check(&[
            ("(loop [i 0.5 n 0] (if (< i 3) (recur (inc i) (+ n i)) [i n]))", "[3.5 4.5]"),
            ("(loop [i 0 n 3.5] (if (< i n) (recur (inc i) n) i))", "4"),
            (
                "(loop [i 9223372036854775805 s []] (if (< i 9223372036854775809) (recur (inc i) (conj s i)) (count s)))",
                "4",
            ),
            (
                "(loop [i 9223372036854775810 s []] (if (> i 9223372036854775805) (recur (dec i) (conj s i)) [i (last s)]))",
                "[9223372036854775805 9223372036854775806]",
            ),
            (
                "(loop [i 9223372036854775807] (if (> i 0) (recur (- i 9223372036854775806)) i))",
                "-9223372036854775805",
            ),
            ("(loop [i 0] (if (< i 3) (recur (- i -1)) i))", "3"),
            ("(loop [i 0 j 10] (if (< i j) (recur (inc i) (dec j)) [i j]))", "[5 5]"),
            (
                "(loop [i 0 j 0] (cond (>= i 4) [i j] (even? i) (recur (inc i) (+ j 10)) :else (recur (+ i 1) j)))",
                "[4 20]",
            ),
            ("(loop [i 0] (if (if (< i 3) (odd? i) true) i (recur (inc i))))", "1"),
            ("((fn [i acc] (if (< i 5) (recur (inc i) (* acc 2)) acc)) 0 1)", "32"),
            ("(loop [i 0] (when (< i 3) (let [x i] (if (= x 2) :two (recur (inc i))))))", ":two"),
            ("(loop [i 0 f nil] (if (< i 3) (recur (inc i) (fn [] i)) (f)))", "2"),
        ]);
    }

    #[test]
    fn what_fails_first_is_told() {
        check(&[
            (
                "(try (loop [i \"a\" acc 0] (if (= i 5) acc (recur (inc i) (+ acc :b)))) (catch Exception e (re-find #\"string|keyword\" (ex-message e))))",
                "\"string\"",
            ),
            ("(loop [i \"a\"] (if (< i 5) (recur (inc i)) i))", "error: type_error"),
        ]);
    }

    #[test]
    fn counting_stays_metered() {
        for (program, kind) in [
            ("(loop [i 0] (if (< i 4000000000) (recur (inc i)) i))", "fuel_exceeded"),
            ("(loop [i 0] (if (< i 1) (recur (+ i 0)) i))", "fuel_exceeded"),
        ] {
            check(&[(program, &format!("error: {kind}"))]);
        }
        let mut machine = Machine::new(Limits::default());
        machine.load("(loop [i 0] (if (< i 1000) (recur (inc i)) i))").expect("it compiles");
        machine.run(u64::MAX);
        assert!((1000..1020).contains(&machine.fuel_used()), "one for each turn: {}", machine.fuel_used());
    }
}
