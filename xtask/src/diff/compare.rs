//! Compares two services by the rules of the parent module.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    describe,
    model::{Field, Operation, Relation, Service, Shape},
};

/// A difference, from ours to theirs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Method and path.
    pub operation: String,
    /// The part of the operation; `None` for the operation itself.
    pub place: Option<String>,
    #[serde(flatten)]
    pub change: Change,
    pub mark: Mark,
}

/// The kind of difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum Change {
    /// Only theirs has it.
    Added { what: String },
    /// Only ours has it.
    Removed { what: String },
    /// Both have it.
    Changed { aspect: &'static str, ours: String, theirs: String },
}

/// The effect on callers of our document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    Breaking,
    Compatible,
}

impl Mark {
    fn breaking_if(breaking: bool) -> Self {
        if breaking { Self::Breaking } else { Self::Compatible }
    }
}

/// The direction in which the value is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Response,
}

impl Direction {
    fn mark(self, relation: Relation) -> Mark {
        let harmless = match self {
            Self::Request => Relation::Widened,
            Self::Response => Relation::Narrowed,
        };
        Mark::breaking_if(relation != harmless)
    }
}

/// All differences, ordered by operation and place.
pub fn differences(ours: &Service, theirs: &Service) -> Vec<Difference> {
    let mut found = Vec::new();
    for pair in pairs(&ours.operations, &theirs.operations) {
        let (Pair::Both(_, operation, _) | Pair::Ours(_, operation) | Pair::Theirs(_, operation)) =
            pair;
        let mut comparison = Comparison { operation: &operation.name, found: &mut found };
        let what = || "operation".to_owned();
        match pair {
            Pair::Both(_, ours, theirs) => comparison.operations(ours, theirs),
            Pair::Ours(..) => {
                comparison.add(None, Change::Removed { what: what() }, Mark::Breaking)
            }
            Pair::Theirs(..) => {
                comparison.add(None, Change::Added { what: what() }, Mark::Compatible)
            }
        }
    }
    found
}

enum Pair<'a, Part> {
    Both(&'a str, &'a Part, &'a Part),
    Ours(&'a str, &'a Part),
    Theirs(&'a str, &'a Part),
}

fn pairs<'a, Part>(
    ours: &'a BTreeMap<String, Part>,
    theirs: &'a BTreeMap<String, Part>,
) -> impl Iterator<Item = Pair<'a, Part>> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    names.into_iter().filter_map(|name| match (ours.get(name), theirs.get(name)) {
        (Some(ours), Some(theirs)) => Some(Pair::Both(name.as_str(), ours, theirs)),
        (Some(ours), None) => Some(Pair::Ours(name.as_str(), ours)),
        (None, Some(theirs)) => Some(Pair::Theirs(name.as_str(), theirs)),
        (None, None) => None,
    })
}

struct Comparison<'a> {
    operation: &'a str,
    found: &'a mut Vec<Difference>,
}

impl Comparison<'_> {
    fn operations(&mut self, ours: &Operation, theirs: &Operation) {
        if ours.deprecated != theirs.deprecated {
            let (ours, theirs) = (ours.deprecated.to_string(), theirs.deprecated.to_string());
            self.add(
                None,
                Change::Changed { aspect: "deprecated", ours, theirs },
                Mark::Compatible,
            );
        }
        self.fields(Direction::Request, "", &ours.request, &theirs.request);
        for pair in pairs(&ours.responses, &theirs.responses) {
            let what = "response".to_owned();
            match pair {
                Pair::Both(status, ours, theirs) => {
                    self.shapes(Direction::Response, status, ours, theirs)
                }
                Pair::Ours(status, _) => {
                    self.add(
                        Some(status),
                        Change::Removed { what },
                        Mark::breaking_if(is_success(status)),
                    );
                }
                Pair::Theirs(status, _) => {
                    self.add(
                        Some(status),
                        Change::Added { what },
                        Mark::breaking_if(is_success(status)),
                    );
                }
            }
        }
    }

    fn fields(
        &mut self,
        direction: Direction,
        prefix: &str,
        ours: &BTreeMap<String, Field>,
        theirs: &BTreeMap<String, Field>,
    ) {
        for pair in pairs(ours, theirs) {
            match pair {
                Pair::Both(name, ours, theirs) => {
                    let place = format!("{prefix}{name}");
                    let relation = Relation::of_restrictions(ours.required, theirs.required);
                    self.changed(
                        direction,
                        &place,
                        "required",
                        relation,
                        [ours.required, theirs.required],
                    );
                    self.shapes(direction, &place, &ours.shape, &theirs.shape);
                }
                Pair::Ours(name, field) => {
                    let what = describe::field(field);
                    self.add(
                        Some(&format!("{prefix}{name}")),
                        Change::Removed { what },
                        Mark::Breaking,
                    );
                }
                Pair::Theirs(name, field) => {
                    let what = describe::field(field);
                    let breaking = direction == Direction::Request && field.required;
                    self.add(
                        Some(&format!("{prefix}{name}")),
                        Change::Added { what },
                        Mark::breaking_if(breaking),
                    );
                }
            }
        }
    }

    fn shapes(&mut self, direction: Direction, place: &str, ours: &Shape, theirs: &Shape) {
        let relation = Relation::of_sets(
            ours.types.spelled_out().as_ref(),
            theirs.types.spelled_out().as_ref(),
        );
        self.changed(
            direction,
            place,
            "type",
            relation,
            [describe::types(&ours.types), describe::types(&theirs.types)],
        );
        if let (Some(ours), Some(theirs)) = (ours.nullable, theirs.nullable) {
            let relation = Relation::of_restrictions(!ours, !theirs);
            self.changed(direction, place, "nullable", relation, [ours, theirs]);
        }
        let relation = Relation::of_sets(ours.choices.as_ref(), theirs.choices.as_ref());
        let choices =
            [describe::choices(ours.choices.as_ref()), describe::choices(theirs.choices.as_ref())];
        self.changed(direction, place, "enum", relation, choices);
        self.limits(direction, place, ours, theirs);
        if direction == Direction::Request && ours.default != theirs.default {
            let change = Change::Changed {
                aspect: "default",
                ours: describe::value(ours.default.as_ref()),
                theirs: describe::value(theirs.default.as_ref()),
            };
            self.add(Some(place), change, Mark::breaking_if(ours.default.is_some()));
        }
        let relation = Relation::of_restrictions(ours.closed, theirs.closed);
        self.changed(
            direction,
            place,
            "unknown fields allowed",
            relation,
            [!ours.closed, !theirs.closed],
        );
        self.fields(direction, &format!("{place}."), &ours.fields, &theirs.fields);
        if ours.items.is_some() || theirs.items.is_some() {
            let anything = Shape::default();
            let [ours, theirs] =
                [&ours.items, &theirs.items].map(|items| items.as_deref().unwrap_or(&anything));
            self.shapes(direction, &format!("{place}[]"), ours, theirs);
        }
    }

    fn limits(&mut self, direction: Direction, place: &str, ours: &Shape, theirs: &Shape) {
        let keywords: BTreeSet<_> =
            ours.limits.keys().chain(theirs.limits.keys()).copied().collect();
        for keyword in keywords {
            let (ours, theirs) = (ours.limits.get(keyword), theirs.limits.get(keyword));
            let relation = Relation::of_limits(ours, theirs);
            let described = [describe::limit(ours), describe::limit(theirs)];
            self.changed(direction, place, keyword, relation, described);
        }
    }

    fn changed<Side: ToString>(
        &mut self,
        direction: Direction,
        place: &str,
        aspect: &'static str,
        relation: Relation,
        [ours, theirs]: [Side; 2],
    ) {
        if relation != Relation::Same {
            let change =
                Change::Changed { aspect, ours: ours.to_string(), theirs: theirs.to_string() };
            self.add(Some(place), change, direction.mark(relation));
        }
    }

    fn add(&mut self, place: Option<&str>, change: Change, mark: Mark) {
        let place = place.map(str::to_owned);
        self.found.push(Difference { operation: self.operation.to_owned(), place, change, mark });
    }
}

fn is_success(status: &str) -> bool {
    status.starts_with('2')
}
