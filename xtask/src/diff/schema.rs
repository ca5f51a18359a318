//! Reads a schema in any OpenAPI notation into a [`Node`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::node::{Fact, Kind, Node};
use crate::contract::{DocumentNode, Fault};

/// The maximum nesting of schemas, with all `$ref`s followed.
const DEPTH: usize = 128;

/// The maximum number of schemas in one document, because nested `$ref`s multiply.
const SCHEMAS: usize = 200_000;

/// Reads the schemas of one document.
#[derive(Default)]
pub struct Reader<'a> {
    /// The number of schemas that were read.
    count: usize,
    /// The number of schemas that are being read.
    depth: usize,
    /// The components that are being read, so that recursion ends.
    components: Vec<DocumentNode<'a>>,
}

impl<'a> Reader<'a> {
    /// The values that the schema allows.
    pub fn read(&mut self, place: &DocumentNode<'a>) -> Result<Node, Fault> {
        self.count += 1;
        if self.count > SCHEMAS {
            let message = format!("more than {SCHEMAS} schemas, with all `$ref`s followed");
            return Err(place.fault(message));
        }
        if self.depth > DEPTH {
            return Err(place.fault(format!("schemas are nested deeper than {DEPTH}")));
        }
        self.depth += 1;
        let node = self.combined(place);
        self.depth -= 1;
        node
    }

    fn combined(&mut self, place: &DocumentNode<'a>) -> Result<Node, Fault> {
        if let Value::Bool(anything) = place.value {
            return Ok(if *anything { Node::default() } else { Node::nothing() });
        }
        place.object()?;
        let mut node = self.own(place)?;
        if let Some(target) = place.referred()?
            && !self.components.iter().any(|component| component.is(&target))
        {
            self.components.push(target);
            node = node.and(self.read(&target)?);
            self.components.pop();
        }
        for part in place.elements_of("allOf")? {
            node = node.and(self.read(&part)?);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(alternatives) = self.covering(&place.elements_of(keyword)?)? {
                node = node.and(alternatives);
            }
        }
        // A `nullable` next to a `$ref` takes precedence over the component.
        if place.flag("nullable")? {
            node.allow_null();
        }
        node.count_whole_numbers();
        Ok(node)
    }

    /// The narrowest node that covers all of these schemas; `None` if there are none.
    fn covering(&mut self, places: &[DocumentNode<'a>]) -> Result<Option<Node>, Fault> {
        let mut covering: Option<Node> = None;
        for place in places {
            let node = self.read(place)?;
            covering = Some(match covering {
                Some(others) => others.or(node),
                None => node,
            });
        }
        Ok(covering)
    }

    /// The values that the schema's own keywords allow, without those that combine schemas.
    fn own(&mut self, place: &DocumentNode<'a>) -> Result<Node, Fault> {
        let mut parts = BTreeMap::new();
        for (name, property) in place.members_of("properties")? {
            parts.insert(format!(".{name}"), self.read(&property)?);
        }
        for name in place.elements_of("required")? {
            // If the field itself is described elsewhere (in `allOf`), this adds the flag to it.
            let part: &mut Node = parts.entry(format!(".{}", name.string()?)).or_default();
            part.facts.insert("required", Fact::Flag);
        }
        // The items of a tuple are covered by one node. One without further items has
        // `"items": false`.
        let mut items = place.elements_of("prefixItems")?;
        let is_end =
            |further: &DocumentNode| !items.is_empty() && further.value == &Value::Bool(false);
        let further = place.get("items").filter(|further| !is_end(further));
        items.extend(further);
        let items = self.covering(&items)?;
        parts.extend(items.map(|items| ("[]".to_owned(), Node { kind: Kind::Items, ..items })));
        Ok(Node { facts: facts(place)?, parts, ..Node::default() })
    }
}

fn facts(place: &DocumentNode) -> Result<BTreeMap<&'static str, Fact>, Fault> {
    let values = match (place.get("const"), place.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(values)) => Some(values.elements()?),
        (None, None) => None,
    };
    let number = |keyword: &str| place.get(keyword).map(|limit| limit.number()).transpose();
    let text = |keyword: &str| place.get(keyword).map(|text| text.string()).transpose();
    let mut facts = bounds(place)?;
    facts.extend(types(place, values.as_deref())?.map(|types| ("type", types)));
    if let Some(values) = values {
        let values = values.iter().map(|value| value.value).filter(|value| !value.is_null());
        let values = values.map(|value| canonical(value).to_string()).collect();
        facts.insert("enum", Fact::Any(values));
    }
    // A missing field and null are the same if null is the default.
    let default = place.get("default").or_else(|| place.get("x-default"));
    if let Some(default) = default.filter(|default| !default.value.is_null()) {
        facts.insert("default", Fact::Default(canonical(default.value).to_string()));
    }
    facts.extend(number("multipleOf")?.map(|step| ("multipleOf", Fact::Multiple(step))));
    // In OpenAPI 3.1, bytes have a `contentEncoding` or a `contentMediaType` instead of a format.
    let format = match (text("format")?, text("contentEncoding")?, text("contentMediaType")?) {
        (Some(format), ..) => Some(format),
        (None, Some("base64"), _) => Some("byte"),
        (None, None, Some("application/octet-stream")) => Some("binary"),
        _ => None,
    };
    for (keyword, text) in [("pattern", text("pattern")?), ("format", format)] {
        facts.extend(text.map(|text| (keyword, Fact::All([text.to_owned()].into()))));
    }
    if place.flag("deprecated")? {
        facts.insert("deprecated", Fact::Flag);
    }
    let closing = ["additionalProperties", "unevaluatedProperties"];
    if closing.iter().any(|keyword| place.value.get(keyword) == Some(&Value::Bool(false))) {
        facts.insert("unknown fields rejected", Fact::Flag);
    }
    Ok(facts)
}

/// The bounds of numbers and lengths.
fn bounds(place: &DocumentNode) -> Result<BTreeMap<&'static str, Fact>, Fault> {
    let number = |keyword: &str| place.get(keyword).map(|limit| limit.number()).transpose();
    let lower = |value, exclusive| Fact::Lower { value, exclusive };
    let upper = |value, exclusive| Fact::Upper { value, exclusive };
    let mut bounds = BTreeMap::new();
    for keyword in ["minLength", "minItems"] {
        // A minimum length of 0 has no effect.
        let length = number(keyword)?.filter(|value| *value > 0.0);
        bounds.extend(length.map(|value| (keyword, lower(value, false))));
    }
    for keyword in ["maxLength", "maxItems"] {
        bounds.extend(number(keyword)?.map(|value| (keyword, upper(value, false))));
    }
    type Bound = fn(f64, bool) -> Fact;
    let numbers: [(_, _, Bound); 2] =
        [("minimum", "exclusiveMinimum", lower), ("maximum", "exclusiveMaximum", upper)];
    for (keyword, exclusive, bound) in numbers {
        // In OpenAPI 3.0 the exclusive bound is a flag of the other, in 3.1 a number.
        let flag = place.get(exclusive).and_then(|flag| flag.value.as_bool());
        let inclusive = number(keyword)?.map(|value| bound(value, flag == Some(true)));
        let open = if flag.is_none() { number(exclusive)? } else { None };
        let open = open.map(|value| bound(value, true));
        let narrower = match (inclusive, open) {
            (Some(inclusive), Some(open)) => Some(inclusive.and(open)),
            (inclusive, open) => inclusive.or(open),
        };
        bounds.extend(narrower.map(|bound| (keyword, bound)));
    }
    Ok(bounds)
}

/// The types, with `null`. Without `type` they are derived from other keywords.
fn types(place: &DocumentNode, values: Option<&[DocumentNode]>) -> Result<Option<Fact>, Fault> {
    let mut names = BTreeSet::new();
    let values = values.unwrap_or_default();
    match place.get("type") {
        Some(list) if list.value.is_array() => names.extend(list.strings()?),
        Some(name) => {
            names.insert(name.string()?.to_owned());
        }
        None => {
            names.extend(values.iter().map(|value| type_of(value.value).to_owned()));
            let implied = [("properties", "object"), ("items", "array"), ("prefixItems", "array")];
            let implied = implied.iter().filter(|(keyword, _)| place.get(keyword).is_some());
            names.extend(implied.map(|(_, name)| (*name).to_owned()));
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    if values.iter().any(|value| value.value.is_null()) {
        names.insert("null".to_owned());
    }
    Ok(Some(Fact::types(names)))
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
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().and_then(|number| number.to_string().parse::<i64>().ok());
            whole.map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), canonical(member))).collect()
        }
        _ => value.clone(),
    }
}
