//! From sources to the artifact: outline, references, code, exports, constants, hashes, in this order.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;

use super::export::{self, Kind};
use super::outline::{Body, Draft, Outline, outline};
use super::problem::{Problem, Reason};
use super::trace::Component;
use super::{Code, Definition, Options, Prelude, Source, constants, dependencies, hashes};
use crate::analyze::node::NodeKind;
use crate::analyze::{Exports, World, analyze_prelude, written};
use crate::code::{Op, Unit};
use crate::compile::{Compiler, compile as compile_program};
use crate::instructions::Operand;
use crate::reader::ReadLimits;
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// More definitions are refused: what reaches what is computed for each.
const MAX_DEFINITIONS: usize = 4096;

pub(super) fn compile(parts: &[Source<'_>], options: &Options) -> Result<Prelude, Problem> {
    let given = &options.limits;
    let total: usize = parts.iter().map(|part| part.text.len()).sum();
    if total > given.source_bytes {
        let message = format!("the sources have {total} bytes, more than {}", given.source_bytes);
        return Err(
            Problem::at(Reason::Compile, Span::default(), message).hint("split them into several preludes")
        );
    }
    dependencies::check_needs(parts)?;
    let limits =
        ReadLimits { max_bytes: given.source_bytes, max_depth: given.source_depth, ..ReadLimits::default() };
    let mut outline = outline(parts, &limits)?;
    if outline.drafts.len() > MAX_DEFINITIONS {
        let message = format!("a prelude has at most {MAX_DEFINITIONS} definitions");
        return Err(
            Problem::at(Reason::Compile, Span::default(), message).hint("split it into several preludes")
        );
    }
    options.policy.narrow(&mut outline);
    let placed =
        |draft: &Draft, problem: Problem| problem.within(parts[draft.part].id, parts[draft.part].text);
    for draft in &outline.drafts {
        dependencies::check_references(&outline, draft, parts).map_err(|problem| placed(draft, problem))?;
    }
    let mut prelude = declared(parts, &outline, options);
    let mut programs = Vec::new();
    for (number, draft) in outline.drafts.iter().enumerate() {
        let made = definition(&prelude, draft, given.fuel).map_err(|problem| placed(draft, problem))?;
        prelude.written.extend(made.written);
        let definition = &mut prelude.definitions[number];
        (definition.uses, definition.calls) = (made.uses, made.calls);
        match draft.body {
            Body::Function(..) => definition.code = OnceLock::from(Code::Function(made.unit)),
            Body::Constant(_) => programs.push((number, made.unit)),
        }
    }
    prelude.exports = export::records(&prelude)
        .map_err(|(number, problem)| placed(&outline.drafts[number as usize], problem))?;
    prelude.local_requires = prelude.required_of_every_run();
    prelude.servers = prelude.servers_behind();
    let prelude = constants::compute(prelude, programs, options)
        .map_err(|(number, problem)| placed(&outline.drafts[number], problem))?;
    Ok(hashes::sealed(prelude, parts, options))
}

/// The prelude with everything that sources declare, before anything is compiled.
fn declared(parts: &[Source<'_>], outline: &Outline, options: &Options) -> Prelude {
    let mut members = vec![HashMap::default(); outline.namespaces.len()];
    let mut definitions = Vec::with_capacity(outline.drafts.len());
    for (number, draft) in outline.drafts.iter().enumerate() {
        members[draft.ns].insert(draft.name.clone(), number as u32);
        let (kind, params) = match &draft.body {
            Body::Function(params, _) => (Kind::Function, params.clone()),
            Body::Constant(_) => (Kind::Constant, Vec::new()),
        };
        definitions.push(Definition {
            ns: draft.ns,
            part: draft.part,
            full: format!("{}/{}", outline.namespaces[draft.ns].name, draft.name),
            name: draft.name.clone(),
            private: draft.private,
            kind,
            params,
            doc: draft.doc.clone(),
            span: draft.span,
            meta: draft.meta.clone(),
            uses: Vec::new(),
            calls: Vec::new(),
            code: OnceLock::new(),
        });
    }
    Prelude {
        namespaces: outline.namespaces.clone(),
        definitions,
        members,
        exports: Vec::new(),
        local_requires: Vec::new(),
        servers: Vec::new(),
        components: parts.iter().enumerate().map(|(at, part)| Component::of(part, at, outline)).collect(),
        texts: parts.iter().map(|part| Arc::from(part.text)).collect(),
        names: crate::core::names(),
        written: BTreeSet::new(),
        policy: options.policy.clone(),
        policy_hash: (!options.policy.is_open()).then(|| hashes::hash(&options.policy.described())),
        source_hash: String::new(),
        artifact_hash: String::new(),
    }
}

/// What a definition was compiled to.
struct Made {
    unit: Arc<Unit>,
    uses: Vec<crate::analyze::ToolUse>,
    calls: Vec<u32>,
    written: Vec<String>,
}

fn definition(prelude: &Prelude, draft: &Draft, fuel: u64) -> Result<Made, Problem> {
    let form = match &draft.body {
        Body::Constant(value) => value.clone(),
        Body::Function(_, clauses) => {
            let head = Form::new(FormKind::Symbol("fn".to_owned()), draft.span);
            Form::new(FormKind::List([&[head], clauses.as_slice()].concat().into()), draft.span)
        }
    };
    let ns = &prelude.namespaces[draft.ns];
    let world = Inside { prelude, home: draft.ns, fuel };
    let wrong = |error: crate::error::Error| Problem::new(Reason::Compile, error.at(draft.span));
    let analysis = analyze_prelude(&form, &ns.name, &ns.clauses, &world).map_err(wrong)?;
    let source = prelude.texts[draft.part].clone();
    let written = written(&analysis.body);
    let unit = match (analysis.body.kind, &draft.body) {
        (NodeKind::Fn(mut function), Body::Function(..)) => {
            function.name = Some(format!("{}/{}", ns.name, draft.name));
            let mut compiler = Compiler::for_prelude();
            compiler.function(*function).map_err(wrong)?;
            compiler.finish(source)
        }
        (kind, _) => compile_program(crate::analyze::node::Node::new(kind, analysis.body.span), source)
            .map_err(wrong)?,
    };
    debug_assert!(crate::verify::verify(&unit).is_ok(), "the compiler makes code that passes");
    stateless(&unit)?;
    if matches!(draft.body, Body::Constant(_)) {
        without_inputs(&unit)?;
    }
    let (uses, calls) = (analysis.manifest.uses, analysis.used);
    Ok(Made { unit: Arc::new(unit), uses, calls, written })
}

/// A prelude neither makes nor reads definitions of programs, nor their results.
fn stateless(unit: &Unit) -> Result<(), Problem> {
    let reaches_out = |op: &Op| op.has(|operand| matches!(operand, Operand::Global(_) | Operand::Nth(_)));
    match unit.ops.iter().position(reaches_out) {
        None => Ok(()),
        Some(at) => {
            let span = unit.spans.get(at).copied().unwrap_or_default();
            let message = "a prelude holds no state: it can neither define nor read what belongs to programs";
            Err(Problem::at(Reason::Compile, span, message)
                .hint("write definitions at the top level, and pass values as arguments"))
        }
    }
}

/// A constant is computed before there is a program, and so before there are inputs: it would be nil for ever.
fn without_inputs(unit: &Unit) -> Result<(), Problem> {
    let Some(at) = unit.ops.iter().position(|op| matches!(op, Op::Data { .. })) else { return Ok(()) };
    let span = unit.spans.get(at).copied().unwrap_or_default();
    let message = "a constant reads an input of programs, and there is none when it is computed";
    Err(Problem::at(Reason::Compile, span, message).hint("read it in a function: (defn name [] data/…)"))
}

/// What a definition can refer to.
struct Inside<'p> {
    prelude: &'p Prelude,
    home: usize,
    fuel: u64,
}

impl World for Inside<'_> {
    fn has_global(&self, _: &str) -> bool {
        false
    }

    fn globals(&self) -> Vec<String> {
        let own = self.prelude.definitions.iter().filter(|it| it.ns == self.home);
        own.map(|it| it.name.clone()).collect()
    }

    fn tools(&self) -> Option<&[String]> {
        None
    }

    /// What a prelude means is in its sources alone, so that it can be stored, shared and compiled again anywhere.
    fn servers_come_later(&self) -> bool {
        true
    }

    fn fuel(&self) -> u64 {
        self.fuel
    }

    fn exports(&self) -> Option<Exports<'_>> {
        Some(Exports { prelude: self.prelude, home: Some(self.home) })
    }
}
