//! Reads a schema in any OpenAPI notation into a [`Node`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    keyword,
    node::{CLOSED, Fact, Facts, Kind, Node, canonical},
};
use crate::contract::{DocumentNode, Fault};

/// The maximum nesting of `$ref`s.
const DEPTH: usize = 128;

/// The maximum number of schemas in one document, because nested `$ref`s multiply.
const SCHEMAS: usize = 200_000;

/// Integers are exact as `f64` below this.
const EXACT: f64 = (1_u64 << 53) as f64;

/// The range of `int64`, from its negative to itself.
const RANGE: f64 = (1_u64 << 63) as f64;

/// The keywords that have facts of their own. The others are read only from documents of ours.
const READ: &str = "$ref additionalProperties allOf anyOf const contentEncoding contentMediaType \
    default deprecated enum exclusiveMaximum exclusiveMinimum format items maxItems maxLength \
    maximum minItems minLength minimum multipleOf nullable oneOf pattern prefixItems properties \
    required type x-default";

/// Reads the schemas of one document.
#[derive(Default)]
pub struct Reader<'a> {
    /// Whether both documents are ours.
    pub is_ours: bool,
    /// The components that were referred to.
    pub used: BTreeSet<String>,
    /// The number of schemas that were read.
    count: usize,
    /// The components that are being read, so that recursion ends.
    components: Vec<DocumentNode<'a>>,
    /// The components that were read outside of others, each with the number of its schemas.
    known: BTreeMap<*const Value, (Node, usize)>,
}

impl<'a> Reader<'a> {
    pub fn new(is_ours: bool) -> Self {
        Self { is_ours, ..Self::default() }
    }

    /// The values that the schema allows.
    pub fn read(&mut self, place: &DocumentNode<'a>) -> Result<Node, Fault> {
        self.count += 1;
        if self.count > SCHEMAS {
            let message = format!("more than {SCHEMAS} schemas, with all `$ref`s followed");
            return Err(place.fault(message));
        }
        if self.components.len() > DEPTH {
            return Err(place.fault(format!("more than {DEPTH} `$ref`s in each other")));
        }
        if let Value::Bool(anything) = place.value {
            let nothing = (!anything).then(|| ("type".to_owned(), Fact::Any(BTreeSet::new())));
            return Ok(Node { facts: nothing.into_iter().collect(), ..Node::default() });
        }
        place.object()?;
        let mut node = self.own(place)?;
        if let Some(target) = place.referred()? {
            self.used.insert(place.value["$ref"].to_string());
            node.facts.insert("$ref".into(), Fact::Text([place.value["$ref"].to_string()].into()));
            node = node.and(self.component(&target)?);
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
        Ok(node)
    }

    /// The values that a component allows. A recursive one is expanded once.
    fn component(&mut self, target: &DocumentNode<'a>) -> Result<Node, Fault> {
        if self.components.iter().any(|component| component.is(target)) {
            return Ok(Node::default());
        }
        let name = std::ptr::from_ref(target.value);
        let is_outermost = self.components.is_empty();
        if let Some((node, count)) = self.known.get(&name).filter(|_| is_outermost) {
            self.count += count;
            return Ok(node.clone());
        }
        let count = self.count;
        self.components.push(*target);
        let node = self.read(target)?;
        self.components.pop();
        if is_outermost {
            self.known.insert(name, (node.clone(), self.count - count));
        }
        Ok(node)
    }

    /// The component that `place` refers to, or `place` itself.
    pub fn resolved(&mut self, place: &DocumentNode<'a>) -> Result<DocumentNode<'a>, Fault> {
        self.used.extend(place.value.get("$ref").map(ToString::to_string));
        place.resolved()
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
            part.facts.insert("required".into(), Fact::Flag);
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
        let mut facts = facts(place)?;
        if self.is_ours {
            keyword::state_others(&mut facts, place, &READ.split(' ').collect::<Vec<_>>());
            // These values may say more than the facts.
            for keyword in ["additionalProperties", "minimum", "maximum"] {
                let value = place.value.get(keyword).filter(|value| match value.as_f64() {
                    Some(number) => number.abs() >= EXACT,
                    None => !value.is_boolean(),
                });
                let name = format!("exact {keyword}");
                value.into_iter().for_each(|value| keyword::state(&mut facts, &name, value));
            }
        }
        Ok(Node { facts, parts, ..Node::default() })
    }
}

fn facts(place: &DocumentNode) -> Result<Facts, Fault> {
    let values = match (place.get("const"), place.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(values)) => Some(values.elements()?),
        (None, None) => None,
    };
    let number = |keyword: &str| place.get(keyword).map(|limit| limit.number()).transpose();
    let text = |keyword: &str| place.get(keyword).map(|text| text.string()).transpose();
    let mut facts = Facts::new();
    let mut add = |name: &str, fact: Option<Fact>| {
        facts.extend(fact.map(|fact| (name.to_owned(), fact)));
    };
    let types = types(place, values.as_deref())?;
    // Above 0 is at least 1 for integers.
    let is_whole = [Fact::types(["integer"]), Fact::types(["integer", "null"])].map(Some);
    let is_whole = is_whole.contains(&types);
    add("type", types);
    let values = values.map(|values| {
        let values = values.iter().map(|value| value.value).filter(|value| !value.is_null());
        Fact::Any(values.map(canonical).collect())
    });
    add("enum", values);
    // A missing field and null are the same if null is the default.
    let default = place.get("default").or_else(|| place.get("x-default"));
    let default = default.filter(|default| !default.value.is_null());
    add("default", default.map(|value| Fact::Exact([canonical(value.value)].into())));
    for (lowest, highest) in [("minLength", "maxLength"), ("minItems", "maxItems")] {
        // A minimum length of 0 has no effect.
        add(lowest, number(lowest)?.filter(|value| *value > 0.0).map(Fact::lower));
        add(highest, number(highest)?.map(Fact::upper));
    }
    add("minimum", bound(place, ["minimum", "exclusiveMinimum"], is_whole)?);
    add("maximum", bound(place, ["maximum", "exclusiveMaximum"], is_whole)?);
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

/// The bound of a number by a keyword and its exclusive form.
fn bound(
    place: &DocumentNode,
    [keyword, exclusive]: [&str; 2],
    is_whole: bool,
) -> Result<Option<Fact>, Fault> {
    let number = |keyword: &str| match place.get(keyword).map(|limit| limit.number()).transpose()? {
        // The range of `int64` restricts nothing, and most documents do not state it.
        Some(limit) if limit.abs() >= RANGE => Ok(None),
        limit => Ok(limit),
    };
    let is_upper = keyword == "maximum";
    let bound = |value: f64, is_exclusive: bool| match (is_exclusive && is_whole, is_upper) {
        (true, true) => Fact::upper(value.ceil() - 1.0),
        (true, false) => Fact::lower(value.floor() + 1.0),
        (false, _) => Fact::Bound { value, is_upper, is_exclusive },
    };
    // In OpenAPI 3.0 the exclusive bound is a flag of the other, in 3.1 a number.
    let flag = place.get(exclusive).and_then(|flag| flag.value.as_bool());
    let inclusive = number(keyword)?.map(|value| bound(value, flag == Some(true)));
    let open = if flag.is_none() { number(exclusive)? } else { None };
    let open = open.map(|value| bound(value, true));
    Ok(match (inclusive, open) {
        (Some(inclusive), Some(open)) => Some(inclusive.and(open)),
        (inclusive, open) => inclusive.or(open),
    })
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
