//! Compares two services by the rules of the parent module.

use serde::Serialize;

use super::{
    node::{Fact, Kind, Node, includes, keys, types_in_words},
    service::{DOCUMENT, Service},
};

/// A difference from the first service to the second.
#[derive(Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Method and path of each operation that has it.
    pub operations: Vec<String>,
    /// The part of the operation; `None` for the operation itself.
    pub place: Option<String>,
    #[serde(flatten)]
    pub change: Change,
    pub mark: Mark,
    pub rust: Effect,
}

/// The kind of difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum Change {
    /// Only the second has it.
    Added { what: String },
    /// Only the first has it.
    Removed { what: String },
    /// Both have it.
    Changed { aspect: String, from: String, to: String },
    /// Both have it, with other words.
    Reworded { aspect: String, from: String, to: String },
}

/// The effect on callers of the first service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    Breaking,
    Compatible,
}

/// The effect on users of the crate, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Ordered by the first operation and place.
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
    let is_ours = from.contains_key(DOCUMENT) && to.contains_key(DOCUMENT);
    let mut comparison = Comparison::default();
    for key in keys(from, to) {
        let (from, to) = (from.get(&key), to.get(&key));
        let Some(operation) = from.or(to) else { continue };
        let name = operation.name.clone();
        let (found, place) = (&mut comparison.differences, String::new());
        let mut recorder = Recorder { is_ours, operation: &name, found, place };
        if let (Some(from), Some(to)) = (from, to) {
            recorder.nodes(Direction::Request, &from.node, &to.node);
            comparison.common.extend((name != DOCUMENT).then_some(name));
            continue;
        }
        if !only_common {
            recorder.lone(Direction::Request, &operation.node, from.is_none());
        }
        comparison.only_from += usize::from(from.is_some());
        comparison.only_to += usize::from(to.is_some());
    }
    comparison
}

/// Records the differences of one operation.
struct Recorder<'a> {
    is_ours: bool,
    operation: &'a str,
    found: &'a mut Vec<Difference>,
    /// The part that is compared; empty for the operation itself.
    place: String,
}

impl Recorder<'_> {
    fn add(&mut self, change: Change, mark: Mark, rust: Effect) {
        let place = (!self.place.is_empty()).then(|| self.place.clone());
        // The crate has no types for headers of responses.
        let is_header = self.place.contains(" header ");
        let rust = if is_header { Effect::None } else { rust };
        let operation = self.operation.to_owned();
        let same = self.found.iter_mut().find(|known| {
            (&known.place, &known.change, known.mark, known.rust) == (&place, &change, mark, rust)
        });
        match same {
            Some(known) => known.operations.push(operation),
            None => {
                let operations = vec![operation];
                self.found.push(Difference { operations, place, change, mark, rust });
            }
        }
    }

    /// Compares two nodes at the same place.
    fn nodes(&mut self, direction: Direction, from: &Node, to: &Node) {
        if from == to {
            return;
        }
        if from.alternatives.is_empty() != to.alternatives.is_empty() {
            let [from, to] = [from, to].map(|node| node.clone().into_alternatives());
            return self.nodes(direction, &from, &to);
        }
        for name in keys(&from.facts, &to.facts) {
            self.facts(&name, direction, from, to);
        }
        let nullable = [from, to].map(Node::is_nullable);
        if nullable[0] != nullable[1] && from.has("type") && to.has("type") {
            let rust = option_changed(direction, from, to);
            let mark = direction.mark(nullable[0], nullable[1]);
            self.add(changed("nullable", nullable.map(|is| is.to_string())), mark, rust);
        }
        self.alternatives(direction, &from.alternatives, &to.alternatives);
        let anything = Node::default();
        for name in keys(&from.parts, &to.parts) {
            let (from, to) = (from.parts.get(&name), to.parts.get(&name));
            let Some(part) = from.or(to) else { continue };
            let direction = match part.kind {
                Kind::Response | Kind::Header => Direction::Response,
                _ => direction,
            };
            // Items of which one service says nothing may be anything.
            let missing = (part.kind == Kind::Items).then_some(&anything);
            self.part(&name, direction, from.or(missing), to.or(missing));
        }
    }

    /// Compares a part of the nodes at this place.
    fn part(&mut self, name: &str, direction: Direction, from: Option<&Node>, to: Option<&Node>) {
        let outer = self.place.len();
        self.place += name;
        match (from, to) {
            (Some(from), Some(to)) => self.nodes(direction, from, to),
            (Some(lone), None) => self.lone(direction, lone, false),
            (None, lone) => lone.into_iter().for_each(|lone| self.lone(direction, lone, true)),
        }
        self.place.truncate(outer);
    }

    /// Compares alternatives that are equal, that refer to components of the same name, or that
    /// have the same position among the others.
    fn alternatives(&mut self, direction: Direction, from: &[Node], to: &[Node]) {
        let mut from: Vec<_> = from.iter().enumerate().collect();
        let mut to: Vec<_> = to.iter().enumerate().collect();
        let mut pairs = Vec::new();
        let have_same_name = |a: &Node, b: &Node| a.name().is_some() && a.name() == b.name();
        for is_same in [Node::eq, have_same_name, |_: &Node, _: &Node| true] {
            from.retain(|(index, one)| {
                let found = to.iter().position(|(_, other)| is_same(one, other));
                pairs.extend(found.map(|found| (*index, Some(*one), Some(to.remove(found).1))));
                found.is_none()
            });
        }
        pairs.extend(from.into_iter().map(|(index, one)| (index, Some(one), None)));
        pairs.extend(to.into_iter().map(|(index, other)| (index, None, Some(other))));
        for (index, from, to) in pairs {
            let Some(one) = from.or(to) else { continue };
            let name =
                one.name().map_or_else(|| format!("alternative {}", index + 1), str::to_owned);
            self.part(&format!(" ({name})"), direction, from, to);
        }
    }

    /// Records a node that only one of the services has.
    fn lone(&mut self, direction: Direction, node: &Node, is_added: bool) {
        let (what, is_breaking, rust) = match node.kind {
            Kind::Alternative => {
                let is_breaking = is_added == (direction != Direction::Request);
                ("alternative".to_owned(), is_breaking, Effect::Breaking)
            }
            Kind::Operation => ("operation".to_owned(), !is_added, Effect::Breaking),
            // Callers must handle failures with an unknown body anyway.
            Kind::Response if !self.place.starts_with('2') => {
                ("response".to_owned(), false, Effect::None)
            }
            Kind::Response => ("response".to_owned(), true, Effect::Breaking),
            Kind::Field | Kind::Header | Kind::Items => {
                let is_required = node.has("required");
                let required = if is_required { "required" } else { "optional" };
                let what = format!("{required}, {}", types_in_words(node.types()));
                let is_demanded = is_required && direction == Direction::Request;
                (what, !is_added || is_demanded, Effect::Breaking)
            }
        };
        // A new argument of `new`, or another shape of the type.
        let is_shaped = node.kind == Kind::Alternative || (node.kind == Kind::Field && is_breaking);
        let rust = if is_added && !is_shaped { rust.min(Effect::Additive) } else { rust };
        let change = if is_added { Change::Added { what } } else { Change::Removed { what } };
        self.add(change, Mark::breaking_if(is_breaking), rust);
    }

    /// Compares the facts with this name.
    fn facts(&mut self, name: &str, direction: Direction, from: &Node, to: &Node) {
        let types = [from, to].map(Node::types_besides_null);
        let facts = [(from, &types[0]), (to, &types[1])].map(|(node, types)| match name {
            "type" => types.as_ref(),
            _ => node.facts.get(name),
        });
        let are_numbers = [from, to].iter().all(|node| node.is_only(&["integer", "number"]));
        let is_text = facts.iter().flatten().any(|fact| matches!(fact, Fact::Text(_)));
        let is_exact = facts.iter().flatten().any(|fact| matches!(fact, Fact::Exact(_)));
        let (is_narrower, is_wider) = (includes(facts[0], facts[1]), includes(facts[1], facts[0]));
        let mark = match (name, facts, direction) {
            _ if is_narrower && is_wider => return,
            // Only alternatives need names, and the names of other documents are arbitrary.
            ("$ref", ..) if !self.is_ours => return,
            // The format of a number restricts no value, and in a request it selects no type.
            ("format", _, Direction::Request) if are_numbers && !self.is_ours => return,
            ("format", _, Direction::Request) if are_numbers => Mark::Compatible,
            ("default", [was, _], Direction::Request) => Mark::breaking_if(was.is_some()),
            ("default", ..) if !self.is_ours => return,
            ("default" | "deprecated", ..) => Mark::Compatible,
            ("exact minimum" | "exact maximum", ..) => Mark::Compatible,
            _ if is_text => Mark::Compatible,
            _ if is_exact => Mark::Breaking,
            // A document that states no servers promises nothing about them.
            ("servers", [None, _] | [_, None], _) => Mark::Compatible,
            _ => direction.mark(is_narrower, is_wider),
        };
        let is_flag = facts.contains(&Some(&Fact::Flag));
        let nothing = if is_flag { "false" } else { "none" };
        let rust = effect(name, direction, from, to);
        let [from, to] = match name {
            "type" => [from, to].map(|node| types_in_words(node.types())),
            _ => facts.map(|fact| fact.map_or_else(|| nothing.to_owned(), ToString::to_string)),
        };
        let change = if is_text && rust == Effect::None {
            Change::Reworded { aspect: name.to_owned(), from, to }
        } else {
            changed(name, [from, to])
        };
        self.add(change, mark, rust);
    }
}

impl Direction {
    /// The mark of a change that only narrows or only widens what is allowed, or does both.
    fn mark(self, is_narrower: bool, is_wider: bool) -> Mark {
        Mark::breaking_if(match self {
            Self::Request => !is_wider,
            Self::Response => !is_narrower,
        })
    }
}

fn changed(aspect: &str, [from, to]: [String; 2]) -> Change {
    Change::Changed { aspect: aspect.to_owned(), from, to }
}

/// The effect of different facts with this name.
fn effect(name: &str, direction: Direction, from: &Node, to: &Node) -> Effect {
    let values = [from, to].map(|node| node.facts.get(name));
    let is_in_both = values.iter().all(Option::is_some);
    // Enumerations are `non_exhaustive`, so a new value is a new variant.
    let is_grown = is_in_both && includes(values[1], values[0]);
    let is_schema = values.iter().flatten().any(|name| name.to_string().contains("/schemas/"));
    match (name.split('.').next().unwrap_or(name), direction) {
        // `#[deprecated]` is a warning.
        ("deprecated", _) if to.has(name) => Effect::Additive,
        ("type", _) => Effect::Breaking,
        // An argument of `new` becomes a setter, or the reverse.
        ("required", Direction::Request) => Effect::Breaking,
        ("required", _) => option_changed(direction, from, to),
        // Adding or dropping the whole list changes the type. Responses have text instead.
        ("enum", Direction::Request) | ("x-extensible-enum", _) if is_grown => Effect::Additive,
        ("enum", Direction::Request) | ("x-extensible-enum", _) => Effect::Breaking,
        ("format", Direction::Request) => Effect::breaking_if(from.allows("string")),
        ("format", Direction::Response) => Effect::breaking_if(from.allows("integer")),
        // The types are named after components.
        ("$ref", _) => Effect::breaking_if(is_schema),
        // The keyword selects a type. Its value does not.
        ("x-address" | "x-aspect-ratio" | "x-image" | "x-secret", _) => {
            Effect::breaking_if(!is_in_both)
        }
        // A setter for all references.
        ("x-max-reference-images", _) if !from.has(name) => Effect::Additive,
        ("x-max-reference-images", _) => Effect::breaking_if(!to.has(name)),
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
