//! Compares the fields of requests and responses, and their allowed values.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    compare::{Pair, Recorder, pairs},
    describe,
    difference::{Change, Direction, Mark},
    model::{Field, Relation, Shape},
    rust_api::{self, Effect},
};

/// The part of an operation that is compared.
pub struct Site {
    direction: Direction,
    place: String,
    /// The effect in Rust if null becomes allowed, or is no longer allowed.
    null: Effect,
}

impl Site {
    pub fn new(direction: Direction, place: &str, null: Effect) -> Self {
        Self { direction, place: place.to_owned(), null }
    }
}

impl Recorder<'_> {
    pub fn fields(
        &mut self,
        direction: Direction,
        prefix: &str,
        from: &BTreeMap<String, Field>,
        to: &BTreeMap<String, Field>,
    ) {
        for pair in pairs(from, to) {
            let (Pair::Both(name, ..) | Pair::From(name, _) | Pair::To(name, _)) = pair;
            let place = format!("{prefix}{name}");
            match pair {
                Pair::Both(_, from, to) => self.field(direction, place, from, to),
                Pair::From(_, field) => {
                    let change = Change::Removed { what: describe::field(field) };
                    let rust = Effect::Breaking.seen(direction);
                    self.add(Some(&place), change, Mark::Breaking, rust);
                }
                Pair::To(_, field) => {
                    let change = Change::Added { what: describe::field(field) };
                    let breaking = direction == Direction::Request && field.required;
                    let rust = rust_api::field_added(direction, field);
                    self.add(Some(&place), change, Mark::breaking_if(breaking), rust);
                }
            }
        }
    }

    fn field(&mut self, direction: Direction, place: String, from: &Field, to: &Field) {
        let null = rust_api::null_changed(direction, from, to);
        let site = Site { direction, place, null };
        let relation = Relation::of_restrictions(from.required, to.required);
        let rust = rust_api::required_changed(direction, from, to);
        self.changed(&site, "required", relation, [from.required, to.required], rust);
        self.shapes(&site, &from.shape, &to.shape);
    }

    pub fn shapes(&mut self, site: &Site, from: &Shape, to: &Shape) {
        let place = Some(site.place.as_str());
        let breaking = Effect::Breaking.seen(site.direction);
        self.deprecation(place, from.deprecated, to.deprecated);

        let [types, other_types] = [&from.types, &to.types].map(|types| types.spelled_out());
        let relation = Relation::of_sets(types.as_ref(), other_types.as_ref());
        let sides = [describe::types(&from.types), describe::types(&to.types)];
        self.changed(site, "type", relation, sides, breaking);
        if let (Some(from), Some(to)) = (from.nullable, to.nullable) {
            let relation = Relation::of_restrictions(!from, !to);
            self.changed(site, "nullable", relation, [from, to], site.null);
        }
        let (choices, other_choices) = (from.choices.as_ref(), to.choices.as_ref());
        let relation = Relation::of_sets(choices, other_choices);
        let sides = [choices, other_choices].map(describe::choices);
        let rust = rust_api::choices_changed(site.direction, choices, other_choices);
        self.changed(site, "enum", relation, sides, rust);
        self.limits(site, from, to);
        self.defaults(site, from, to);
        let relation = Relation::of_restrictions(from.closed, to.closed);
        let sides = [!from.closed, !to.closed];
        self.changed(site, "unknown fields allowed", relation, sides, Effect::None);

        self.fields(site.direction, &format!("{}.", site.place), &from.fields, &to.fields);
        if from.items.is_some() || to.items.is_some() {
            let anything = Shape::default();
            let [from, to] =
                [&from.items, &to.items].map(|items| items.as_deref().unwrap_or(&anything));
            let null = Effect::breaking_if(site.direction == Direction::Response);
            self.shapes(&Site::new(site.direction, &format!("{}[]", site.place), null), from, to);
        }
    }

    fn limits(&mut self, site: &Site, from: &Shape, to: &Shape) {
        let keywords: BTreeSet<_> = from.limits.keys().chain(to.limits.keys()).copied().collect();
        for keyword in keywords {
            let limits = [from.limits.get(keyword), to.limits.get(keyword)];
            // The format of a number restricts no value, and in requests it selects no type.
            let is_number = from.types.is_number() && to.types.is_number();
            if keyword == "format" && is_number && site.direction == Direction::Request {
                continue;
            }
            let relation = Relation::of_limits(limits[0], limits[1]);
            let rust = rust_api::limit_changed(site.direction, keyword, from);
            self.changed(site, keyword, relation, limits.map(describe::limit), rust);
        }
    }

    fn defaults(&mut self, site: &Site, from: &Shape, to: &Shape) {
        if site.direction == Direction::Request && from.default != to.default {
            let [was, is] = [from, to].map(|shape| describe::value(shape.default.as_ref()));
            let change = Change::Changed { aspect: "default", from: was, to: is };
            let mark = Mark::breaking_if(from.default.is_some());
            self.add(Some(&site.place), change, mark, Effect::None);
        }
    }

    fn changed<Side: ToString>(
        &mut self,
        site: &Site,
        aspect: &'static str,
        relation: Relation,
        [from, to]: [Side; 2],
        rust: Effect,
    ) {
        if relation != Relation::Same {
            let change = Change::Changed { aspect, from: from.to_string(), to: to.to_string() };
            self.add(Some(&site.place), change, site.direction.mark(relation), rust);
        }
    }
}
