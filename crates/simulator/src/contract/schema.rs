//! Schemas of the document, which are those of OpenAPI 3.0.

use std::sync::Arc;

use regress::Regex;
use serde_json::{Map, Value};

use super::check::{Check, Step, Violation, integer, list};

/// Keywords whose rules the simulator enforces.
const CHECKED: &str = "\
    $ref additionalProperties allOf anyOf enum exclusiveMaximum exclusiveMinimum format \
    items maxItems maxLength maximum minItems minLength minimum multipleOf not nullable \
    oneOf pattern properties required type";

/// Keywords without a rule for the shape of a value: notes, and the rules that
/// [`Fields`](super::Fields) has.
const UNCHECKED: &str = "\
    default deprecated description example title x-address x-aspect-ratio x-correction \
    x-default x-extensible-enum x-image x-mask-of x-max-megapixels x-not-shown x-same-size \
    x-secret x-success x-valid-seconds";

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

const FORMATS: [&str; 6] = ["date", "date-time", "double", "int64", "uri", "uuid"];

/// A schema of an OpenAPI 3.0 document, in which its references are resolved.
#[derive(Debug)]
pub struct Schema {
    document: Arc<Value>,
    schema: Value,
}

impl Schema {
    /// Takes a schema of `document`, or a reference to one.
    ///
    /// # Errors
    ///
    /// The schema or a component has a keyword, a type or a format that the simulator does not
    /// support.
    pub fn new(document: &Arc<Value>, schema: &Value) -> Result<Self, String> {
        check_supported(schema)?;
        if let Some(Value::Object(components)) = document.pointer("/components/schemas") {
            check_named(components)?;
        }
        Ok(Self { document: Arc::clone(document), schema: schema.clone() })
    }

    /// What of a value does not fit: JSON pointers, and what was expected there. The value itself
    /// is not shown.
    pub fn problems(&self, value: &Value) -> Vec<(String, String)> {
        let found = self.violations(value).into_iter();
        found.map(|violation| (pointer(&violation.loc), violation.msg)).collect()
    }

    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.violations(value).is_empty()
    }

    /// The first violations by a value, the body of a request or a response.
    pub(crate) fn violations(&self, value: &Value) -> Vec<Violation> {
        Check::new(&self.document, &["body".into()]).run(&self.schema, value)
    }
}

/// Fails if a rule of a schema would not be enforced: a client's mistake could pass.
fn check_supported(schema: &Value) -> Result<(), String> {
    let unsupported = |what: &str, name: &str| {
        Err(format!(
            "unsupported {what} `{name}` in a schema: add support for it to the simulator, or \
             remove it"
        ))
    };
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        match keyword.as_str() {
            "properties" => check_named(value.as_object().unwrap_or(&Map::new()))?,
            "items" | "not" | "additionalProperties" => check_supported(value)?,
            "allOf" | "anyOf" | "oneOf" => list(schema, keyword).try_for_each(check_supported)?,
            "type" if !TYPES.contains(&text) => return unsupported("type", text),
            "format" if !FORMATS.contains(&text) => return unsupported("format", text),
            "pattern" if Regex::new(text).is_err() => return unsupported("pattern", text),
            "multipleOf" if integer(value).is_none_or(|of| of < 1) => {
                return unsupported("multipleOf", &value.to_string());
            }
            known if CHECKED.split(' ').chain(UNCHECKED.split(' ')).any(|one| one == known) => {}
            other => return unsupported("keyword", other),
        }
    }
    Ok(())
}

/// Checks named schemas. An error has the name.
fn check_named(schemas: &Map<String, Value>) -> Result<(), String> {
    schemas.iter().try_for_each(|(name, schema)| {
        check_supported(schema).map_err(|problem| format!("`{name}`: {problem}"))
    })
}

/// The JSON pointer of a place in a body.
fn pointer(loc: &[Step]) -> String {
    let steps = loc.iter().skip(1).map(|step| match step {
        Step::Name(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        Step::Index(index) => format!("/{index}"),
    });
    steps.collect()
}
