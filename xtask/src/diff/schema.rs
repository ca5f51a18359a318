//! Reads a schema in any OpenAPI notation into a [`Shape`].

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Map, Number, Value};

use super::{
    algebra::{both, either},
    limits::{count_whole_numbers, limits},
    model::{Field, Shape, Types},
};
use crate::contract::Place;

/// The maximum nesting of schemas, with all `$ref`s followed.
const DEPTH: usize = 128;

/// The maximum number of schemas in one document, because nested `$ref`s multiply.
const SCHEMAS: u32 = 200_000;

/// The number of schemas that may still be read.
pub struct Budget(Cell<u32>);

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(SCHEMAS))
    }
}

impl Budget {
    fn spend(&self, node: &Place, schemas: u32) -> anyhow::Result<()> {
        let Some(left) = self.0.get().checked_sub(schemas) else {
            let message =
                format!("too large: more than {SCHEMAS} schemas, with all `$ref`s followed");
            return Err(node.fault(message).into());
        };
        self.0.set(left);
        Ok(())
    }
}

/// What bounds the reading of one schema.
struct Trail<'a, 'b> {
    /// The components that are being read, so that recursion ends.
    components: Vec<Place<'a>>,
    budget: &'b Budget,
}

/// The shape that the schema allows.
pub fn shape(node: &Place, budget: &Budget) -> anyhow::Result<Shape> {
    within(node, &mut Trail { components: Vec::new(), budget }, 0)
}

fn within<'a>(node: &Place<'a>, trail: &mut Trail<'a, '_>, depth: usize) -> anyhow::Result<Shape> {
    if depth > DEPTH {
        return Err(node.fault(format!("schemas are nested deeper than {DEPTH}")).into());
    }
    trail.budget.spend(node, weight(node))?;
    if let Value::Bool(anything) = node.value {
        return Ok(if *anything { Shape::default() } else { nothing() });
    }
    node.object()?;
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
        trail.budget.spend(&part, shape.size())?;
        shape = both(shape, within(&part, trail, depth + 1)?);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(alternatives) = covering(&node.elements_of(keyword)?, trail, depth)? {
            shape = both(shape, alternatives);
        }
    }
    if stated_nullable {
        shape.nullable = Some(true);
    }
    count_whole_numbers(&mut shape);
    Ok(shape)
}

/// The shape without any values.
fn nothing() -> Shape {
    Shape { types: Types(Some(BTreeSet::new())), nullable: Some(false), ..Shape::default() }
}

/// The cost of a schema: one, and more if its text is long, which is copied for every `$ref`.
fn weight(node: &Place) -> u32 {
    let keywords = ["enum", "const", "default", "x-default", "pattern", "format", "required"];
    let texts = keywords.iter().filter_map(|keyword| node.value.get(keyword));
    let texts = texts.map(|value| value.to_string().len());
    let names = node.value.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(Map::keys).map(String::len);
    let length: usize = texts.chain(names).sum();
    u32::try_from(length / 100).unwrap_or(u32::MAX).saturating_add(1)
}

/// The shape of the schema's own keywords, without those that combine schemas.
fn own<'a>(node: &Place<'a>, trail: &mut Trail<'a, '_>, depth: usize) -> anyhow::Result<Shape> {
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
    let items = items(node, trail, depth)?;
    let default = node.get("default").or_else(|| node.get("x-default"));
    let default = default.map(|default| canonical(default.value));
    let closing = ["additionalProperties", "unevaluatedProperties"];
    Ok(Shape {
        deprecated: node.flag("deprecated")?,
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
        closed: closing.iter().any(|keyword| node.value.get(keyword) == Some(&Value::Bool(false))),
        items: items.map(Box::new),
    })
}

/// The shape that covers all items of an array, also of a tuple (`prefixItems`).
fn items<'a>(
    node: &Place<'a>,
    trail: &mut Trail<'a, '_>,
    depth: usize,
) -> anyhow::Result<Option<Shape>> {
    let mut places = node.elements_of("prefixItems")?;
    // A tuple without further items has `"items": false`.
    let closed = |items: &Place| !places.is_empty() && items.value == &Value::Bool(false);
    let further = node.get("items").filter(|items| !closed(items));
    places.extend(further);
    covering(&places, trail, depth)
}

/// The narrowest shape that covers all of these schemas; `None` if there are none.
fn covering<'a>(
    places: &[Place<'a>],
    trail: &mut Trail<'a, '_>,
    depth: usize,
) -> anyhow::Result<Option<Shape>> {
    let mut covering: Option<Shape> = None;
    for place in places {
        let shape = within(place, trail, depth + 1)?;
        covering = Some(match covering {
            Some(others) => {
                trail.budget.spend(place, others.size())?;
                either(others, shape)
            }
            None => shape,
        });
    }
    Ok(covering)
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
            let implied = [("properties", "object"), ("items", "array"), ("prefixItems", "array")];
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
