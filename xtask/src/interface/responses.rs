//! Reads the fields of responses into the same form as the lists, at every depth.

use std::collections::BTreeSet;

use super::{
    document::{Schema, flattened, keyword_cell, name_of, note, yes_no},
    facts::{Cell, Facts, Row},
};
use crate::contract::{DocumentNode, Faults};

/// The keywords in the column `note`, and their names there.
const NOTED: [(&str, &str); 4] = [
    ("format", "format"),
    ("enum", "enum"),
    ("x-address", "address"),
    ("x-valid-seconds", "valid-seconds"),
];

pub fn fields<'a>(root: &DocumentNode<'a>) -> Result<Facts<'a>, Faults> {
    let schemas = root.need("components")?.need("schemas")?;
    let mut facts = Facts::new();
    for name in objects(root)? {
        add_object(&mut facts, &format!("{name} "), &schemas.need(&name)?)?;
    }
    Ok(facts)
}

/// The schemas of responses that are objects, and of the items in their lists. Objects in fields
/// are parts of their owners.
fn objects(root: &DocumentNode) -> Result<BTreeSet<String>, Faults> {
    let mut found = BTreeSet::new();
    for (_, response) in root.need("components")?.members_of("responses")? {
        collect(&response, &mut found)?;
    }
    for (_, item) in root.members_of("paths")? {
        for (_, operation) in item.members()? {
            for (_, response) in operation.members_of("responses")? {
                collect(&response.resolved()?, &mut found)?;
            }
        }
    }
    Ok(found)
}

fn collect(response: &DocumentNode, found: &mut BTreeSet<String>) -> Result<(), Faults> {
    let Some(content) = response.get("content") else { return Ok(()) };
    let schema = content.need("application/json")?.need("schema")?;
    let alternatives = schema.resolved()?.elements_of("oneOf")?;
    if alternatives.is_empty() {
        return add_name(&schema, found);
    }
    alternatives.iter().try_for_each(|one| add_name(one, found))
}

fn add_name(reference: &DocumentNode, found: &mut BTreeSet<String>) -> Result<(), Faults> {
    let target = reference.resolved()?;
    if found.insert(name_of(reference)) {
        for (_, field) in target.members_of("properties")? {
            if let Some(items) = field.get("items")
                && items.get("$ref").is_some()
                && items.resolved()?.get("properties").is_some()
            {
                add_name(&items, found)?;
            }
        }
    }
    Ok(())
}

fn add_object<'a>(
    facts: &mut Facts<'a>,
    prefix: &str,
    schema: &DocumentNode<'a>,
) -> Result<(), Faults> {
    let required: Vec<_> =
        schema.elements_of("required")?.iter().map(|name| name.value.clone()).collect();
    for (name, property) in schema.members_of("properties")? {
        let place = format!("{prefix}{name}");
        let flat = flattened(&property)?;
        let is_required = required.iter().any(|other| other == name);
        facts.insert(place.clone(), row(&property, &flat, is_required)?);
        let inner = property.elements_of("allOf")?.into_iter().next().unwrap_or(property);
        add_object(facts, &format!("{place}."), &inner.resolved()?)?;
        // Items that refer to a schema are separate rows.
        if let Some(items) = flat.get("items") {
            add_object(facts, &format!("{place}[]."), items)?;
        }
    }
    Ok(())
}

fn row<'a>(
    owner: &DocumentNode<'a>,
    schema: &Schema<'a>,
    is_required: bool,
) -> Result<Row<'a>, Faults> {
    let cell = |keyword: &str, text: String| keyword_cell(schema, owner, keyword, text);
    let nullable = schema.get("nullable").is_some();
    let noted = match schema.get("items") {
        Some(items) => flattened(items)?,
        None => schema.clone(),
    };
    Ok(Row::at(
        *owner,
        [
            ("type", Cell { text: type_of(schema)?, place: Some(type_place(owner, schema)?) }),
            ("nullable", cell("nullable", yes_no(nullable))),
            ("required", cell("", yes_no(is_required))),
            ("note", cell("", note(&noted, &NOTED))),
        ],
    ))
}

/// The schema with the type. For a list of several types, the schemas with these.
fn type_place<'a>(
    owner: &DocumentNode<'a>,
    schema: &Schema<'a>,
) -> Result<DocumentNode<'a>, Faults> {
    match schema.get("items") {
        Some(items) => items.resolved(),
        None => Ok(schema.get("type").copied().unwrap_or(*owner)),
    }
}

/// The type, with that of the items of a list: `array<string|integer>`.
fn type_of(schema: &Schema) -> Result<String, Faults> {
    let named = schema.get("type").and_then(|named| named.value.as_str()).unwrap_or("not-shown");
    let Some(items) = schema.get("items") else { return Ok(named.into()) };
    let alternatives = items.resolved()?.elements_of("oneOf")?;
    let names: Vec<_> = if alternatives.is_empty() {
        vec![name_of(items)]
    } else {
        alternatives.iter().map(name_of).collect()
    };
    Ok(format!("{named}<{}>", names.join("|")))
}
