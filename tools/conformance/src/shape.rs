//! Differences between values and schemas. Some of them the validator accepts: fields that the
//! contract does not list, and further values of open lists.

use serde_json::Value;

/// A value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The JSON pointer of the value.
    pub pointer: String,
    /// What was expected.
    pub expected: String,
}

impl Problem {
    /// Creates a problem with a whole body, or with something other than a body.
    pub fn of_whole(expected: &str) -> Self {
        Self { pointer: String::new(), expected: expected.to_owned() }
    }
}

/// The differences between a value and a schema.
#[derive(Debug, Default)]
pub struct Shape {
    /// Values that do not fit.
    pub invalid: Vec<Problem>,
    /// Fields that the schema does not list.
    pub unlisted: Vec<Problem>,
    /// Values that a list of the schema does not have, although it allows others.
    pub statuses: Vec<UnlistedValue>,
}

/// A value that is not in a list, such as a status.
#[derive(Debug)]
pub struct UnlistedValue {
    /// The JSON pointer of the value.
    pub pointer: String,
    /// The value.
    pub value: String,
    listed: Vec<String>,
}

impl UnlistedValue {
    pub fn problem(&self) -> Problem {
        let Self { pointer, value, listed } = self;
        let expected = format!(
            "expected one of {}; pass `--in-progress \"{value}\"` if a task with the status \
             `{value}` is still in progress",
            listed.join(", ")
        );
        Problem { pointer: pointer.clone(), expected }
    }
}

/// Compares a value with schemas, all of which describe it.
pub fn walk(document: &Value, schemas: &[&Value], value: &Value, pointer: &str, shape: &mut Shape) {
    let schemas: Vec<_> = schemas.iter().flat_map(|schema| parts(document, schema)).collect();
    let below = |key: &str| schemas.iter().filter_map(|part| part.get(key)).collect::<Vec<_>>();
    match value {
        Value::Object(members) => {
            let properties = below("properties");
            for (name, member) in members {
                let listed: Vec<_> = properties.iter().filter_map(|map| map.get(name)).collect();
                let pointer = format!("{pointer}/{}", escaped(name));
                if listed.is_empty() && !properties.is_empty() {
                    let expected = "expected no such field".to_owned();
                    shape.unlisted.push(Problem { pointer, expected });
                } else {
                    walk(document, &listed, member, &pointer, shape);
                }
            }
        }
        Value::Array(items) => {
            let schemas = below("items");
            for (index, item) in items.iter().enumerate() {
                walk(document, &schemas, item, &format!("{pointer}/{index}"), shape);
            }
        }
        Value::String(text) => {
            // The validator reports a value that is not in an `enum`; these lists are open.
            let open = below("x-extensible-enum");
            let values = open.into_iter().filter_map(Value::as_array).flatten();
            let listed: Vec<_> = values.filter_map(Value::as_str).map(str::to_owned).collect();
            if !listed.is_empty() && !listed.contains(text) {
                let (pointer, value) = (pointer.to_owned(), text.clone());
                shape.statuses.push(UnlistedValue { pointer, value, listed });
            }
        }
        _ => {}
    }
}

/// Escapes a name for a JSON pointer.
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the schema and the schemas that it combines, without references.
fn parts<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolve(document, schema);
    let combined = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array());
    let inner = combined.flatten().flat_map(|part| parts(document, part));
    std::iter::once(schema).chain(inner).collect()
}

/// Follows `$ref` within the document. A dangling reference yields `null`.
pub fn resolve<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..16 {
        let Some(reference) = value["$ref"].as_str() else { return value };
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        value = target.unwrap_or(&Value::Null);
    }
    &Value::Null
}
