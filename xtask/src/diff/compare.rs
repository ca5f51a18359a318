//! Compares two services by the rules of the parent module.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    node::{Fact, Kind, Node, includes, keys, types_in_words},
    service::Service,
};

/// A difference in one operation, from the first service to the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Method and path.
    pub operation: String,
    pub finding: Finding,
}

/// The difference, in any operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    /// The part of the operation; `None` for the operation itself.
    pub place: Option<String>,
    #[serde(flatten)]
    pub change: Change,
    pub mark: Mark,
    pub rust: Effect,
}

/// The kind of difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum Change {
    /// Only the second has it.
    Added { what: String },
    /// Only the first has it.
    Removed { what: String },
    /// Both have it.
    Changed { aspect: &'static str, from: String, to: String },
}

/// The effect on callers of the first service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    Breaking,
    Compatible,
}

/// The effect on users of the crate, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The API stays the same.
    None,
    /// Code that uses the crate still compiles.
    Additive,
    /// Code that uses the crate may not compile.
    Breaking,
}

impl Mark {
    fn breaking_if(is_breaking: bool) -> Self {
        if is_breaking { Self::Breaking } else { Self::Compatible }
    }
}

impl Effect {
    fn breaking_if(is_breaking: bool) -> Self {
        if is_breaking { Self::Breaking } else { Self::None }
    }
}

/// The part of an exchange that contains a value.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Request,
    Response,
    /// A header of a response. The crate has no types for them.
    Header,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Ordered by operation and place.
    pub differences: Vec<Difference>,
    /// The names of the operations that both services have.
    pub common: Vec<String>,
    /// The number of operations that only the first service has, and only the second.
    pub only_from: usize,
    pub only_to: usize,
}

/// Compares two services. The operations that only one has are counted in any case, and are
/// differences unless `only_common`.
pub fn compare(from: &Service, to: &Service, only_common: bool) -> Comparison {
    let mut comparison = Comparison::default();
    for key in keys(from, to) {
        let (from, to) = (from.get(&key), to.get(&key));
        let Some(operation) = from.or(to) else { continue };
        let name = operation.name.clone();
        let mut recorder =
            Recorder { operation: &name, found: &mut comparison.differences, place: String::new() };
        match (from, to) {
            (Some(from), Some(to)) => recorder.nodes(Direction::Request, &from.node, &to.node),
            _ if only_common => {}
            _ => recorder.lone(Direction::Request, &operation.node, from.is_none()),
        }
        match (from, to) {
            (Some(_), Some(_)) => comparison.common.push(name),
            (Some(_), None) => comparison.only_from += 1,
            (None, _) => comparison.only_to += 1,
        }
    }
    comparison
}

/// Records the differences of one operation.
struct Recorder<'a> {
    operation: &'a str,
    found: &'a mut Vec<Difference>,
    /// The part that is compared; empty for the operation itself.
    place: String,
}

impl Recorder<'_> {
    fn add(&mut self, change: Change, mark: Mark, rust: Effect) {
        let place = (!self.place.is_empty()).then(|| self.place.clone());
        let finding = Finding { place, change, mark, rust };
        self.found.push(Difference { operation: self.operation.to_owned(), finding });
    }

    /// Compares two nodes at the same place.
    fn nodes(&mut self, direction: Direction, from: &Node, to: &Node) {
        for name in keys(&from.facts, &to.facts) {
            match name {
                "type" => self.types(direction, from, to),
                _ => self.facts(name, direction, from, to),
            }
        }
        let anything = Node::default();
        for name in keys(&from.parts, &to.parts) {
            let (from, to) = (from.parts.get(&name), to.parts.get(&name));
            let Some(part) = from.or(to) else { continue };
            let direction = match part.kind {
                Kind::Response => Direction::Response,
                Kind::Headers => Direction::Header,
                _ => direction,
            };
            let outer = self.place.len();
            self.place += &name;
            match (from, to) {
                (Some(from), Some(to)) => self.nodes(direction, from, to),
                _ if part.kind == Kind::Items => {
                    self.nodes(direction, from.unwrap_or(&anything), to.unwrap_or(&anything));
                }
                _ => self.lone(direction, part, from.is_none()),
            }
            self.place.truncate(outer);
        }
    }

    /// Records a node that only one of the services has.
    fn lone(&mut self, direction: Direction, node: &Node, is_added: bool) {
        let (what, is_breaking, rust) = match node.kind {
            Kind::Headers => return,
            Kind::Operation => ("operation".to_owned(), !is_added, Effect::Breaking),
            // Callers must handle failures with an unknown body anyway.
            Kind::Response if !self.place.starts_with('2') => {
                ("response".to_owned(), false, Effect::None)
            }
            Kind::Response => ("response".to_owned(), true, Effect::Breaking),
            Kind::Field | Kind::Items => {
                let is_required = node.has("required");
                let required = if is_required { "required" } else { "optional" };
                let what = format!("{required}, {}", types_in_words(node.types()));
                let is_demanded = is_required && direction == Direction::Request;
                let rust = Effect::breaking_if(direction != Direction::Header);
                (what, !is_added || is_demanded, rust)
            }
        };
        let has_new_argument = node.kind == Kind::Field && is_breaking;
        let rust = if is_added && !has_new_argument { rust.min(Effect::Additive) } else { rust };
        let change = if is_added { Change::Added { what } } else { Change::Removed { what } };
        self.add(change, Mark::breaking_if(is_breaking), rust);
    }

    /// Compares the facts with this name.
    fn facts(&mut self, name: &'static str, direction: Direction, from: &Node, to: &Node) {
        let facts = [from, to].map(|node| node.facts.get(name));
        let are_numbers = [from, to].iter().all(|node| node.is_only(&["integer", "number"]));
        let (is_narrower, is_wider) = (includes(facts[0], facts[1]), includes(facts[1], facts[0]));
        let mark = match (name, facts, direction) {
            _ if is_narrower && is_wider => return,
            // The format of a number restricts no value, and in a request it selects no type.
            ("format", _, Direction::Request) if are_numbers => return,
            ("default", _, Direction::Response | Direction::Header) => return,
            ("default", [was, _], Direction::Request) => Mark::breaking_if(was.is_some()),
            ("deprecated", ..) => Mark::Compatible,
            // A document that states no servers promises nothing about them.
            ("servers", [None, _] | [_, None], _) => Mark::Compatible,
            _ => direction.mark(is_narrower, is_wider),
        };
        let is_flag = facts.contains(&Some(&Fact::Flag));
        let nothing = if is_flag { "false" } else { "none" };
        let sides = facts.map(|fact| fact.map_or_else(|| nothing.to_owned(), ToString::to_string));
        self.add(changed(name, sides), mark, effect(name, direction, from, to));
    }

    /// Compares the types, and whether null is one of them.
    fn types(&mut self, direction: Direction, from: &Node, to: &Node) {
        let types = [from, to].map(|node| {
            let named = |types: &BTreeSet<String>| {
                let names = types.iter().filter(|name| *name != "null").cloned();
                Fact::Any(names.collect())
            };
            node.types().map(named)
        });
        let [from_types, to_types] = types.each_ref().map(Option::as_ref);
        if from_types != to_types {
            let is_narrower = includes(from_types, to_types);
            let is_wider = includes(to_types, from_types);
            let sides = [from, to].map(|node| types_in_words(node.types()));
            let mark = direction.mark(is_narrower, is_wider);
            let rust = Effect::breaking_if(direction != Direction::Header);
            self.add(changed("type", sides), mark, rust);
        }
        let nullable = [from, to].map(Node::is_nullable);
        if from.types().is_some() && to.types().is_some() && nullable[0] != nullable[1] {
            let rust = option_changed(direction, from, to);
            let mark = direction.mark(nullable[0], nullable[1]);
            self.add(changed("nullable", nullable.map(|is| is.to_string())), mark, rust);
        }
    }
}

impl Direction {
    /// The mark of a change that only narrows or only widens what is allowed, or does both.
    fn mark(self, is_narrower: bool, is_wider: bool) -> Mark {
        Mark::breaking_if(match self {
            Self::Request => !is_wider,
            Self::Response | Self::Header => !is_narrower,
        })
    }
}

fn changed(aspect: &'static str, [from, to]: [String; 2]) -> Change {
    Change::Changed { aspect, from, to }
}

/// The effect of different facts with this name.
fn effect(name: &str, direction: Direction, from: &Node, to: &Node) -> Effect {
    let values = [from, to].map(|node| node.facts.get(name));
    match (name, direction) {
        // `#[deprecated]` is a warning.
        ("deprecated", _) if to.has(name) => Effect::Additive,
        // An argument of `new` becomes a setter, or the reverse.
        ("required", Direction::Request) => Effect::Breaking,
        ("required", _) => option_changed(direction, from, to),
        // Enumerations are `non_exhaustive`, so a new value is a new variant. Adding or dropping
        // the whole list changes the type. Responses have text instead.
        ("enum", Direction::Request) => match values {
            [Some(_), Some(_)] if includes(values[1], values[0]) => Effect::Additive,
            _ => Effect::Breaking,
        },
        ("format", Direction::Request) => Effect::Breaking,
        ("format", Direction::Response) => Effect::breaking_if(from.allows("integer")),
        _ => Effect::None,
    }
}

/// The effect if the field of a response becomes an `Option`, or is no longer one.
fn option_changed(direction: Direction, from: &Node, to: &Node) -> Effect {
    let is_option = |node: &Node| {
        let is_always_there = node.kind != Kind::Field || node.has("required");
        !is_always_there || node.is_nullable()
    };
    let is_changed = is_option(from) != is_option(to);
    Effect::breaking_if(is_changed && direction == Direction::Response)
}
