//! The model for the comparison: a tree of nodes, each with the facts that restrict it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// An operation, or a part of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    pub kind: Kind,
    /// The restrictions by name, which is that of a keyword if there is one. A node without facts
    /// allows anything.
    pub facts: BTreeMap<&'static str, Fact>,
    /// The parts by what follows the place of this node in their places, such as `.name` or `[]`.
    pub parts: BTreeMap<String, Node>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Kind {
    Operation,
    /// A parameter, a body of a request, a header, or a field of an object.
    #[default]
    Field,
    /// The items of an array.
    Items,
    /// A body of a response.
    Response,
    /// The headers of a response.
    Headers,
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
    Lower {
        value: f64,
        exclusive: bool,
    },
    Upper {
        value: f64,
        exclusive: bool,
    },
    Multiple(f64),
    /// The meaning of a missing value.
    Default(String),
    /// Each alternative is a set of credentials that are sent together.
    Credentials(BTreeSet<BTreeSet<String>>),
}

impl Node {
    /// A node that allows no value.
    pub fn nothing() -> Self {
        Self { facts: [("type", Fact::Any(BTreeSet::new()))].into(), ..Self::default() }
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
            let fact = match self.facts.remove(name) {
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
        self
    }

    /// The narrowest node that covers both (`anyOf`).
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
        let mut node = Self { kind: self.kind, ..Self::default() };
        for name in keys(&self.facts, &other.facts) {
            let fact = match (self.facts.get(name), other.facts.get(name)) {
                (Some(a), Some(b)) => a.or(b),
                (Some(only), None) if !concerns(name, &other) => Some(only.clone()),
                (None, Some(only)) if !concerns(name, &self) => Some(only.clone()),
                _ => None,
            };
            node.facts.extend(fact.map(|fact| (name, fact)));
        }
        for name in keys(&self.parts, &other.parts) {
            let parts = [&mut self, &mut other].map(|node| node.parts.remove(&name));
            let part = match parts {
                [Some(a), Some(b)] => Some(a.or(b)),
                [Some(only), None] => only.unless_in(&other),
                [None, Some(only)] => only.unless_in(&self),
                [None, None] => None,
            };
            node.parts.extend(part.map(|part| (name, part)));
        }
        node
    }

    /// This part, if an alternative does not have it.
    fn unless_in(mut self, other: &Self) -> Option<Self> {
        match self.kind {
            Kind::Items => (!other.allows("array")).then_some(self),
            _ => {
                if other.allows("object") {
                    self.facts.remove("required");
                }
                Some(self)
            }
        }
    }

    /// Makes the bounds of an integer inclusive: above 0 is at least 1.
    pub fn count_whole_numbers(&mut self) {
        if !self.is_only(&["integer"]) {
            return;
        }
        for fact in self.facts.values_mut() {
            match fact {
                Fact::Lower { value, exclusive } if *exclusive => {
                    (*value, *exclusive) = (value.floor() + 1.0, false);
                }
                Fact::Upper { value, exclusive } if *exclusive => {
                    (*value, *exclusive) = (value.ceil() - 1.0, false);
                }
                _ => {}
            }
        }
    }
}

/// Whether a fact with this name restricts any value of the node.
fn concerns(name: &str, node: &Node) -> bool {
    match name {
        "minLength" | "maxLength" | "pattern" => node.allows("string"),
        "minItems" | "maxItems" => node.allows("array"),
        "minimum" | "maximum" | "multipleOf" => node.allows("integer"),
        // A default restricts nothing.
        "default" => false,
        _ => true,
    }
}

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

    /// Whether this allows everything that `other` allows.
    fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any(this), Self::Any(other)) => this.is_superset(other),
            (Self::All(this), Self::All(other)) => this.is_subset(other),
            (Self::Lower { value, exclusive }, Self::Lower { value: inner, exclusive: open }) => {
                value < inner || (value == inner && (!exclusive || *open))
            }
            (Self::Upper { value, exclusive }, Self::Upper { value: inner, exclusive: open }) => {
                value > inner || (value == inner && (!exclusive || *open))
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
            (this @ Self::Default(_), _) => this,
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
            (Self::Default(_), _) => Some(self.clone()),
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
            Self::All(names) => f.write_str(&joined(names, " and ")),
            Self::Lower { value, exclusive: true } => write!(f, "above {value}"),
            Self::Upper { value, exclusive: true } => write!(f, "below {value}"),
            Self::Lower { value, .. } | Self::Upper { value, .. } | Self::Multiple(value) => {
                write!(f, "{value}")
            }
            Self::Default(value) => f.write_str(value),
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
