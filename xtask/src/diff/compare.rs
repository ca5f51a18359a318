//! Compares two services by the rules of the parent module.

use super::{
    service::Service,
    shape::{ALTERNATIVES, Alternative, Fact, Facts, Shape, includes, keys, parent},
};

/// A difference from the first service to the second.
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// Method and path of each operation that has it.
    pub operations: Vec<String>,
    /// The part of the operation; empty for the operation itself.
    pub place: String,
    pub change: Change,
    /// Whether a caller of the first service may fail, or get something else.
    pub is_breaking: bool,
}

/// The kind of difference.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Only the second has it.
    Added { what: String },
    /// Only the first has it.
    Removed { what: String },
    /// Both have it.
    Changed { aspect: &'static str, from: String, to: String },
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Ordered by the first operation and place.
    pub differences: Vec<Difference>,
    /// The names of the operations that both services have.
    pub common: Vec<String>,
    /// The number of operations that only the first service has, and only the second.
    pub only: [usize; 2],
}

/// Compares two services. The operations that only one has are counted in any case, and are
/// differences unless `only_common`.
pub fn compare(from: &Service, to: &Service, only_common: bool) -> Comparison {
    let mut comparison = Comparison::default();
    for key in keys(from, to) {
        let (from, to) = (from.get(&key), to.get(&key));
        let Some(operation) = from.or(to) else { continue };
        let mut recorder =
            Recorder { operation: &operation.name, found: &mut comparison.differences };
        if let (Some(from), Some(to)) = (from, to) {
            recorder.shapes("", &from.shape, &to.shape);
            comparison.common.push(operation.name.clone());
            continue;
        }
        if !only_common {
            recorder.lone("", "operation".to_owned(), from.is_none(), from.is_some());
        }
        comparison.only[usize::from(from.is_none())] += 1;
    }
    comparison
}

/// Records the differences of one operation.
struct Recorder<'a> {
    operation: &'a str,
    found: &'a mut Vec<Difference>,
}

impl Recorder<'_> {
    fn add(&mut self, place: &str, change: Change, is_breaking: bool) {
        let same = self.found.iter_mut().find(|known| {
            (known.place.as_str(), &known.change, known.is_breaking)
                == (place, &change, is_breaking)
        });
        let operation = self.operation.to_owned();
        match same {
            Some(known) => known.operations.push(operation),
            None => self.found.push(Difference {
                operations: vec![operation],
                place: place.to_owned(),
                change,
                is_breaking,
            }),
        }
    }

    fn lone(&mut self, place: &str, what: String, is_added: bool, is_breaking: bool) {
        let change = if is_added { Change::Added { what } } else { Change::Removed { what } };
        self.add(place, change, is_breaking);
    }

    /// Compares two shapes at the place `outer`.
    fn shapes(&mut self, outer: &str, from: &Shape, to: &Shape) {
        let (mut from, mut to) = (from.clone(), to.clone());
        // If one has alternatives, the object of the other is one, too.
        for place in keys(&from.0, &to.0) {
            let has = |shape: &Shape| {
                shape.0.get(&place).is_some_and(|facts| facts.contains_key(ALTERNATIVES))
            };
            match (has(&from), has(&to)) {
                (true, false) => to.split(&place),
                (false, true) => from.split(&place),
                _ => {}
            }
        }
        let anything = Facts::new();
        let mut lone: Option<String> = None;
        for place in keys(&from.0, &to.0) {
            let is_inside = |lone: &String| {
                place.strip_prefix(lone).is_some_and(|rest| rest.starts_with(['.', '[']))
            };
            if lone.as_ref().is_some_and(is_inside) {
                continue;
            }
            // Items of which one service says nothing may be anything.
            let has_holder = [&from, &to].iter().all(|it| it.0.contains_key(parent(&place)));
            let missing =
                (place.is_empty() || (place.ends_with("[]") && has_holder)).then_some(&anything);
            let whole = format!("{outer}{place}");
            match (from.0.get(&place).or(missing), to.0.get(&place).or(missing)) {
                (Some(from), Some(to)) => self.facts(&whole, from, to),
                (Some(facts), None) => {
                    self.part(&whole, facts, false);
                    lone = Some(place);
                }
                (None, facts) => {
                    facts.into_iter().for_each(|facts| self.part(&whole, facts, true));
                    lone = Some(place);
                }
            }
        }
    }

    /// Compares alternatives that are equal, that have the same name, or that have the same
    /// position among the others.
    fn alternatives(&mut self, place: &str, from: &[Alternative], to: &[Alternative]) {
        let (mut from, mut to): (Vec<_>, Vec<_>) = (from.iter().collect(), to.iter().collect());
        let mut pairs = Vec::new();
        let matches: [fn(&Alternative, &Alternative) -> bool; 3] =
            [|a, b| a.1 == b.1, |a, b| a.0 == b.0, |_, _| true];
        for is_match in matches {
            from.retain(|one| {
                let found = to.iter().position(|other| is_match(one, other));
                pairs.extend(found.map(|found| (*one, to.remove(found))));
                found.is_none()
            });
        }
        for ((name, from), (_, to)) in pairs {
            self.shapes(&format!("{place} ({name})"), from, to);
        }
        for (rest, is_added) in [(from, false), (to, true)] {
            for (name, _) in rest {
                let is_breaking = is_added == is_response(place);
                let place = format!("{place} ({name})");
                self.lone(&place, "alternative".to_owned(), is_added, is_breaking);
            }
        }
    }

    /// Records a parameter, a body, a field or a response that only one of the services has.
    fn part(&mut self, place: &str, facts: &Facts, is_added: bool) {
        if is_response(place) && !place.contains(['.', '[']) && !place.contains(" header ") {
            // Callers must handle failures with an unknown body anyway.
            return self.lone(place, "response".to_owned(), is_added, place.starts_with('2'));
        }
        let is_required = facts.contains_key("required");
        let required = if is_required { "required" } else { "optional" };
        let types = facts.get("type").map_or("any type".to_owned(), ToString::to_string);
        let is_breaking = !is_added || (is_required && !is_response(place));
        self.lone(place, format!("{required}, {types}"), is_added, is_breaking);
    }

    /// Compares the facts of a place that both services have.
    fn facts(&mut self, place: &str, from: &Facts, to: &Facts) {
        for name in keys(from, to) {
            let facts = [from.get(name), to.get(name)];
            if name == ALTERNATIVES {
                let [from, to] = facts.map(|fact| match fact {
                    Some(Fact::Alternatives(list)) => list.as_slice(),
                    _ => &[],
                });
                self.alternatives(place, from, to);
                continue;
            }
            let open = facts.map(|fact| matches!(fact, None | Some(Fact::Named(_))));
            let is_narrower = includes(facts[0], facts[1]);
            let is_wider = includes(facts[1], facts[0]);
            let is_breaking = match (name, is_response(place)) {
                _ if is_narrower && is_wider => continue,
                // The format of a number restricts no value.
                ("format", false) if [from, to].iter().all(|facts| are_numbers(facts)) => continue,
                ("default", true) => continue,
                // Callers that omit the field get something else, unless nothing was promised.
                ("default", false) => facts[0].is_some(),
                ("deprecated", _) => false,
                // Callers must handle unnamed values, and without names nothing was promised.
                ("enum", in_response) if open == [true; 2] => {
                    !in_response && !is_wider && !facts.contains(&None)
                }
                // A document that states no servers promises nothing about them.
                ("servers", _) if facts.contains(&None) => false,
                (_, true) => !is_narrower,
                (_, false) => !is_wider,
            };
            let is_flag = facts.contains(&Some(&Fact::Flag));
            let nothing = match name {
                _ if is_flag => "false",
                "type" => "any type",
                _ => "none",
            };
            let [from, to] = facts.map(|it| it.map_or(nothing.to_owned(), ToString::to_string));
            self.add(place, Change::Changed { aspect: name, from, to }, is_breaking);
        }
    }
}

/// Whether a place is a part of a response: those start with the status code.
fn is_response(place: &str) -> bool {
    place.starts_with(|first: char| first.is_ascii_digit()) || place.starts_with("default")
}

fn are_numbers(facts: &Facts) -> bool {
    let Some(Fact::Any(types)) = facts.get("type") else { return false };
    types.iter().all(|name| ["integer", "null", "number"].contains(&name.as_str()))
}
