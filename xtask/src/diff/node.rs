//! The model for the comparison: a tree of nodes, each with the facts that restrict it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

/// The restrictions by name, which is that of a keyword if there is one.
pub type Facts = BTreeMap<String, Fact>;

/// An operation, or a part of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    pub kind: Kind,
    /// A node without facts allows anything.
    pub facts: Facts,
    /// The parts by what follows the place of this node in their places, such as `.name` or `[]`.
    pub parts: BTreeMap<String, Node>,
    /// Objects of which a value is at least one. The facts and parts of this node hold for all.
    pub alternatives: Vec<Node>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Kind {
    Operation,
    /// A parameter, a body of a request, or a field of an object.
    #[default]
    Field,
    /// The items of an array.
    Items,
    /// A body of a response.
    Response,
    /// A header of a response. The crate has no types for them.
    Header,
    /// One of several objects.
    Alternative,
}

/// A restriction.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// The node is required, deprecated, or rejects unknown fields.
    Flag,
    /// One of these applies: types, values or servers.
    Any(BTreeSet<String>),
    /// All of these apply: patterns or formats, which can only be compared for equality.
    All(BTreeSet<String>),
    /// The lowest or highest value, which is allowed itself unless it is exclusive.
    Bound {
        value: f64,
        is_upper: bool,
        is_exclusive: bool,
    },
    Multiple(f64),
    /// Each alternative is a set of credentials that are sent together.
    Credentials(BTreeSet<BTreeSet<String>>),
    /// Texts for people.
    Text(BTreeSet<String>),
    /// Values that can't be narrower or wider, such as a default.
    Exact(BTreeSet<String>),
}

impl Node {
    /// The name of the component that a schema refers to.
    pub fn name(&self) -> Option<&str> {
        match self.facts.get("$ref") {
            Some(Fact::Text(names)) => names.first()?.trim_end_matches('"').rsplit('/').next(),
            _ => None,
        }
    }

    pub fn has(&self, flag: &str) -> bool {
        self.facts.contains_key(flag)
    }

    /// The allowed types; `None` if they are not restricted. `number` comes with `integer`, which
    /// it includes.
    pub fn types(&self) -> Option<&BTreeSet<String>> {
        match self.facts.get("type") {
            Some(Fact::Any(types)) => Some(types),
            _ => None,
        }
    }

    pub fn types_besides_null(&self) -> Option<Fact> {
        let names = self.types()?.iter().filter(|name| *name != "null");
        Some(Fact::Any(names.cloned().collect()))
    }

    pub fn allows(&self, kind: &str) -> bool {
        self.types().is_none_or(|types| types.contains(kind))
    }

    /// Whether null is stated to be allowed.
    pub fn is_nullable(&self) -> bool {
        self.types().is_some_and(|types| types.contains("null"))
    }

    /// Whether these are the only types besides null.
    pub fn is_only(&self, kinds: &[&str]) -> bool {
        let is_one = |kind: &String| kind == "null" || kinds.contains(&kind.as_str());
        self.types().is_some_and(|types| types.iter().all(is_one))
    }

    pub fn allow_null(&mut self) {
        if let Some(Fact::Any(types)) = self.facts.get_mut("type") {
            types.insert("null".to_owned());
        }
    }

    /// The values that both nodes allow (`allOf`, a `$ref` with sibling keywords).
    pub fn and(mut self, other: Self) -> Self {
        for (name, fact) in other.facts {
            let fact = match self.facts.remove(&name) {
                Some(own) => own.and(fact),
                None => fact,
            };
            self.facts.insert(name, fact);
        }
        for (name, part) in other.parts {
            let part = match self.parts.remove(&name) {
                Some(own) => own.and(part),
                None => part,
            };
            self.parts.insert(name, part);
        }
        self.alternatives.extend(other.alternatives);
        self
    }

    /// The narrowest node that covers both (`anyOf`). Objects are kept as alternatives.
    pub fn or(mut self, mut other: Self) -> Self {
        // A branch that only adds null must not remove the facts of the other.
        if other.is_only(&[]) {
            std::mem::swap(&mut self, &mut other);
        }
        if self.is_only(&[]) {
            if self.is_nullable() {
                other.allow_null();
            }
            return other;
        }
        if self == other {
            return self;
        }
        if self.allows("object") && other.allows("object") {
            [self, other] = [self, other].map(Self::into_alternatives);
        }
        let mut node = Self { kind: self.kind, ..Self::default() };
        for either in [&mut self, &mut other] {
            node.alternatives.append(&mut either.alternatives);
        }
        for name in keys(&self.facts, &other.facts) {
            let fact = match (self.facts.get(&name), other.facts.get(&name)) {
                (Some(a), Some(b)) => a.or(b),
                (Some(only), None) if !concerns(&name, &other) => Some(only.clone()),
                (None, Some(only)) if !concerns(&name, &self) => Some(only.clone()),
                _ => None,
            };
            node.facts.extend(fact.map(|fact| (name, fact)));
        }
        // Only one of them has fields, and both may have items.
        let are_arrays = self.allows("array") && other.allows("array");
        let mut parts = other.parts;
        for (name, part) in self.parts {
            node.parts.extend(match parts.remove(&name) {
                Some(other) => Some((name, part.or(other))),
                None => (part.kind != Kind::Items || !are_arrays).then_some((name, part)),
            });
        }
        parts.retain(|_, part| part.kind != Kind::Items || !are_arrays);
        node.parts.append(&mut parts);
        node
    }

    /// The node as one of several objects. What a field states about itself stays outside.
    pub fn into_alternatives(mut self) -> Self {
        if !self.alternatives.is_empty() {
            return self;
        }
        let mut base = Self { kind: self.kind, ..Self::default() };
        base.facts.extend(self.facts.get("type").map(|types| ("type".into(), types.clone())));
        let own = ["required", "default"].into_iter();
        base.facts.extend(own.filter_map(|name| self.facts.remove_entry(name)));
        if let Some(Fact::Any(types)) = self.facts.get_mut("type") {
            types.remove("null");
        }
        base.alternatives.push(Self { kind: Kind::Alternative, ..self });
        base
    }
}

/// Whether a fact with this name restricts any value of the node.
fn concerns(name: &str, node: &Node) -> bool {
    match name {
        "minLength" | "maxLength" | "pattern" => node.allows("string"),
        "minItems" | "maxItems" => node.allows("array"),
        "minimum" | "maximum" | "multipleOf" => node.allows("integer"),
        "type" | "enum" | "format" | "required" | "deprecated" | CLOSED => true,
        // The others restrict nothing, or hold for one of several types that are read as one.
        _ => false,
    }
}

/// The name of the fact that an object has no other fields than those listed.
pub const CLOSED: &str = "unknown fields rejected";

/// The keys of both maps.
pub fn keys<Key: Ord + Clone, A, B>(a: &BTreeMap<Key, A>, b: &BTreeMap<Key, B>) -> BTreeSet<Key> {
    a.keys().chain(b.keys()).cloned().collect()
}

impl Fact {
    /// The fact for these types.
    pub fn types<Name: Into<String>>(names: impl IntoIterator<Item = Name>) -> Self {
        let mut names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        if names.contains("number") {
            names.insert("integer".to_owned());
        }
        Self::Any(names)
    }

    pub fn lower(value: f64) -> Self {
        Self::Bound { value, is_upper: false, is_exclusive: false }
    }

    pub fn upper(value: f64) -> Self {
        Self::Bound { value, is_upper: true, is_exclusive: false }
    }

    /// Whether this allows everything that `other` allows.
    fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any(this), Self::Any(other)) => this.is_superset(other),
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
            // Further credentials do no harm.
            (Self::Credentials(accepted), Self::Credentials(sent)) => {
                sent.iter().all(|sent| accepted.iter().any(|needed| needed.is_subset(sent)))
            }
            (this, other) => this == other,
        }
    }

    /// The values that both facts allow.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any(this), Self::Any(other)) => Self::Any(&this & &other),
            (Self::All(this), Self::All(other)) => Self::All(&this | &other),
            (Self::Text(this), Self::Text(other)) => Self::Text(&this | &other),
            (Self::Exact(this), Self::Exact(other)) => Self::Exact(&this | &other),
            (this, other) if this.includes(&other) => other,
            (this, _) => this,
        }
    }

    /// The narrowest fact that covers both, if there is one.
    fn or(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any(this), Self::Any(other)) => Some(Self::Any(this | other)),
            (Self::All(this), Self::All(other)) => {
                let common = this & other;
                (!common.is_empty()).then_some(Self::All(common))
            }
            (Self::Text(this), Self::Text(other)) => Some(Self::Text(this | other)),
            (Self::Exact(this), Self::Exact(other)) => Some(Self::Exact(this | other)),
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
        let joined = |names: &BTreeSet<String>, separator: &str| {
            names.iter().map(String::as_str).collect::<Vec<_>>().join(separator)
        };
        match self {
            Self::Flag => f.write_str("true"),
            Self::Any(names) => f.write_str(&joined(names, ", ")),
            Self::All(names) | Self::Text(names) | Self::Exact(names) => {
                f.write_str(&joined(names, " and "))
            }
            Self::Bound { value, is_upper, is_exclusive: true } => {
                write!(f, "{} {value}", if *is_upper { "below" } else { "above" })
            }
            Self::Bound { value, .. } | Self::Multiple(value) => write!(f, "{value}"),
            Self::Credentials(alternatives) => {
                let alternatives = alternatives.iter().map(|sent| joined(sent, " and "));
                f.write_str(&alternatives.collect::<Vec<_>>().join(" or "))
            }
        }
    }
}

/// The types besides null in words.
pub fn types_in_words(types: Option<&BTreeSet<String>>) -> String {
    let Some(types) = types else { return "any type".to_owned() };
    let is_shown =
        |name: &&String| *name != "null" && !(*name == "integer" && types.contains("number"));
    let names: Vec<_> = types.iter().filter(is_shown).map(String::as_str).collect();
    if names.is_empty() { "no type".to_owned() } else { names.join(" or ") }
}

/// The value as JSON, in which `5.0` is `5`.
pub fn canonical(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => number.to_string(),
        _ => value.to_string(),
    }
}
