//! Reads the fields of requests into the same form as the lists.

use super::{
    document::{
        Schema, each_operation, flattened, keyword_cell, note, request_schema, value, yes_no,
    },
    facts::{Facts, NOTHING, Row, alternatives},
};
use crate::contract::{DocumentNode, Faults};

/// The keywords in the column `note`, and their names there.
const NOTED: [(&str, &str); 7] = [
    ("x-image", "image"),
    ("x-mask-of", "mask-of"),
    ("x-same-size", "same-size"),
    ("x-max-megapixels", "max-megapixels"),
    ("x-aspect-ratio", "aspect"),
    ("x-secret", "secret"),
    ("additionalProperties", "open"),
];

pub fn fields<'a>(root: &DocumentNode<'a>) -> Result<Facts<'a>, Faults> {
    let mut facts = Facts::new();
    for (_, path, operation) in each_operation(root)? {
        if let Some(schema) = request_schema(&operation) {
            add_object(&mut facts, &format!("{path} "), &schema)?;
        }
    }
    Ok(facts)
}

fn add_object<'a>(
    facts: &mut Facts<'a>,
    prefix: &str,
    schema: &DocumentNode<'a>,
) -> Result<(), Faults> {
    for part in schema.resolved()?.elements_of("allOf")? {
        add_object(facts, prefix, &part)?;
    }
    let object = schema.resolved()?;
    let required: Vec<_> =
        object.elements_of("required")?.iter().map(|name| name.value.clone()).collect();
    for (name, property) in object.members_of("properties")? {
        let is_required = required.iter().any(|other| other == name);
        let flat = flattened(&property)?;
        facts.insert(format!("{prefix}{name}"), row(&property, &flat, is_required)?);
    }
    Ok(())
}

fn row<'a>(
    owner: &DocumentNode<'a>,
    schema: &Schema<'a>,
    is_required: bool,
) -> Result<Row<'a>, Faults> {
    // The bounds of a format are not facts of the interface.
    let has_format =
        |keyword: &str| ["minimum", "maximum"].contains(&keyword) && schema.contains_key("format");
    let text = |keyword: &str| value(schema.get(keyword).filter(|_| !has_format(keyword)));
    let cell = |keyword: &str, text: String| keyword_cell(schema, owner, keyword, text);
    let values = match schema.get("enum") {
        Some(list) => {
            list.elements()?.iter().filter_map(|one| one.value.as_str()).map(Into::into).collect()
        }
        None => Vec::new(),
    };
    let nullable = schema.get("nullable").is_some();
    // A default outside its own bounds cannot be a `default`.
    let default = if schema.contains_key("x-default") { "x-default" } else { "default" };
    Ok(Row::at(
        *owner,
        [
            ("type", cell("type", type_of(schema))),
            ("nullable", cell("nullable", yes_no(nullable))),
            ("required", cell("", yes_no(is_required))),
            ("default", cell(default, text(default))),
            ("minimum", cell("minimum", text("minimum"))),
            ("maximum", cell("maximum", text("maximum"))),
            ("multiple_of", cell("multipleOf", text("multipleOf"))),
            ("min_length", cell("minLength", text("minLength"))),
            ("max_length", cell("maxLength", text("maxLength"))),
            ("enum", cell("enum", alternatives(values))),
            ("note", cell("", note(schema, &NOTED))),
        ],
    ))
}

/// The type as named in the lists: an image is a string with an encoding, a URI a string with that
/// format. The format of an integer is not a fact of the interface.
fn type_of(schema: &Schema) -> String {
    let Some(named) = schema.get("type").and_then(|named| named.value.as_str()) else {
        return "not-shown".into();
    };
    match schema.get("format").and_then(|format| format.value.as_str()) {
        _ if schema.contains_key("x-image") => "image".into(),
        Some("uri") => "uri".into(),
        _ if named == NOTHING => NOTHING.into(),
        _ => named.into(),
    }
}
