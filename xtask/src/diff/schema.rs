//! Reads a schema in any OpenAPI notation into a [`Shape`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

use super::{
    algebra::{both, either},
    model::{Field, Limit, Shape, Types},
};
use crate::contract::Place;

/// The maximum nesting of schemas, with all `$ref`s followed.
const DEPTH: usize = 128;

/// The maximum number of schemas in one schema, because nested `$ref`s multiply.
const SCHEMAS: u32 = 200_000;

/// What bounds the reading of one schema.
struct Trail<'a> {
    /// The components that are being read, so that recursion ends.
    components: Vec<Place<'a>>,
    schemas_left: u32,
}

/// The shape that the schema allows.
pub fn shape(node: &Place) -> anyhow::Result<Shape> {
    within(node, &mut Trail { components: Vec::new(), schemas_left: SCHEMAS }, 0)
}

fn within<'a>(node: &Place<'a>, trail: &mut Trail<'a>, depth: usize) -> anyhow::Result<Shape> {
    if depth > DEPTH {
        return Err(node.fault(format!("schemas are nested deeper than {DEPTH}")).into());
    }
    if trail.schemas_left == 0 {
        let message = format!("too large: more than {SCHEMAS} schemas, with all `$ref`s followed");
        return Err(node.fault(message).into());
    }
    trail.schemas_left -= 1;
    match node.value {
        Value::Bool(true) => return Ok(Shape::default()),
        Value::Bool(false) => {
            return Ok(Shape {
                types: Types(Some(BTreeSet::new())),
                nullable: Some(false),
                ..Shape::default()
            });
        }
        _ => node.object()?,
    };
    let mut shape = own(node, trail, depth)?;
    // A `nullable` next to a `$ref` takes precedence over the component.
    let stated_nullable = shape.nullable == Some(true);
    if let Some(target) = node.referred()?
        && !trail.components.iter().any(|place| place.is(&target))
    {
        trail.components.push(target);
        shape = both(shape, within(&target, trail, depth + 1)?);
        trail.components.pop();
    }
    for part in node.elements_of("allOf")? {
        shape = both(shape, within(&part, trail, depth + 1)?);
    }
    for keyword in ["anyOf", "oneOf"] {
        let mut alternatives: Option<Shape> = None;
        for branch in node.elements_of(keyword)? {
            let branch = within(&branch, trail, depth + 1)?;
            alternatives = Some(match alternatives {
                Some(others) => either(others, branch),
                None => branch,
            });
        }
        if let Some(alternatives) = alternatives {
            shape = both(shape, alternatives);
        }
    }
    if stated_nullable {
        shape.nullable = Some(true);
    }
    count_whole_numbers(&mut shape);
    Ok(shape)
}

/// The shape of the schema's own keywords, without those that combine schemas.
fn own<'a>(node: &Place<'a>, trail: &mut Trail<'a>, depth: usize) -> anyhow::Result<Shape> {
    let choices = choices(node)?;
    let (types, nullable) = types(node, choices.as_deref())?;
    let mut fields = BTreeMap::new();
    for (name, property) in node.members_of("properties")? {
        let shape = within(&property, trail, depth + 1)?;
        fields.insert(name.to_owned(), Field { required: false, shape });
    }
    for name in node.elements_of("required")? {
        // If the field itself is described elsewhere (in `allOf`), this adds the flag to it.
        let unknown = || Field { required: false, shape: Shape::default() };
        fields.entry(name.string()?.to_owned()).or_insert_with(unknown).required = true;
    }
    let items = match node.get("items") {
        Some(items) => Some(Box::new(within(&items, trail, depth + 1)?)),
        None => None,
    };
    let default = node.get("default").or_else(|| node.get("x-default"));
    let default = default.map(|default| canonical(default.value));
    Ok(Shape {
        types,
        nullable,
        choices: choices.map(|values| {
            values
                .iter()
                .filter(|value| !value.is_null())
                .map(|value| canonical(value).to_string())
                .collect()
        }),
        // A missing field and null are the same if null is the default.
        default: default.filter(|default| !default.is_null()),
        limits: limits(node)?,
        fields,
        closed: node
            .get("additionalProperties")
            .is_some_and(|other| other.value == &Value::Bool(false)),
        items,
    })
}

fn choices<'a>(node: &Place<'a>) -> anyhow::Result<Option<Vec<&'a Value>>> {
    if let Some(only) = node.get("const") {
        return Ok(Some(vec![only.value]));
    }
    match node.get("enum") {
        Some(values) => Ok(Some(values.elements()?.into_iter().map(|value| value.value).collect())),
        None => Ok(None),
    }
}

/// The types besides null, and whether null is allowed. Without `type` they are derived from other
/// keywords.
fn types(node: &Place, choices: Option<&[&Value]>) -> anyhow::Result<(Types, Option<bool>)> {
    let mut names = BTreeSet::new();
    match node.get("type") {
        Some(list) if list.value.is_array() => {
            for name in list.elements()? {
                names.insert(name.string()?.to_owned());
            }
        }
        Some(name) => {
            names.insert(name.string()?.to_owned());
        }
        None => {
            names.extend(choices.into_iter().flatten().map(|value| type_of(value).to_owned()));
            let implied = [("properties", "object"), ("items", "array")];
            names.extend(
                implied
                    .iter()
                    .filter(|(key, _)| node.get(key).is_some())
                    .map(|(_, name)| (*name).to_owned()),
            );
        }
    }
    let said = !names.is_empty();
    let listed_null = choices.is_some_and(|values| values.iter().any(|value| value.is_null()));
    let null = names.remove("null") || node.flag("nullable")? || (said && listed_null);
    let types = if said { Types::only(names) } else { Types::default() };
    Ok((types, if said || null { Some(null) } else { None }))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn limits(node: &Place) -> anyhow::Result<BTreeMap<&'static str, Limit>> {
    let mut limits = BTreeMap::new();
    let number = |keyword: &str| node.get(keyword).map(|limit| limit.number()).transpose();

    let (inclusive, exclusive) = numeric_bound(node, "minimum", "exclusiveMinimum")?;
    let lower = inclusive.map(|value| Limit::Lower { value, exclusive: false });
    let open = exclusive.map(|value| Limit::Lower { value, exclusive: true });
    limits.extend(narrower_of(lower, open).map(|limit| ("minimum", limit)));

    let (inclusive, exclusive) = numeric_bound(node, "maximum", "exclusiveMaximum")?;
    let upper = inclusive.map(|value| Limit::Upper { value, exclusive: false });
    let open = exclusive.map(|value| Limit::Upper { value, exclusive: true });
    limits.extend(narrower_of(upper, open).map(|limit| ("maximum", limit)));

    for keyword in ["minLength", "minItems"] {
        // A minimum length of 0 has no effect.
        let length = number(keyword)?.filter(|value| *value > 0.0);
        limits.extend(length.map(|value| (keyword, Limit::Lower { value, exclusive: false })));
    }
    for keyword in ["maxLength", "maxItems"] {
        limits.extend(
            number(keyword)?.map(|value| (keyword, Limit::Upper { value, exclusive: false })),
        );
    }
    limits.extend(number("multipleOf")?.map(|value| ("multipleOf", Limit::Multiple(value))));
    for keyword in ["pattern", "format"] {
        if let Some(text) = node.get(keyword) {
            limits.insert(keyword, Limit::Exact(text.string()?.to_owned()));
        }
    }
    Ok(limits)
}

/// The inclusive and the exclusive bound. In OpenAPI 3.0 the second is a flag of the first, in 3.1
/// it is a separate number.
fn numeric_bound(
    node: &Place,
    inclusive: &str,
    exclusive: &str,
) -> anyhow::Result<(Option<f64>, Option<f64>)> {
    let bound = node.get(inclusive).map(|bound| bound.number()).transpose()?;
    match node.get(exclusive) {
        Some(flag) if flag.value == &Value::Bool(true) => Ok((None, bound)),
        Some(flag) if flag.value == &Value::Bool(false) => Ok((bound, None)),
        Some(own) => Ok((bound, Some(own.number()?))),
        None => Ok((bound, None)),
    }
}

fn narrower_of(a: Option<Limit>, b: Option<Limit>) -> Option<Limit> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.includes(&b) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Makes the bounds of an integer inclusive: above 0 is at least 1.
fn count_whole_numbers(shape: &mut Shape) {
    if shape.types != Types::only(["integer"]) {
        return;
    }
    for limit in shape.limits.values_mut() {
        match limit {
            Limit::Lower { value, exclusive } if *exclusive => {
                (*value, *exclusive) = (value.floor() + 1.0, false)
            }
            Limit::Upper { value, exclusive } if *exclusive => {
                (*value, *exclusive) = (value.ceil() - 1.0, false)
            }
            _ => {}
        }
    }
}

/// Normalizes numbers: `5.0` becomes `5`.
fn canonical(value: &Value) -> Value {
    /// Above this, a float can't represent every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within bounds")]
            Some(float) if float.fract() == 0.0 && float.abs() < EXACT => {
                Value::Number(Number::from(float as i64))
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), canonical(member))).collect()
        }
        _ => value.clone(),
    }
}
