//! Code that the verifier passes and refuses, rule by rule.

use super::*;
use crate::builtins::BuiltinId;
use crate::code::{Arity, Func, Residue};

/// A unit of one function without parameters, with three registers, two captures and one constant.
fn unit(ops: &[Op]) -> Unit {
    let arity = Arity { params: 0, variadic: false, registers: 3, entry: 0 };
    let func = Func { arities: vec![arity], captures: 2, ..Func::default() };
    let consts = vec![Const::Str("text".to_owned()), Const::Keyword("key".to_owned())];
    Unit { ops: ops.to_vec(), funcs: vec![func], consts, ..Unit::default() }
}

#[test]
fn good_code_passes_and_says_where_tries_are_open() {
    let ops = [
        Op::Try { dst: 0, to: 4 },
        Op::Call { dst: 0, f: 1, n: 1 },
        Op::EndTry {},
        Op::Jump { to: 4 },
        Op::Return { src: 0, residue: Residue(0) },
    ];
    let layout = verify(&unit(&ops)).expect("it is fine");
    assert_eq!([0, 1, 2, 3, 4].map(|pc| layout.open_tries(pc)), [0, 1, 1, 0, 0].map(Some));
    assert_eq!(layout.region(4).map(|region| region.registers), Some(3));
    assert_eq!(layout.region(5), None);
}

#[test]
fn bad_code_is_refused_with_a_reason() {
    let done = Op::Return { src: 0, residue: Residue(0) };
    let call = |dst, f, n| Op::CallBuiltin { dst, f, n, id: BuiltinId(0) };
    let cases: &[(&[Op], &str)] = &[
        (&[Op::Nil { dst: 3 }, done], "a register is outside of the frame"),
        (&[Op::Call { dst: 0, f: 1, n: 2 }, done], "a register is outside of the frame"),
        (&[Op::Map { dst: 0, first: 0, n: 2 }, done], "a register is outside of the frame"),
        (&[Op::Function { dst: 0, first: 2, func: 0 }, done], "a register is outside of the frame"),
        (&[Op::Function { dst: 0, first: 0, func: 1 }, done], "a function is missing"),
        (&[Op::Const { dst: 0, at: 2 }, done], "a constant is missing"),
        (&[Op::Global { dst: 0, at: 0 }, done], "the name of a definition is missing"),
        (&[Op::Capture { dst: 0, at: 2 }, done], "a captured value is missing"),
        (&[Op::Lookup { dst: 0, map: 0, key: 0 }, done], "a lookup is not by keyword"),
        (&[Op::History { dst: 0, nth: 0 }, done], "results are counted from one"),
        (&[Op::Jump { to: 2 }, done], "a jump leaves the function"),
        (&[Op::Nil { dst: 0 }, Op::JumpIf { src: 0, to: 0 }, done], "only plain jumps may go back"),
        (&[Op::Try { dst: 0, to: 0 }, Op::EndTry {}, done], "only plain jumps may go back"),
        (&[Op::Pipe { n: 1 }, done], "the calls of a pipe are missing"),
        (&[Op::Pipe { n: 1 }], "the calls of a pipe are missing"),
        (&[Op::Pipe { n: 0 }, done], "the calls of a pipe are missing"),
        (&[Op::Pipe { n: 2 }, call(2, 2, 0), call(0, 0, 1), done], "the calls of a pipe are missing"),
        (&[Op::Pipe { n: 1 }, call(0, 1, 1)], "the code runs off its end"),
        (&[Op::Fuse { n: 1 }, done], "the calls of a pipe are missing"),
        (&[Op::Fuse { n: 1 }, call(0, 1, 1), done], "the code runs off its end"),
        (&[Op::Nil { dst: 0 }], "the code runs off its end"),
        (&[Op::Next { dst: 0, walk: 1 }, done], "the code runs off its end"),
        (&[Op::Try { dst: 0, to: 1 }, done], "a try is open on one path and not on another"),
        (&[Op::CountBelowInt { a: 0, step: 1, value: 9 }, done, done], "a count has no jump after it"),
        (&[Op::EndTry {}, done], "no try is open"),
        (&[Op::Try { dst: 0, to: 2 }, done, done], "a try is left open"),
        (&[], "an arity has no code"),
    ];
    for (ops, what) in cases {
        assert_eq!(verify(&unit(ops)).map_err(|fault| fault.what), Err(*what), "{ops:?}");
    }
}

/// A unit like [`unit`] that also names a definition.
fn naming(ops: &[Op]) -> Unit {
    Unit { globals: vec!["f".to_owned()], ..unit(ops) }
}

/// The loop takes this jump without a look at the meters, so code that went back here would never end.
#[test]
fn the_jump_after_every_comparison_goes_forward() {
    let done = Op::Return { src: 0, residue: Residue(0) };
    let comparisons = [
        Op::IfLess { a: 0, b: 1 },
        Op::IfLessEq { a: 0, b: 1 },
        Op::IfEqual { a: 0, b: 1 },
        Op::IfLessInt { a: 0, value: 1 },
        Op::IfLessEqInt { a: 0, value: 1 },
        Op::IfMoreInt { a: 0, value: 1 },
        Op::IfMoreEqInt { a: 0, value: 1 },
        Op::IfEqualInt { a: 0, value: 1 },
    ];
    for op in comparisons {
        let refused = |ops: &[Op]| verify(&unit(ops)).map(drop).map_err(|fault| fault.what);
        assert_eq!(refused(&[Op::Nil { dst: 0 }, op, Op::Jump { to: 3 }, done]), Ok(()), "{op:?}");
        for to in [0, 1] {
            let back = [Op::Nil { dst: 0 }, op, Op::Jump { to }, done];
            assert_eq!(refused(&back), Err("only plain jumps may go back"), "{op:?} to {to}");
        }
        let outside = [op, Op::Jump { to: 9 }, done];
        assert_eq!(refused(&outside), Err("a jump leaves the function"), "{op:?}");
        assert_eq!(refused(&[op, done, done]), Err("a comparison has no jump after it"), "{op:?}");
    }
    let counts = [
        Op::CountBelowInt { a: 0, step: 1, value: 9 },
        Op::CountAboveInt { a: 0, step: -1, value: 9 },
        Op::CountBelow { a: 0, b: 1, step: 1, equal: true },
        Op::CountAbove { a: 0, b: 1, step: -1, equal: false },
    ];
    for op in counts {
        let back = [Op::Nil { dst: 0 }, op, Op::Jump { to: 1 }, done];
        assert!(verify(&unit(&back)).is_ok(), "the meters are looked at there: {op:?}");
        let outside = [op, Op::Jump { to: 9 }, done];
        let refused = verify(&unit(&outside)).map_err(|fault| fault.what);
        assert_eq!(refused, Err("a jump leaves the function"), "{op:?}");
    }
}

/// Registers of a called function are emptied after its result was handed over.
#[test]
fn the_result_of_every_call_goes_below_the_called_functions_registers() {
    let done = Op::Return { src: 0, residue: Residue(0) };
    let calls: [fn(u16, u16) -> Op; 3] = [
        |dst, f| Op::Call { dst, f, n: 0 },
        |dst, f| Op::CallBuiltin { dst, f, n: 0, id: BuiltinId(0) },
        |dst, f| Op::CallGlobal { dst, f, n: 0, at: 0 },
    ];
    for call in calls {
        for (dst, f, allowed) in [(0, 1, true), (1, 1, true), (2, 1, false), (1, 0, false)] {
            let op = call(dst, f);
            let refused = verify(&naming(&[op, done])).map(drop).map_err(|fault| fault.what);
            assert_eq!(refused, if allowed { Ok(()) } else { Err(INSIDE) }, "{op:?}");
        }
    }
    let unnamed = verify(&unit(&[Op::CallGlobal { dst: 0, f: 1, n: 0, at: 0 }, done]));
    assert_eq!(unnamed.map_err(|fault| fault.what), Err("the name of a definition is missing"));
}

/// Each instruction with one register too many; each register on its own.
#[test]
fn every_register_of_every_instruction_is_looked_at() {
    let done = Op::Return { src: 0, residue: Residue(0) };
    let jump = Op::Jump { to: 2 };
    let key = 1;
    let outside: &[&[Op]] = &[
        &[Op::Bool { dst: 3, value: true }, done],
        &[Op::Int { dst: 3, value: 1 }, done],
        &[Op::SelfFn { dst: 3 }, done],
        &[Op::Const { dst: 3, at: 0 }, done],
        &[Op::Data { dst: 3, at: 0 }, done],
        &[Op::Copy { dst: 3, src: 0 }, done],
        &[Op::Copy { dst: 0, src: 3 }, done],
        &[Op::Move { dst: 3, src: 0 }, done],
        &[Op::Move { dst: 0, src: 3 }, done],
        &[Op::Not { dst: 0, src: 3 }, done],
        &[Op::Walk { dst: 0, src: 3 }, done],
        &[Op::Capture { dst: 3, at: 0 }, done],
        &[Op::Sibling { dst: 3, func: 0 }, done],
        &[Op::SiblingOf { dst: 3, of: 0, func: 0 }, done],
        &[Op::SiblingOf { dst: 0, of: 3, func: 0 }, done],
        &[Op::Function { dst: 3, first: 0, func: 0 }, done],
        &[Op::Global { dst: 3, at: 0 }, done],
        &[Op::GlobalOrNil { dst: 3, at: 0 }, done],
        &[Op::HasGlobal { dst: 3, at: 0 }, done],
        &[Op::Define { src: 3, at: 0 }, done],
        &[Op::History { dst: 3, nth: 1 }, done],
        &[Op::JumpIfNot { src: 3, to: 1 }, done],
        &[Op::JumpIf { src: 3, to: 1 }, done],
        &[Op::JumpIfNil { src: 3, to: 1 }, done],
        &[Op::Try { dst: 3, to: 2 }, Op::EndTry {}, done],
        &[Op::CallBuiltin { dst: 0, f: 2, n: 1, id: BuiltinId(0) }, done],
        &[Op::CallGlobal { dst: 0, f: 2, n: 1, at: 0 }, done],
        &[Op::TailCall { f: 2, n: 1 }],
        &[Op::Return { src: 3, residue: Residue(0) }],
        &[Op::Throw { src: 3 }],
        &[Op::Unreduce { src: 3 }, done, done],
        &[Op::Add { dst: 3, a: 0, b: 0 }, done],
        &[Op::Add { dst: 0, a: 3, b: 0 }, done],
        &[Op::Add { dst: 0, a: 0, b: 3 }, done],
        &[Op::Equal { dst: 0, a: 0, b: 3 }, done],
        &[Op::AddInt { dst: 3, a: 0, value: 1 }, done],
        &[Op::AddInt { dst: 0, a: 3, value: 1 }, done],
        &[Op::IfLess { a: 3, b: 0 }, jump, done],
        &[Op::IfLess { a: 0, b: 3 }, jump, done],
        &[Op::IfEqualInt { a: 3, value: 1 }, jump, done],
        &[Op::CountBelowInt { a: 3, step: 1, value: 9 }, jump, done],
        &[Op::CountBelow { a: 0, b: 3, step: 1, equal: false }, jump, done],
        &[Op::Lookup { dst: 3, map: 0, key }, done],
        &[Op::Lookup { dst: 0, map: 3, key }, done],
        &[Op::Vector { dst: 3, first: 0, n: 0 }, done],
        &[Op::Vector { dst: 0, first: 1, n: 3 }, done],
        &[Op::Set { dst: 0, first: 1, n: 3 }, done],
        &[Op::Map { dst: 3, first: 0, n: 0 }, done],
        &[Op::Next { dst: 3, walk: 0 }, done, done],
        &[Op::Next { dst: 0, walk: 3 }, done, done],
        &[Op::TakeSlot { dst: 3, map: 0, key: 0 }, done],
        &[Op::TakeSlot { dst: 0, map: 3, key: 0 }, done],
        &[Op::TakeSlot { dst: 0, map: 0, key: 3 }, done],
        &[Op::Catches { dst: 3, src: 0, class: 0 }, done],
        &[Op::Catches { dst: 0, src: 3, class: 0 }, done],
    ];
    for ops in outside {
        let refused = verify(&naming(ops)).map(drop).map_err(|fault| fault.what);
        assert_eq!(refused, Err("a register is outside of the frame"), "{ops:?}");
    }
    let missing: &[(&[Op], &str)] = &[
        (&[Op::Data { dst: 0, at: 2 }, done], "a constant is missing"),
        (&[Op::Catches { dst: 0, src: 0, class: 2 }, done], "a constant is missing"),
        (&[Op::Define { src: 0, at: 1 }, done], "the name of a definition is missing"),
        (&[Op::HasGlobal { dst: 0, at: 1 }, done], "the name of a definition is missing"),
        (&[Op::CallGlobal { dst: 0, f: 1, n: 0, at: 1 }, done], "the name of a definition is missing"),
        (&[Op::Sibling { dst: 0, func: 1 }, done], "a function is missing"),
        (&[Op::SiblingOf { dst: 0, of: 0, func: 1 }, done], "a function is missing"),
        (&[Op::JumpIfNot { src: 0, to: 2 }, done], "a jump leaves the function"),
        (&[Op::TailCall { f: 0, n: 0 }, Op::Nil { dst: 0 }, done], ""),
        (&[Op::Try { dst: 0, to: 2 }, Op::TailCall { f: 0, n: 0 }, done], "a try is left open"),
        (&[Op::Unreduce { src: 0 }, done], "the code runs off its end"),
    ];
    for (ops, what) in missing {
        let refused = verify(&naming(ops)).map(drop).map_err(|fault| fault.what);
        assert_eq!(refused.err().unwrap_or_default(), *what, "{ops:?}");
    }
}

#[test]
fn parameters_fit_and_siblings_capture_alike() {
    let done = Op::Return { src: 0, residue: Residue(0) };
    for (params, variadic, fits) in [(3, false, true), (2, true, true), (3, true, false), (4, false, false)] {
        let mut unit = unit(&[done]);
        unit.funcs[0].arities[0] = Arity { params, variadic, registers: 3, entry: 0 };
        let refused = verify(&unit).map(drop).map_err(|fault| fault.what);
        let expected = if fits { Ok(()) } else { Err("the parameters do not fit into the registers") };
        assert_eq!(refused, expected, "{params} {variadic}");
    }
    let mut two = unit(&[Op::Sibling { dst: 0, func: 1 }, done, done]);
    let arity = Arity { params: 0, variadic: false, registers: 1, entry: 2 };
    two.funcs.push(Func { arities: vec![arity], captures: 1, ..Func::default() });
    let refused = verify(&two).map(drop).map_err(|fault| fault.what);
    assert_eq!(refused, Err("a sibling captures something else"));
    two.funcs[1].captures = 2;
    assert!(verify(&two).is_ok());
    two.ops[1] = Op::Jump { to: 2 };
    let refused = verify(&two).map(drop).map_err(|fault| fault.what);
    assert_eq!(refused, Err("a jump leaves the function"), "into the next function");
    two.funcs[0].arities[0].entry = 1;
    let refused = verify(&two).map(drop).map_err(|fault| fault.what);
    assert_eq!(refused, Err("the code belongs to no function"));
}
