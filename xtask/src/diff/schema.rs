//! Reads a schema in any OpenAPI notation into a [`Shape`].

use std::collections::BTreeSet;

use serde_json::Value;

use super::shape::{Alternative, CLOSED, Fact, Facts, Shape};
use crate::contract::{DocumentNode, Faults};

/// The maximum number of schemas in one document, because nested `$ref`s multiply.
const SCHEMAS: usize = 200_000;

/// The range of `int64`, from its negative to itself.
const RANGE: f64 = (1_u64 << 63) as f64;

/// Reads the schemas of one document.
#[derive(Default)]
pub struct Reader<'a> {
    /// The number of schemas that were read.
    count: usize,
    /// The components that are being read, so that recursion ends.
    open: Vec<DocumentNode<'a>>,
}

impl<'a> Reader<'a> {
    /// The values that the schema allows. A recursive component is expanded once.
    pub fn read(&mut self, place: &DocumentNode<'a>) -> Result<Shape, Faults> {
        self.count += 1;
        if self.count > SCHEMAS {
            let message = format!("more than {SCHEMAS} schemas, with all `$ref`s followed");
            return Err(place.fault(message));
        }
        place.must_not_recur()?;
        let mut shape = Shape::default();
        if let Value::Bool(anything) = place.value {
            shape.own().extend((!anything).then(|| ("type", Fact::Any(BTreeSet::new()))));
            return Ok(shape);
        }
        place.object()?;
        self.own(place, &mut shape)?;
        if let Some(target) = place.referred()?
            && !self.open.iter().any(|component| component.is(&target))
        {
            self.open.push(target);
            shape = shape.and(self.read(&target)?);
            self.open.pop();
        }
        for part in place.elements_of("allOf")? {
            shape = shape.and(self.read(&part)?);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(alternatives) = self.covering(&place.elements_of(keyword)?)? {
                shape = shape.and(alternatives);
            }
        }
        // A `nullable` next to a `$ref` takes precedence over the component.
        if place.flag("nullable")? {
            shape.allow_null();
        }
        Ok(shape)
    }

    /// The narrowest shape that covers all of these schemas; `None` if there are none. Different
    /// objects among them stay apart.
    fn covering(&mut self, places: &[DocumentNode<'a>]) -> Result<Option<Shape>, Faults> {
        let mut shapes: Vec<Alternative> = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let shape = self.read(place)?;
            let reference = place.value.get("$ref").and_then(Value::as_str);
            let name = reference.and_then(|reference| reference.rsplit('/').next());
            let name = name.map_or_else(|| format!("alternative {}", index + 1), str::to_owned);
            if !shapes.iter().any(|(_, known)| *known == shape) {
                shapes.push((name, shape));
            }
        }
        let objects = shapes.iter().filter(|(_, shape)| shape.allows_object()).count();
        let shapes = shapes.into_iter().map(|(name, shape)| {
            let is_one_of_several = objects > 1 && shape.allows_object();
            if is_one_of_several { shape.into_alternative(name) } else { shape }
        });
        Ok(shapes.reduce(Shape::or))
    }

    /// Adds what the schema's own keywords allow, without those that combine schemas.
    fn own(&mut self, place: &DocumentNode<'a>, shape: &mut Shape) -> Result<(), Faults> {
        for (name, property) in place.members_of("properties")? {
            shape.add(&format!(".{name}"), self.read(&property)?);
        }
        for name in place.elements_of("required")? {
            // If the field itself is described elsewhere (in `allOf`), this adds the flag to it.
            let field = shape.0.entry(format!(".{}", name.string()?)).or_default();
            field.insert("required", Fact::Flag);
        }
        // The items of a tuple are covered by one shape. A tuple without further items has
        // `"items": false`.
        let mut items = place.elements_of("prefixItems")?;
        let is_end =
            |further: &DocumentNode| !items.is_empty() && further.value == &Value::Bool(false);
        let further = place.get("items").filter(|further| !is_end(further));
        items.extend(further);
        if let Some(items) = self.covering(&items)? {
            shape.add("[]", items);
        }
        shape.own().extend(facts(place)?);
        Ok(())
    }
}

fn facts(place: &DocumentNode) -> Result<Facts, Faults> {
    let values = match (place.get("const"), place.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(values)) => Some(values.elements()?),
        (None, None) => None,
    };
    let number = |keyword: &str| place.get(keyword).map(|limit| limit.number()).transpose();
    let text = |keyword: &str| place.get(keyword).map(|text| text.string()).transpose();
    let mut facts = Facts::new();
    let mut add = |name: &'static str, fact: Option<Fact>| facts.extend(fact.map(|it| (name, it)));
    let types = types(place, values.as_deref())?;
    // Above 0 is at least 1 for integers.
    let is_whole = types.iter().all(|name| ["integer", "null"].contains(&name.as_str()));
    let bound =
        |keyword, exclusive| bound(place, keyword, exclusive, is_whole && !types.is_empty());
    add("minimum", bound("minimum", "exclusiveMinimum")?);
    add("maximum", bound("maximum", "exclusiveMaximum")?);
    add("type", (!types.is_empty()).then_some(Fact::Any(types)));
    let values = values.map(|values| {
        let values = values.iter().map(|value| value.value).filter(|value| !value.is_null());
        Fact::Any(values.map(canonical).collect())
    });
    add("enum", values);
    // A missing field and null are the same if null is the default.
    let default = place.get("default").or_else(|| place.get("x-default"));
    let default = default.filter(|default| !default.value.is_null());
    add("default", default.map(|value| Fact::Exact(canonical(value.value))));
    for keyword in ["minLength", "minItems"] {
        // A minimum length of 0 has no effect.
        add(keyword, number(keyword)?.filter(|value| *value > 0.0).map(|it| limit(it, false)));
    }
    for keyword in ["maxLength", "maxItems"] {
        add(keyword, number(keyword)?.map(|it| limit(it, true)));
    }
    add("multipleOf", number("multipleOf")?.map(Fact::Multiple));
    // In OpenAPI 3.1, bytes have a `contentEncoding` or a `contentMediaType` instead of a format.
    let format = match (text("format")?, text("contentEncoding")?, text("contentMediaType")?) {
        (Some(format), ..) => Some(format),
        (None, Some("base64"), _) => Some("byte"),
        (None, None, Some("application/octet-stream")) => Some("binary"),
        _ => None,
    };
    for (keyword, text) in [("pattern", text("pattern")?), ("format", format)] {
        add(keyword, text.map(|text| Fact::All([text.to_owned()].into())));
    }
    add("deprecated", place.flag("deprecated")?.then_some(Fact::Flag));
    let closing = ["additionalProperties", "unevaluatedProperties"];
    let is_closed = |keyword: &&str| place.value.get(keyword) == Some(&Value::Bool(false));
    add(CLOSED, closing.iter().any(is_closed).then_some(Fact::Flag));
    Ok(facts)
}

fn limit(value: f64, is_upper: bool) -> Fact {
    Fact::Bound { value, is_upper, is_exclusive: false }
}

/// The bound of a number by a keyword and its exclusive form.
fn bound(
    place: &DocumentNode,
    keyword: &str,
    exclusive: &str,
    is_whole: bool,
) -> Result<Option<Fact>, Faults> {
    let number = |keyword: &str| match place.get(keyword).map(|limit| limit.number()).transpose()? {
        // The range of `int64` restricts nothing, and most documents do not state it.
        Some(limit) if limit.abs() >= RANGE => Ok(None),
        limit => Ok(limit),
    };
    let is_upper = keyword == "maximum";
    let bound = |value: f64, is_exclusive: bool| match (is_exclusive && is_whole, is_upper) {
        (true, true) => limit(value.ceil() - 1.0, true),
        (true, false) => limit(value.floor() + 1.0, false),
        (false, _) => Fact::Bound { value, is_upper, is_exclusive },
    };
    // In OpenAPI 3.0 the exclusive bound is a flag of the other, in 3.1 a number.
    let flag = place.get(exclusive).and_then(|flag| flag.value.as_bool());
    let inclusive = number(keyword)?.map(|value| bound(value, flag == Some(true)));
    let open = if flag.is_none() { number(exclusive)? } else { None };
    Ok([inclusive, open.map(|value| bound(value, true))].into_iter().flatten().reduce(Fact::and))
}

/// The types, with `null`, and `integer` with `number`, which includes it. Without `type` they are
/// derived from other keywords.
fn types(
    place: &DocumentNode,
    values: Option<&[DocumentNode]>,
) -> Result<BTreeSet<String>, Faults> {
    let values = values.unwrap_or_default();
    let mut names: BTreeSet<String> = match place.get("type") {
        Some(list) if list.value.is_array() => list.strings()?.into_iter().collect(),
        Some(name) => [name.string()?.to_owned()].into(),
        None => {
            let implied = [("properties", "object"), ("items", "array"), ("prefixItems", "array")];
            let implied = implied.iter().filter(|(keyword, _)| place.get(keyword).is_some());
            let of_values = values.iter().map(|value| type_of(value.value));
            implied.map(|(_, name)| *name).chain(of_values).map(str::to_owned).collect()
        }
    };
    if !names.is_empty() && values.iter().any(|value| value.value.is_null()) {
        names.insert("null".to_owned());
    }
    if names.contains("number") {
        names.insert("integer".to_owned());
    }
    Ok(names)
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

/// The value as JSON, in which `5.0` is `5`.
fn canonical(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => number.to_string(),
        _ => value.to_string(),
    }
}
