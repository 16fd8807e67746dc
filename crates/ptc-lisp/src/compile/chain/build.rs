//! Makes the loop for a chain of calls.

use super::inline::Called;
use super::{DEEPEST, LONGEST, Rewriter, call, is_stage, part_of};
use crate::analyze::node::{ChainNode, ChainStep, Exit, Local, Node, NodeKind, When};
use crate::builtins::chain_part::ChainPart;
use crate::builtins::gather::LoopRole;
use crate::builtins::skim::is_skimmed;
use crate::builtins::{BuiltinId, registry};
use crate::code::Const;
use crate::span::Span;

/// One call of a chain without its collection.
struct Link {
    part: ChainPart,
    id: BuiltinId,
    span: Span,
    args: Vec<Node>,
}

/// A call whose arguments are taken care of.
struct Stage {
    part: ChainPart,
    span: Span,
    /// The function it calls, if it calls one.
    function: Option<Called>,
    /// Its other arguments.
    others: Vec<Node>,
}

/// A loop being made.
struct ChainBuilder {
    before: Vec<(Local, Node)>,
    fits: Vec<(Local, LoopRole)>,
    state: Vec<(Local, Node)>,
    ahead: Vec<ChainStep>,
    steps: Vec<ChainStep>,
    begun: Option<Local>,
    /// The functions of all stages, if they can be skimmed.
    skimmed: Option<Vec<Const>>,
    skim: Option<(Local, Vec<Const>)>,
    /// What is walked.
    source: Local,
    /// The item as the stages have changed it.
    item: Local,
    span: Span,
}

impl ChainBuilder {
    fn node(&self, kind: NodeKind) -> Node {
        Node::new(kind, self.span)
    }

    fn local(&self, local: Local) -> Node {
        self.node(NodeKind::Local(local, false))
    }

    fn item(&self) -> Node {
        self.local(self.item)
    }

    fn bool(&self, value: bool) -> Node {
        self.node(NodeKind::Const(Const::Bool(value)))
    }

    fn int(&self, value: i64) -> Node {
        self.node(NodeKind::Const(Const::Int(value)))
    }

    fn call(&self, name: &str, args: Vec<Node>) -> Node {
        call(name, args, self.span)
    }

    fn bind(&mut self, local: Local, value: Node) {
        self.steps.push(ChainStep::Bind(local, value));
    }

    fn push(&mut self, vector: Local, item: Node) {
        self.bind(vector, self.call("prim/push", vec![self.local(vector), item]));
    }

    fn leave(&mut self, test: Node, when: When, exit: Exit) {
        self.steps.push(ChainStep::Leave(test, when, exit));
    }

    fn done(&mut self) {
        self.steps.push(ChainStep::Go(Exit::Done));
    }
}

/// How many arguments the functions of a part are called with.
fn arguments(part: ChainPart) -> u8 {
    match part {
        ChainPart::For
        | ChainPart::KeepIndexed
        | ChainPart::MapIndexed
        | ChainPart::Reduce
        | ChainPart::Apply
        | ChainPart::Transduce => 2,
        _ => 1,
    }
}

/// Whether the first argument of a part is a function that the loop calls.
fn calls(part: ChainPart) -> bool {
    !matches!(part, ChainPart::Drop | ChainPart::Take | ChainPart::Into)
}

/// Whether what a part gives is a sequence, which is lazy if the source is.
fn gives_sequence(part: ChainPart) -> bool {
    part.is_item_by_item() || part == ChainPart::For
}

/// Whether a function never gives `(reduced x)`, as can be seen.
fn never_reduces(node: &Node) -> bool {
    const PLAIN: &[&str] = &[
        "clojure.core/*",
        "clojure.core/+",
        "clojure.core/-",
        "clojure.core/assoc",
        "clojure.core/conj",
        "clojure.core/dec",
        "clojure.core/inc",
        "prim/push",
    ];
    match &node.kind {
        NodeKind::Map(_) | NodeKind::Vector(_) | NodeKind::Set(_) | NodeKind::Const(_) | NodeKind::Fn(_) => {
            true
        }
        NodeKind::Let(_, body) => never_reduces(body),
        NodeKind::If(_, then, other) => never_reduces(then) && never_reduces(other),
        NodeKind::Do(nodes) => nodes.last().is_none_or(never_reduces),
        NodeKind::Call(function, _) => match function.kind {
            NodeKind::Builtin(id) => PLAIN.contains(&registry().get(id).name),
            _ => false,
        },
        _ => false,
    }
}

impl Rewriter {
    /// Puts a loop in the place of a call that is the end of a chain.
    pub(super) fn chain(&mut self, node: &mut Node) -> bool {
        let span = node.span;
        let (links, source) = take_links(std::mem::replace(node, Node::nil(span)));
        let Some(part) = links.first().map(|link| link.part) else { return false };
        let mut making = ChainBuilder {
            before: Vec::new(),
            fits: Vec::new(),
            state: Vec::new(),
            ahead: Vec::new(),
            steps: Vec::new(),
            begun: None,
            skimmed: Some(Vec::new()),
            skim: None,
            source: 0,
            item: 0,
            span,
        };
        let mut stages = Vec::with_capacity(links.len());
        let mut again = Vec::with_capacity(links.len());
        let mut source_span = span;
        for link in links {
            source_span = link.span;
            let (mut these, call) = self.link(link, gives_sequence(part), &mut making);
            stages.append(&mut these);
            again.push(call);
        }
        let walked = self.bind_before(source, &mut making);
        let role = if gives_sequence(part) { LoopRole::Realised } else { LoopRole::Source };
        making.fits.push((walked, role));
        let mut calls = Node::new(NodeKind::Local(walked, false), source_span);
        for (id, mut args, span) in again.into_iter().rev() {
            args.push(calls);
            let function = Node::new(NodeKind::Builtin(id), span);
            calls = Node::new(NodeKind::Call(function.into(), args), span);
        }
        let item = self.fresh();
        (making.source, making.item) = (walked, item);
        let mut stages = stages.into_iter();
        let end = stages.next();
        for stage in stages.rev() {
            self.stage(stage, &mut making);
        }
        making.span = span;
        let result = end.map_or_else(|| Node::nil(span), |end| self.end(end, &mut making));
        let ChainBuilder { before, fits, state, ahead, steps, begun, skim, .. } = making;
        let mut chain = ChainNode {
            before,
            fits,
            source: walked,
            source_span,
            state,
            ahead,
            item,
            steps,
            begun,
            skim,
            result,
            calls,
        };
        // Chains in what is called; the arguments have been gone through.
        let mut each = |part: &mut Node| self.node(part);
        chain.steps.iter_mut().for_each(|step| step.each_part_mut(&mut each));
        let mut texts = Vec::new();
        let mut each = |part: &mut Node| self.hoist(part, &mut texts);
        chain.steps.iter_mut().for_each(|step| step.each_part_mut(&mut each));
        chain.state.append(&mut texts);
        node.kind = NodeKind::Chain(chain.into());
        true
    }

    /// Text that items are compared with is made once for all of them. It comes second, where it is read in its place.
    fn hoist(&mut self, node: &mut Node, texts: &mut Vec<(Local, Node)>) {
        if let NodeKind::Call(function, args) = &mut node.kind
            && matches!(function.kind, NodeKind::Builtin(id) if registry().get(id).name == "clojure.core/=")
            && let [a, b] = args.as_mut_slice()
        {
            if is_text(a) {
                std::mem::swap(a, b);
            }
            if is_text(b) && !is_text(a) {
                let (local, span) = (self.fresh(), b.span);
                texts.push((local, std::mem::replace(b, Node::new(NodeKind::Local(local, false), span))));
            }
        }
        node.each_part_mut(&mut |part| self.hoist(part, texts));
    }

    /// The stages of a call, outermost first, and the call as it is made where there is no loop.
    fn link(
        &mut self,
        link: Link,
        is_lazy: bool,
        making: &mut ChainBuilder,
    ) -> (Vec<Stage>, (BuiltinId, Vec<Node>, Span)) {
        let Link { part, id, span, args } = link;
        let xform_at = match (part, args.len()) {
            (ChainPart::Into, 2) => Some(1),
            (ChainPart::Transduce, _) => Some(0),
            _ => None,
        };
        let mut stages = Vec::new();
        let mut again = Vec::with_capacity(args.len());
        let (mut function, mut others) = (None, Vec::new());
        let called_at = match part {
            ChainPart::Transduce => 1,
            _ => 0,
        };
        for (at, arg) in args.into_iter().enumerate() {
            if xform_at == Some(at) {
                again.push(self.transducer(arg, is_lazy, making, &mut stages));
            } else if calls(part) && at == called_at {
                let (called, node) = self.called(arg, arguments(part), is_lazy, making);
                function = Some(called);
                again.push(node);
            } else {
                let is_count = matches!(part, ChainPart::Drop | ChainPart::Take);
                let other = self.other(arg, is_count, making);
                again.push(other.clone());
                others.push(other);
            }
        }
        stages.reverse();
        stages.insert(0, Stage { part, span, function, others });
        (stages, (id, again, span))
    }

    /// The stages of a transducer in the order in which items go through them, and the transducer itself.
    fn transducer(
        &mut self,
        node: Node,
        is_lazy: bool,
        making: &mut ChainBuilder,
        stages: &mut Vec<Stage>,
    ) -> Node {
        let span = node.span;
        let NodeKind::Call(head, args) = node.kind else { return Node::nil(span) };
        let NodeKind::Builtin(id) = head.kind else { return Node::nil(span) };
        let mut again = Vec::with_capacity(args.len());
        match registry().get(id).part() {
            Some(ChainPart::Comp) | None => {
                again.extend(args.into_iter().map(|arg| self.transducer(arg, is_lazy, making, stages)));
            }
            Some(part) => {
                let (mut these, call) = self.link(Link { part, id, span, args }, is_lazy, making);
                stages.append(&mut these);
                again = call.1;
            }
        }
        Node::new(NodeKind::Call(head, again), span)
    }

    /// An argument that the loop calls, and the argument of the call that it stands for.
    fn called(
        &mut self,
        mut arg: Node,
        count: u8,
        is_lazy: bool,
        making: &mut ChainBuilder,
    ) -> (Called, Node) {
        if let Some(called) = Called::of(&arg, count.into()) {
            // Where the result is never lazy, the call only says what is wrong.
            if is_lazy && self.depth < DEEPEST {
                self.depth += 1;
                self.node(&mut arg);
                self.depth -= 1;
            }
            return (called, arg);
        }
        let span = arg.span;
        let local = self.bind_before(arg, making);
        making.fits.push((local, LoopRole::Function(count)));
        (Called::Local(local), Node::new(NodeKind::Local(local, false), span))
    }

    /// Another argument.
    fn other(&mut self, arg: Node, is_count: bool, making: &mut ChainBuilder) -> Node {
        let is_int = matches!(arg.kind, NodeKind::Const(Const::Int(_)));
        let is_plain = matches!(arg.kind, NodeKind::Const(_) | NodeKind::Builtin(_));
        if if is_count { is_int } else { is_plain || is_empty_vector(&arg) || is_empty_map(&arg) } {
            return arg;
        }
        let span = arg.span;
        let local = self.bind_before(arg, making);
        if is_count {
            making.fits.push((local, LoopRole::Count));
        }
        Node::new(NodeKind::Local(local, false), span)
    }

    fn bind_before(&mut self, mut value: Node, making: &mut ChainBuilder) -> Local {
        self.node(&mut value);
        let local = self.fresh();
        making.before.push((local, value));
        local
    }

    /// Something that goes from one turn to the next.
    fn state(&mut self, making: &mut ChainBuilder, first: Node) -> Local {
        let local = self.fresh();
        making.state.push((local, first));
        local
    }

    /// The function of a stage with these arguments.
    fn value(&mut self, function: Option<Called>, args: Vec<Node>, making: &ChainBuilder) -> Node {
        match function {
            Some(function) => self.apply(function, args, making.span),
            None => Node::nil(making.span),
        }
    }

    /// The item becomes a value.
    fn change(&mut self, making: &mut ChainBuilder, value: Node) {
        let local = self.fresh();
        making.bind(local, value);
        making.item = local;
    }

    fn stage(&mut self, stage: Stage, making: &mut ChainBuilder) {
        let Stage { part, span, function, mut others } = stage;
        making.span = span;
        let through = match &function {
            Some(Called::Builtin(id))
                if registry().get(*id).part().is_some_and(|of| is_skimmed(part, of)) =>
            {
                Some(Const::Builtin(*id))
            }
            Some(Called::Const(Node { kind: NodeKind::Const(key @ Const::Keyword(_)), .. }))
                if part == ChainPart::Map && making.skimmed.as_ref().is_some_and(Vec::is_empty) =>
            {
                Some(key.clone())
            }
            _ => None,
        };
        match (&mut making.skimmed, through) {
            (Some(functions), Some(function)) => functions.push(function),
            (skimmed, _) => *skimmed = None,
        }
        match part {
            ChainPart::Map => {
                let value = self.value(function, vec![making.item()], making);
                self.change(making, value);
            }
            ChainPart::Keep => {
                let value = self.value(function, vec![making.item()], making);
                self.change(making, value);
                making.leave(making.item(), When::Nil, Exit::Next);
            }
            ChainPart::MapIndexed | ChainPart::KeepIndexed => {
                let at = self.state(making, making.int(0));
                let value = self.value(function, vec![making.local(at), making.item()], making);
                self.change(making, value);
                making.bind(at, making.call("clojure.core/inc", vec![making.local(at)]));
                if part == ChainPart::KeepIndexed {
                    making.leave(making.item(), When::Nil, Exit::Next);
                }
            }
            ChainPart::Filter | ChainPart::Remove | ChainPart::TakeWhile => {
                let test = self.value(function, vec![making.item()], making);
                let when = if part == ChainPart::Remove { When::True } else { When::False };
                let exit = if part == ChainPart::TakeWhile { Exit::Done } else { Exit::Next };
                making.leave(test, when, exit);
            }
            ChainPart::DropWhile => {
                let dropping = self.state(making, making.bool(true));
                let test = self.value(function, vec![making.item()], making);
                let drops = making.node(NodeKind::And(vec![making.local(dropping), test]));
                making.leave(drops, When::True, Exit::Next);
                making.bind(dropping, making.bool(false));
            }
            ChainPart::Take | ChainPart::Drop => {
                let left = self.state(making, others.pop().unwrap_or_else(|| Node::nil(span)));
                let is_left = making.call("clojure.core/>", vec![making.local(left), making.int(0)]);
                let one_less = making.call("clojure.core/dec", vec![making.local(left)]);
                if part == ChainPart::Take {
                    making.ahead.push(ChainStep::Leave(is_left, When::False, Exit::Done));
                    making.bind(left, one_less);
                } else {
                    let drops = self.fresh();
                    making.bind(drops, is_left);
                    making.bind(left, one_less);
                    making.leave(making.local(drops), When::True, Exit::Next);
                }
            }
            ChainPart::Distinct => {
                let seen = self.state(making, making.node(NodeKind::Set(Vec::new())));
                let new = self.fresh();
                making.steps.push(ChainStep::Include(new, seen, making.item()));
                making.leave(making.local(new), When::False, Exit::Next);
            }
            ChainPart::Mapcat => {
                let coll = self.value(function, vec![making.item()], making);
                making.item = self.fresh();
                making.steps.push(ChainStep::Each(making.item, coll));
            }
            _ => {}
        }
    }

    /// What the end of a chain does with an item; what it gives.
    fn end(&mut self, end: Stage, making: &mut ChainBuilder) -> Node {
        let Stage { part, span, function, mut others } = end;
        if part.is_item_by_item() {
            self.stage(Stage { part, span, function, others }, making);
            let out = self.collect(making);
            return making.call("prim/as-seq", vec![making.local(out)]);
        }
        match part {
            ChainPart::Mapv | ChainPart::Filterv | ChainPart::Vec => {
                let stage = match part {
                    ChainPart::Mapv => Some(ChainPart::Map),
                    ChainPart::Filterv => Some(ChainPart::Filter),
                    _ => None,
                };
                if let Some(part) = stage {
                    self.stage(Stage { part, span, function, others }, making);
                }
                let out = self.collect(making);
                making.local(out)
            }
            ChainPart::Reduce | ChainPart::Transduce | ChainPart::For | ChainPart::Apply => {
                self.fold(part, function, others.pop(), making)
            }
            ChainPart::Into => self.into(others.pop(), making),
            ChainPart::Run => {
                let value = self.value(function, vec![making.item()], making);
                self.change(making, value);
                making.steps.push(ChainStep::Unreduce(making.item));
                Node::nil(span)
            }
            ChainPart::SortBy => match function {
                Some(function) if let Some(keys) = fields(&function, others.len()) => {
                    self.sort_by_fields(keys, others.pop(), making)
                }
                Some(Called::Juxt(functions)) if others.is_empty() && (2..=3).contains(&functions.len()) => {
                    self.sort_by_columns(functions, making)
                }
                function => self.sort_by(function, others.pop(), making),
            },
            ChainPart::Count => {
                let count = self.state(making, making.int(0));
                making.bind(count, making.call("clojure.core/inc", vec![making.local(count)]));
                making.local(count)
            }
            ChainPart::Frequencies => {
                let counts = self.state(making, making.node(NodeKind::Map(Vec::new())));
                making.steps.push(ChainStep::Tally(counts, making.item()));
                making.local(counts)
            }
            ChainPart::GroupBy => {
                let groups = self.state(making, making.node(NodeKind::Map(Vec::new())));
                let item = making.item();
                let key = self.value(function, vec![making.item()], making);
                making.steps.push(ChainStep::Group(groups, key, item));
                making.local(groups)
            }
            ChainPart::Set => {
                let set = self.state(making, making.node(NodeKind::Set(Vec::new())));
                let new = self.fresh();
                making.steps.push(ChainStep::Include(new, set, making.item()));
                making.local(set)
            }
            _ => self.found(part, function, making),
        }
    }

    /// Collects items with their keys.
    fn sort_by(
        &mut self,
        function: Option<Called>,
        comparator: Option<Node>,
        making: &mut ChainBuilder,
    ) -> Node {
        let (items, item) = (self.vector(making), making.item());
        let keys = self.vector(making);
        let key = self.value(function, vec![making.item()], making);
        making.push(keys, key);
        making.push(items, item);
        let mut args = vec![making.local(keys), making.local(items)];
        match comparator {
            None => making.call("prim/sort-by-keys", args),
            Some(comparator) => {
                args.insert(0, comparator);
                making.call("prim/sort-by-keys-known", args)
            }
        }
    }

    /// Keys that keywords find need no loop: the items are collected, or are those of the source.
    fn sort_by_fields(
        &mut self,
        keys: Vec<Const>,
        comparator: Option<Node>,
        making: &mut ChainBuilder,
    ) -> Node {
        let items = if making.steps.is_empty() { making.source } else { self.collect(making) };
        let keys = making.node(NodeKind::Const(Const::Vector(keys)));
        let comparator = comparator.unwrap_or_else(|| Node::nil(making.span));
        making.call("prim/sort-by-fields", vec![comparator, keys, making.local(items)])
    }

    /// The same for several keys of each.
    fn sort_by_columns(&mut self, functions: Vec<Called>, making: &mut ChainBuilder) -> Node {
        let (items, item) = (self.vector(making), making.item());
        let mut columns = Vec::with_capacity(functions.len());
        for function in functions {
            let keys = self.vector(making);
            let key = self.apply(function, vec![making.item()], making.span);
            making.push(keys, key);
            columns.push(making.local(keys));
        }
        making.push(items, item);
        let columns = making.node(NodeKind::Vector(columns));
        making.call("prim/sort-by-columns", vec![columns, making.local(items)])
    }

    /// A vector that is filled.
    fn vector(&mut self, making: &mut ChainBuilder) -> Local {
        self.state(making, making.node(NodeKind::Vector(Vec::new())))
    }

    /// Collects the items in a vector.
    fn collect(&mut self, making: &mut ChainBuilder) -> Local {
        let out = self.vector(making);
        making.push(out, making.item());
        out
    }

    /// Ends that look at items until one decides.
    fn found(&mut self, part: ChainPart, function: Option<Called>, making: &mut ChainBuilder) -> Node {
        let first = match part {
            ChainPart::Empty | ChainPart::Every | ChainPart::NotAny => making.bool(true),
            ChainPart::NotEvery => making.bool(false),
            _ => Node::nil(making.span),
        };
        let answer = self.state(making, first);
        match part {
            ChainPart::Empty => making.bind(answer, making.bool(false)),
            ChainPart::Every | ChainPart::NotAny | ChainPart::NotEvery => {
                let test = self.value(function, vec![making.item()], making);
                let goes_on = if part == ChainPart::NotAny { When::False } else { When::True };
                making.leave(test, goes_on, Exit::Next);
                making.bind(answer, making.bool(part == ChainPart::NotEvery));
            }
            ChainPart::Some => {
                let value = self.value(function, vec![making.item()], making);
                self.change(making, value);
                making.leave(making.item(), When::False, Exit::Next);
                making.bind(answer, making.item());
            }
            ChainPart::Second => {
                let left = self.state(making, making.bool(true));
                let is_first = self.fresh();
                making.bind(is_first, making.local(left));
                making.bind(left, making.bool(false));
                making.leave(making.local(is_first), When::True, Exit::Next);
                making.bind(answer, making.item());
            }
            _ => making.bind(answer, making.item()),
        }
        making.done();
        making.local(answer)
    }

    /// Folds the items.
    fn fold(
        &mut self,
        part: ChainPart,
        function: Option<Called>,
        init: Option<Node>,
        making: &mut ChainBuilder,
    ) -> Node {
        // `transduce` ends with a call of the function, `apply` wants what is alone to be a number, too.
        let ends = matches!(part, ChainPart::Transduce | ChainPart::Apply);
        let completing = function.as_ref().and_then(Called::builtin).filter(|_| ends);
        let of = |id: BuiltinId, args, making: &ChainBuilder| {
            let function = making.node(NodeKind::Builtin(id));
            making.node(NodeKind::Call(function.into(), args))
        };
        let first = match (part, init, completing) {
            (ChainPart::For, ..) => Some(making.node(NodeKind::Vector(Vec::new()))),
            (_, Some(init), _) => Some(init),
            (ChainPart::Transduce, None, Some(id)) => Some(of(id, Vec::new(), making)),
            _ => None,
        };
        let begins = first.is_none();
        let acc = self.state(making, first.unwrap_or_else(|| Node::nil(making.span)));
        if begins {
            let begun = self.state(making, making.bool(false));
            making.steps.push(ChainStep::Begin(begun, acc, making.item()));
            making.begun = Some(begun);
        }
        let is_sum = function.as_ref().and_then(Called::builtin).and_then(|id| registry().get(id).part());
        if is_sum == Some(ChainPart::Add) && matches!(part, ChainPart::Reduce | ChainPart::Apply) {
            making.skim = making.skimmed.take().map(|functions| (acc, functions));
        }
        let value = self.value(function, vec![making.local(acc), making.item()], making);
        let may_end = part != ChainPart::Apply && !never_reduces(&value);
        making.bind(acc, value);
        if may_end {
            making.steps.push(ChainStep::Unreduce(acc));
        }
        match (part, completing) {
            (ChainPart::For, _) => making.call("prim/as-seq", vec![making.local(acc)]),
            (_, Some(id)) => of(id, vec![making.local(acc)], making),
            _ => making.local(acc),
        }
    }

    /// Adds the items to a collection.
    fn into(&mut self, to: Option<Node>, making: &mut ChainBuilder) -> Node {
        let to = to.unwrap_or_else(|| Node::nil(making.span));
        let is_vector = is_empty_vector(&to);
        if let NodeKind::Local(local, _) = to.kind {
            making.fits.push((local, LoopRole::Target));
        }
        let is_map = is_empty_map(&to);
        let to = match (is_vector, is_map) {
            (true, _) => making.node(NodeKind::Vector(Vec::new())),
            (_, true) => making.node(NodeKind::Map(Vec::new())),
            _ => to,
        };
        let out = self.state(making, to);
        // A pair that is made to become an entry need not be made.
        if is_map
            && let Some(ChainStep::Bind(_, Node { kind: NodeKind::Vector(pair), .. })) =
                making.steps.last_mut()
            && pair.len() == 2
        {
            let mut args = vec![Node::new(NodeKind::Local(out, false), making.span)];
            args.append(pair);
            making.steps.pop();
            making.bind(out, making.call("prim/assoc", args));
            return making.local(out);
        }
        let add = if is_vector { "prim/push" } else { "clojure.core/conj" };
        making.bind(out, making.call(add, vec![making.local(out), making.item()]));
        making.local(out)
    }
}

/// The keywords that a function of a sort looks up; several ones are compared as vectors are, by no comparator.
fn fields(function: &Called, comparators: usize) -> Option<Vec<Const>> {
    let field = |function: &Called| match function {
        Called::Const(Node { kind: NodeKind::Const(key @ Const::Keyword(_)), .. }) => Some(key.clone()),
        _ => None,
    };
    match function {
        Called::Juxt(functions) if comparators == 0 && (2..=3).contains(&functions.len()) => {
            functions.iter().map(field).collect()
        }
        function => field(function).map(|key| vec![key]),
    }
}

/// Whether a node is text as it is written.
fn is_text(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Const(Const::Str(_)))
}

/// Whether a node is `[]`.
fn is_empty_vector(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Vector(items) => items.is_empty(),
        NodeKind::Const(Const::Vector(items)) => items.is_empty(),
        _ => false,
    }
}

/// Whether a node is `{}`.
fn is_empty_map(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Map(pairs) => pairs.is_empty(),
        NodeKind::Const(Const::Map(pairs)) => pairs.is_empty(),
        _ => false,
    }
}

/// The calls of a chain, outermost first, and the source.
fn take_links(node: Node) -> (Vec<Link>, Node) {
    let mut links = Vec::new();
    let mut node = node;
    loop {
        let span = node.span;
        let is_link = links.is_empty() || (links.len() < LONGEST && is_stage(&node));
        let part = part_of(&node).map(|(part, _)| part).filter(|_| is_link);
        match (part, node.kind) {
            (Some(part), NodeKind::Call(function, mut args)) => {
                let NodeKind::Builtin(id) = function.kind else { return (links, Node::nil(span)) };
                let coll = args.pop().unwrap_or_else(|| Node::nil(span));
                links.push(Link { part, id, span, args });
                node = coll;
            }
            (_, kind) => return (links, Node::new(kind, span)),
        }
    }
}
