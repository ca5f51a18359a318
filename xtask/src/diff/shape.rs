//! What a request, a response or a schema allows: facts about each of its places.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// The restrictions of a place by name, which is that of a keyword if there is one. A place
/// without facts allows anything.
pub type Facts = BTreeMap<&'static str, Fact>;

/// The name of the fact that an object has no other fields than those listed.
pub const CLOSED: &str = "unknown fields rejected";

/// The name of the fact that the value is one of several objects.
pub const ALTERNATIVES: &str = "alternatives";

/// One of several objects, with the name of its component or its position.
pub type Alternative = (String, Shape);

/// The facts by place, such as `.subjects[].image`. The empty place is the value itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape(pub BTreeMap<String, Facts>);

/// A restriction.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// The place is required, deprecated, or rejects unknown fields.
    Flag,
    /// One of these applies: types, values, credentials or servers.
    Any(BTreeSet<String>),
    /// Any text, of which some values are named: an open enum.
    Named(BTreeSet<String>),
    /// All of these apply: patterns or formats, which can only be compared for equality.
    All(BTreeSet<String>),
    /// The lowest or highest value, which is allowed itself unless it is exclusive.
    Bound {
        value: f64,
        is_upper: bool,
        is_exclusive: bool,
    },
    Multiple(f64),
    /// A default, which can't be narrower or wider.
    Exact(String),
    Alternatives(Vec<Alternative>),
}

impl Shape {
    /// The facts about the value itself.
    pub fn own(&mut self) -> &mut Facts {
        self.0.entry(String::new()).or_default()
    }

    /// Adds the shape of a part.
    pub fn add(&mut self, name: &str, part: Self) {
        self.0.entry(name.to_owned()).or_default();
        for (place, facts) in part.0 {
            let known = self.0.entry(format!("{name}{place}")).or_default();
            *known = all(std::mem::take(known), facts);
        }
    }

    pub fn allow_null(&mut self) {
        if let Some(Fact::Any(types)) = self.own().get_mut("type") {
            types.insert("null".to_owned());
        }
    }

    pub fn allows_object(&self) -> bool {
        self.0.get("").is_none_or(|facts| allows(facts, "object"))
    }

    /// The object as one of several. What a field states about itself stays outside.
    pub fn into_alternative(mut self, name: String) -> Self {
        let is_only = self.0.len() == 1;
        let own = self.own();
        if is_only && own.contains_key(ALTERNATIVES) {
            return self;
        }
        let mut base = Facts::new();
        base.extend(own.get_key_value("type").map(|(name, types)| (*name, types.clone())));
        base.extend(["required", "default"].iter().filter_map(|name| own.remove_entry(name)));
        if let Some(Fact::Any(types)) = own.get_mut("type") {
            types.remove("null");
        }
        base.insert(ALTERNATIVES, Fact::Alternatives(vec![(name, self)]));
        Self([(String::new(), base)].into())
    }

    /// Makes the object at a place the only alternative there, if it is an object.
    pub fn split(&mut self, place: &str) {
        let is_part = |key: &str| {
            let rest = key.strip_prefix(place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let all = std::mem::take(&mut self.0).into_iter();
        let (parts, others): (BTreeMap<_, _>, _) = all.partition(|(key, _)| is_part(key));
        self.0 = others;
        let parts = parts.into_iter().map(|(key, facts)| (key[place.len()..].to_owned(), facts));
        let part = Self(parts.collect());
        let is_object = part.0.contains_key("") && part.allows_object();
        let name = "alternative 1".to_owned();
        for (key, facts) in if is_object { part.into_alternative(name) } else { part }.0 {
            self.0.insert(format!("{place}{key}"), facts);
        }
    }

    fn is_null(&self) -> bool {
        let types = self.0.get("").and_then(|facts| facts.get("type"));
        matches!(types, Some(Fact::Any(types)) if types.iter().eq(["null"]))
    }

    /// The values that both shapes allow (`allOf`, a `$ref` with sibling keywords).
    pub fn and(mut self, other: Self) -> Self {
        self.add("", other);
        self
    }

    /// The narrowest shape that covers both (`anyOf`).
    pub fn or(mut self, mut other: Self) -> Self {
        // A branch that only adds null must not remove the facts of the other.
        if other.is_null() {
            std::mem::swap(&mut self, &mut other);
        }
        if self.is_null() {
            other.allow_null();
            return other;
        }
        if self == other {
            return self;
        }
        let nothing = Facts::new();
        let mut shape = Self::default();
        for place in keys(&self.0, &other.0) {
            let facts = match (self.0.get(&place), other.0.get(&place)) {
                (Some(a), Some(b)) => either(a, b),
                (a, b) => {
                    let mut facts = a.or(b).cloned().unwrap_or_default();
                    let others = if a.is_some() { &other } else { &self };
                    let holder = others.0.get(parent(&place));
                    // Items of which one shape says nothing may be anything.
                    let is_anything = place.ends_with("[]")
                        && holder.is_some_and(|holder| allows(holder, "array"));
                    if is_anything {
                        facts = nothing.clone();
                    } else if holder.is_some_and(|holder| allows(holder, "object")) {
                        facts.remove("required");
                    }
                    facts
                }
            };
            shape.0.insert(place, facts);
        }
        shape
    }
}

/// The place that contains this one.
pub fn parent(place: &str) -> &str {
    place.strip_suffix("[]").or_else(|| Some(place.rsplit_once('.')?.0)).unwrap_or_default()
}

/// The facts that hold if both hold.
fn all(mut facts: Facts, others: Facts) -> Facts {
    for (name, other) in others {
        let fact = match facts.remove(name) {
            Some(own) => own.and(other),
            None => other,
        };
        facts.insert(name, fact);
    }
    facts
}

/// The facts that hold if one or the other holds.
fn either(a: &Facts, b: &Facts) -> Facts {
    let facts = keys(a, b).into_iter().filter_map(|name| {
        let fact = match (a.get(name), b.get(name)) {
            (Some(a), Some(b)) => a.or(b),
            (Some(Fact::Any(values)), None) | (None, Some(Fact::Any(values))) if name == "enum" => {
                let is_open = allows(if a.contains_key(name) { b } else { a }, "string");
                is_open.then(|| Fact::Named(values.clone()))
            }
            (Some(only), None) if !concerns(name, b) => Some(only.clone()),
            (None, Some(only)) if !concerns(name, a) => Some(only.clone()),
            _ => None,
        };
        Some((name, fact?))
    });
    facts.collect()
}

/// Whether a fact with this name restricts any value that the facts allow.
fn concerns(name: &str, facts: &Facts) -> bool {
    match name {
        "minLength" | "maxLength" | "pattern" => allows(facts, "string"),
        "minItems" | "maxItems" => allows(facts, "array"),
        "minimum" | "maximum" | "multipleOf" => allows(facts, "integer"),
        CLOSED | ALTERNATIVES => allows(facts, "object"),
        _ => true,
    }
}

fn allows(facts: &Facts, kind: &str) -> bool {
    match facts.get("type") {
        Some(Fact::Any(types)) => types.contains(kind),
        _ => true,
    }
}

/// The keys of both maps.
pub fn keys<Key: Ord + Clone, A, B>(a: &BTreeMap<Key, A>, b: &BTreeMap<Key, B>) -> BTreeSet<Key> {
    a.keys().chain(b.keys()).cloned().collect()
}

impl Fact {
    /// Whether this allows everything that `other` allows.
    fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any(this), Self::Any(other)) | (Self::Named(this), Self::Named(other)) => {
                this.is_superset(other)
            }
            (Self::Named(_), Self::Any(_)) => true,
            (Self::All(this), Self::All(other)) => this.is_subset(other),
            (
                Self::Bound { value, is_upper, is_exclusive },
                Self::Bound { value: inner, is_exclusive: is_open, .. },
            ) => {
                let is_wider = if *is_upper { value > inner } else { value < inner };
                is_wider || (value == inner && (!is_exclusive || *is_open))
            }
            (Self::Multiple(step), Self::Multiple(inner)) => {
                let ratio = inner / step;
                step == inner || (ratio - ratio.round()).abs() < 1e-9
            }
            (this, other) => this == other,
        }
    }

    /// The values that both facts allow.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any(this), Self::Any(other)) => Self::Any(&this & &other),
            (Self::All(this), Self::All(other)) => Self::All(&this | &other),
            (Self::Alternatives(mut this), Self::Alternatives(other)) => {
                let others = other.into_iter().filter(|one| !this.contains(one));
                let others: Vec<_> = others.collect();
                this.extend(others);
                Self::Alternatives(this)
            }
            (this, other) if this.includes(&other) => other,
            (this, _) => this,
        }
    }

    /// The narrowest fact that covers both, if there is one.
    fn or(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any(this), Self::Any(other)) => Some(Self::Any(this | other)),
            (Self::Any(this) | Self::Named(this), Self::Any(other) | Self::Named(other)) => {
                Some(Self::Named(this | other))
            }
            (Self::Alternatives(_), Self::Alternatives(_)) => Some(self.clone().and(other.clone())),
            _ if self.includes(other) => Some(self.clone()),
            _ if other.includes(self) => Some(other.clone()),
            _ => None,
        }
    }
}

/// Whether the first fact allows everything that the second allows.
pub fn includes(this: Option<&Fact>, other: Option<&Fact>) -> bool {
    match (this, other) {
        (Some(this), Some(other)) => this.includes(other),
        (this, _) => this.is_none(),
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true"),
            Self::Any(names) if names.is_empty() => f.write_str("nothing"),
            // A number may be an integer.
            Self::Any(names) if names.contains("number") => {
                let names = names.iter().filter(|name| *name != "integer");
                f.write_str(&names.map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            Self::Any(names) | Self::All(names) => {
                f.write_str(&names.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            Self::Named(names) => {
                names.iter().try_for_each(|name| write!(f, "{name}, "))?;
                f.write_str("any other")
            }
            Self::Bound { value, is_upper, is_exclusive: true } => {
                write!(f, "{} {value}", if *is_upper { "below" } else { "above" })
            }
            Self::Bound { value, .. } | Self::Multiple(value) => write!(f, "{value}"),
            Self::Exact(value) => f.write_str(value),
            Self::Alternatives(list) => {
                let names: Vec<_> = list.iter().map(|(name, _)| name.as_str()).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}
