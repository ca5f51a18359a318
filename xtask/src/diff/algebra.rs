//! Combines two shapes: what both allow (`allOf`, a `$ref` with sibling keywords), or what either
//! allows (`anyOf`).

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Field, Limit, Shape, Types};

/// The shape of what both shapes allow.
pub fn both(a: Shape, b: Shape) -> Shape {
    let types = match (a.types.spelled_out(), b.types.spelled_out()) {
        (Some(a), Some(b)) => Types::only(a.intersection(&b).cloned()),
        (Some(only), None) | (None, Some(only)) => Types::only(only),
        (None, None) => Types::default(),
    };
    let nullable = match (a.nullable, b.nullable) {
        (Some(a), Some(b)) => Some(a && b),
        (said, None) | (None, said) => said,
    };
    Shape {
        deprecated: a.deprecated || b.deprecated,
        types,
        nullable,
        choices: match (a.choices, b.choices) {
            (Some(a), Some(b)) => Some(a.intersection(&b).cloned().collect()),
            (said, None) | (None, said) => said,
        },
        default: a.default.or(b.default),
        limits: merged(a.limits, b.limits, narrower),
        fields: merged(a.fields, b.fields, |a, b| Field {
            required: a.required || b.required,
            shape: both(a.shape, b.shape),
        }),
        closed: a.closed || b.closed,
        items: match (a.items, b.items) {
            (Some(a), Some(b)) => Some(Box::new(both(*a, *b))),
            (said, None) | (None, said) => said,
        },
    }
}

/// The narrowest shape that covers both shapes.
pub fn either(a: Shape, b: Shape) -> Shape {
    // A shape without any values states no limits: a branch that only adds null must not remove
    // those of the other.
    if a.holds_no_value() || b.holds_no_value() {
        let nullable = Some(a.nullable == Some(true) || b.nullable == Some(true));
        let other = if a.holds_no_value() { b } else { a };
        let nullable = if other.nullable.is_none() { None } else { nullable };
        return Shape { nullable, ..other };
    }
    let types = match (a.types.0.clone(), b.types.0.clone()) {
        (Some(a), Some(b)) => Types::only(a.into_iter().chain(b)),
        _ => Types::default(),
    };
    let nullable = match (a.nullable, b.nullable) {
        (Some(a), Some(b)) => Some(a || b),
        _ => None,
    };
    let fields = match (a.types.allow("object"), b.types.allow("object")) {
        (true, true) => fields_of_either(a.fields.clone(), b.fields.clone()),
        (true, false) => a.fields.clone(),
        _ => b.fields.clone(),
    };
    let items = match (a.types.allow("array"), b.types.allow("array")) {
        (true, true) => a.items.clone().zip(b.items.clone()).map(|(a, b)| Box::new(either(*a, *b))),
        (true, false) => a.items.clone(),
        _ => b.items.clone(),
    };
    Shape {
        deprecated: a.deprecated && b.deprecated,
        types,
        nullable,
        limits: limits_of_either(&a, &b),
        choices: a.choices.zip(b.choices).map(|(a, b)| a.union(&b).cloned().collect()),
        default: a.default.or(b.default),
        fields,
        closed: a.closed && b.closed,
        items,
    }
}

fn fields_of_either(
    mut a: BTreeMap<String, Field>,
    mut b: BTreeMap<String, Field>,
) -> BTreeMap<String, Field> {
    let names: BTreeSet<String> = a.keys().chain(b.keys()).cloned().collect();
    let mut fields = BTreeMap::new();
    for name in names {
        let field = match (a.remove(&name), b.remove(&name)) {
            (Some(a), Some(b)) => {
                Field { required: a.required && b.required, shape: either(a.shape, b.shape) }
            }
            (Some(only), None) | (None, Some(only)) => Field { required: false, ..only },
            (None, None) => continue,
        };
        fields.insert(name, field);
    }
    fields
}

/// Keeps a limit if each alternative that it concerns has one.
fn limits_of_either(a: &Shape, b: &Shape) -> BTreeMap<&'static str, Limit> {
    let keywords: BTreeSet<_> = a.limits.keys().chain(b.limits.keys()).copied().collect();
    let mut limits = BTreeMap::new();
    for keyword in keywords {
        let limit = match (a.limits.get(keyword), b.limits.get(keyword)) {
            (Some(a), Some(b)) if a.includes(b) => Some(a),
            (Some(a), Some(b)) if b.includes(a) => Some(b),
            (Some(only), None) if !concerns(keyword, &b.types) => Some(only),
            (None, Some(only)) if !concerns(keyword, &a.types) => Some(only),
            _ => None,
        };
        if let Some(limit) = limit {
            limits.insert(keyword, limit.clone());
        }
    }
    limits
}

fn concerns(keyword: &str, types: &Types) -> bool {
    match keyword {
        "minLength" | "maxLength" | "pattern" => types.allow("string"),
        "minItems" | "maxItems" => types.allow("array"),
        "minimum" | "maximum" | "multipleOf" => types.allow("integer"),
        _ => true,
    }
}

fn narrower(a: Limit, b: Limit) -> Limit {
    match (&a, &b) {
        (Limit::Exact(first), Limit::Exact(second)) if first != second => {
            let (first, second) = if first < second { (first, second) } else { (second, first) };
            Limit::Exact(format!("{first} and {second}"))
        }
        _ if a.includes(&b) => b,
        _ => a,
    }
}

fn merged<Key: Ord, Part>(
    mut a: BTreeMap<Key, Part>,
    b: BTreeMap<Key, Part>,
    join: impl Fn(Part, Part) -> Part,
) -> BTreeMap<Key, Part> {
    for (key, part) in b {
        let part = match a.remove(&key) {
            Some(first) => join(first, part),
            None => part,
        };
        a.insert(key, part);
    }
    a
}
