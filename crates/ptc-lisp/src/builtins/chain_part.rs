//! The part that a function of the library can play in a chain of calls, as its declaration says: what the compiler
//! makes a loop of (`compile/chain`).

/// What a function is in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainPart {
    // Stages: items come through them one by one, and no more of them than what comes after needs.
    Distinct,
    Drop,
    DropWhile,
    Filter,
    Keep,
    KeepIndexed,
    Map,
    MapIndexed,
    Mapcat,
    Remove,
    Take,
    TakeWhile,
    // Ends: what becomes of the items.
    Apply,
    Count,
    Empty,
    Every,
    Filterv,
    First,
    For,
    Frequencies,
    GroupBy,
    Into,
    Mapv,
    NotAny,
    NotEvery,
    Reduce,
    Run,
    Second,
    Set,
    Some,
    SortBy,
    Transduce,
    Vec,
    // Functions that are made of other functions.
    Comp,
    Complement,
    Constantly,
    Fnil,
    Juxt,
    Partial,
    // Functions of a map, a key or a path, and a function.
    Update,
    UpdateIn,
    // Functions of integers that natives do many times (`skim`).
    Add,
    Dec,
    Even,
    Inc,
    Negative,
    Odd,
    Positive,
    Zero,
}

impl ChainPart {
    /// The part that a declaration of the core library names.
    pub(crate) fn named(name: &str) -> Option<ChainPart> {
        use ChainPart::{
            Apply, Comp, Complement, Constantly, Distinct, Drop, DropWhile, Every, Filter, Filterv, Fnil,
            For, GroupBy, Into, Juxt, Keep, KeepIndexed, Map, MapIndexed, Mapcat, Mapv, NotAny, NotEvery,
            Partial, Reduce, Remove, Run, SortBy, Take, TakeWhile, Transduce, Update, UpdateIn,
        };
        Some(match name {
            "distinct" => Distinct,
            "drop" => Drop,
            "drop-while" => DropWhile,
            "filter" => Filter,
            "keep" => Keep,
            "keep-indexed" => KeepIndexed,
            "map" => Map,
            "map-indexed" => MapIndexed,
            "mapcat" => Mapcat,
            "remove" => Remove,
            "take" => Take,
            "take-while" => TakeWhile,
            "apply" => Apply,
            "every?" => Every,
            "filterv" => Filterv,
            "for" => For,
            "group-by" => GroupBy,
            "into" => Into,
            "mapv" => Mapv,
            "not-any?" => NotAny,
            "not-every?" => NotEvery,
            "reduce" => Reduce,
            "run!" => Run,
            "some" => ChainPart::Some,
            "sort-by" => SortBy,
            "transduce" => Transduce,
            "comp" => Comp,
            "complement" => Complement,
            "constantly" => Constantly,
            "fnil" => Fnil,
            "juxt" => Juxt,
            "partial" => Partial,
            "update" => Update,
            "update-in" => UpdateIn,
            _ => return None,
        })
    }

    /// Whether a call with `count` arguments can be a stage.
    pub(crate) fn is_stage(self, count: usize) -> bool {
        match self {
            ChainPart::Distinct => count == 1,
            _ => count == 2 && self.is_item_by_item(),
        }
    }

    /// Whether the compiler may put something else in the place of its calls.
    pub(crate) fn is_rewritten(self) -> bool {
        matches!(self, ChainPart::Update | ChainPart::UpdateIn) || (1..=4).any(|count| self.is_end(count))
    }

    /// Whether items come through it one by one.
    pub(crate) fn is_item_by_item(self) -> bool {
        matches!(
            self,
            ChainPart::Distinct
                | ChainPart::Drop
                | ChainPart::DropWhile
                | ChainPart::Filter
                | ChainPart::Keep
                | ChainPart::KeepIndexed
                | ChainPart::Map
                | ChainPart::MapIndexed
                | ChainPart::Mapcat
                | ChainPart::Remove
                | ChainPart::Take
                | ChainPart::TakeWhile
        )
    }

    /// Whether a call with `count` arguments can be the end of a chain. The last one is the collection.
    pub(crate) fn is_end(self, count: usize) -> bool {
        match self {
            ChainPart::Count
            | ChainPart::Empty
            | ChainPart::First
            | ChainPart::Frequencies
            | ChainPart::Second
            | ChainPart::Set
            | ChainPart::Vec => count == 1,
            ChainPart::Reduce | ChainPart::Into | ChainPart::SortBy => count == 2 || count == 3,
            ChainPart::Transduce => count == 3 || count == 4,
            ChainPart::Apply
            | ChainPart::Every
            | ChainPart::Filterv
            | ChainPart::For
            | ChainPart::GroupBy
            | ChainPart::Mapv
            | ChainPart::NotAny
            | ChainPart::NotEvery
            | ChainPart::Run
            | ChainPart::Some => count == 2,
            _ => self.is_stage(count),
        }
    }

    /// Whether a loop is worth it for a call of this function alone: it calls a function for each item. Others have natives
    /// that take whole collections.
    pub(crate) fn is_loop_alone(self, count: usize) -> bool {
        match self {
            ChainPart::Distinct
            | ChainPart::Drop
            | ChainPart::DropWhile
            | ChainPart::Take
            | ChainPart::Count
            | ChainPart::Empty
            | ChainPart::First
            | ChainPart::Frequencies
            | ChainPart::Second
            | ChainPart::Set
            | ChainPart::Vec => false,
            ChainPart::Into => count == 3,
            _ => true,
        }
    }
}
