//! Compares the operations of two services by the rules of the parent module.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    difference::{Change, Difference, Direction, Finding, Mark},
    model::{Operation, Relation, Service},
    rust_api::{self, Effect},
    values::Site,
};

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
    for pair in pairs(&from.operations, &to.operations) {
        let (Pair::Both(_, operation, _) | Pair::From(_, operation) | Pair::To(_, operation)) =
            pair;
        let mut recorder =
            Recorder { operation: &operation.name, found: &mut comparison.differences };
        let what = "operation".to_owned();
        match pair {
            Pair::Both(_, from, to) => {
                recorder.operations(from, to);
                comparison.common.push(operation.name.clone());
            }
            Pair::From(..) => {
                comparison.only_from += 1;
                if !only_common {
                    let change = Change::Removed { what };
                    recorder.add(None, change, Mark::Breaking, Effect::Breaking);
                }
            }
            Pair::To(..) => {
                comparison.only_to += 1;
                if !only_common {
                    let change = Change::Added { what };
                    recorder.add(None, change, Mark::Compatible, Effect::Additive);
                }
            }
        }
    }
    comparison
}

pub enum Pair<'a, Part> {
    Both(&'a str, &'a Part, &'a Part),
    From(&'a str, &'a Part),
    To(&'a str, &'a Part),
}

pub fn pairs<'a, Part>(
    from: &'a BTreeMap<String, Part>,
    to: &'a BTreeMap<String, Part>,
) -> impl Iterator<Item = Pair<'a, Part>> {
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    names.into_iter().filter_map(|name| match (from.get(name), to.get(name)) {
        (Some(from), Some(to)) => Some(Pair::Both(name.as_str(), from, to)),
        (Some(from), None) => Some(Pair::From(name.as_str(), from)),
        (None, Some(to)) => Some(Pair::To(name.as_str(), to)),
        (None, None) => None,
    })
}

/// Records the differences of one operation.
pub struct Recorder<'a> {
    operation: &'a str,
    found: &'a mut Vec<Difference>,
}

impl Recorder<'_> {
    pub fn add(&mut self, place: Option<&str>, change: Change, mark: Mark, rust: Effect) {
        let place = place.map(str::to_owned);
        let finding = Finding { place, change, mark, rust };
        self.found.push(Difference { operation: self.operation.to_owned(), finding });
    }

    fn operations(&mut self, from: &Operation, to: &Operation) {
        self.deprecation(None, from.deprecated, to.deprecated);
        self.authentication(from, to);
        self.servers(from, to);
        self.fields(Direction::Request, "", &from.request, &to.request);
        self.responses(from, to);
    }

    pub fn deprecation(&mut self, place: Option<&str>, from: bool, to: bool) {
        if from != to {
            let rust = rust_api::deprecation_changed(to);
            let (from, to) = (from.to_string(), to.to_string());
            let change = Change::Changed { aspect: "deprecated", from, to };
            self.add(place, change, Mark::Compatible, rust);
        }
    }

    fn authentication(&mut self, from: &Operation, to: &Operation) {
        let relation = from.authentication.relation(&to.authentication);
        if relation != Relation::Same {
            let (from, to) = (from.authentication.to_string(), to.authentication.to_string());
            let change = Change::Changed { aspect: "authentication", from, to };
            self.add(None, change, Direction::Request.mark(relation), Effect::None);
        }
    }

    fn servers(&mut self, from: &Operation, to: &Operation) {
        let (from, to) = (&from.servers, &to.servers);
        if from == to {
            return;
        }
        // A document that states no servers promises nothing about them.
        let mark = match (from, to) {
            (Some(_), Some(_)) => {
                Direction::Request.mark(Relation::of_sets(from.as_ref(), to.as_ref()))
            }
            _ => Mark::Compatible,
        };
        let [from, to] = [from, to].map(|urls| match urls {
            Some(urls) => urls.iter().cloned().collect::<Vec<_>>().join(", "),
            None => "none".into(),
        });
        let change = Change::Changed { aspect: "servers", from, to };
        self.add(None, change, mark, Effect::None);
    }

    fn responses(&mut self, from: &Operation, to: &Operation) {
        for pair in pairs(&from.responses, &to.responses) {
            let what = "response".to_owned();
            match pair {
                Pair::Both(status, from, to) => {
                    let site = Site::new(Direction::Response, status, Effect::Breaking);
                    self.shapes(&site, from, to);
                }
                Pair::From(status, _) => {
                    let success = is_success(status);
                    let rust = Effect::breaking_if(success);
                    let change = Change::Removed { what };
                    self.add(Some(status), change, Mark::breaking_if(success), rust);
                }
                Pair::To(status, _) => {
                    let success = is_success(status);
                    let rust = if success { Effect::Additive } else { Effect::None };
                    let change = Change::Added { what };
                    self.add(Some(status), change, Mark::breaking_if(success), rust);
                }
            }
        }
        for pair in pairs(&from.headers, &to.headers) {
            if let Pair::Both(status, from, to) = pair {
                self.fields(Direction::Header, &format!("{status} header "), from, to);
            }
        }
    }
}

fn is_success(status: &str) -> bool {
    status.starts_with('2')
}
