//! The types of fields with a fixed set of values: one enum per list.

use super::{
    contract::{Operation, Submission},
    fault::Fault,
    kind::Kind,
    name::camel_case,
    place::Place,
};

/// The variant for values that are not in the list.
pub const UNKNOWN: &str = "Unknown";

pub struct Choice {
    pub type_name: String,
    pub description: String,
    pub values: Vec<String>,
}

/// Returns the name of the enum for a field with its own list.
pub fn type_name(schema: &str, field: &str) -> String {
    format!("{schema}{}", camel_case(field))
}

/// Returns the name of the variant for a value: `DraftEnhance` for `draft_enhance`.
pub fn variant(value: &str) -> String {
    let name = camel_case(value);
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("V{name}") } else { name }
}

/// Reads the values of a list. Every value must have a distinct variant name.
pub fn read_values(list: &Place) -> Result<Vec<String>, Fault> {
    let mut variants = vec![UNKNOWN.to_owned()];
    for element in list.elements()? {
        let value = element.string()?;
        let name = variant(value);
        if name.is_empty() || variants.contains(&name) {
            return Err(element.fault(format!(
                "the value `{value}` cannot be an enum variant: `{name}` is empty or already used"
            )));
        }
        variants.push(name);
    }
    list.strings()
}

/// Collects the enums of all operations. Fields with the same name and values must share an enum.
pub fn all(operations: &[Operation]) -> Result<Vec<Choice>, Fault> {
    let mut choices: Vec<(Choice, &str)> = Vec::new();
    for submission in operations.iter().filter_map(|operation| operation.submission.as_ref()) {
        for field in &submission.fields {
            let Kind::Choice { values, type_name, description } = &field.kind else { continue };
            if choices.iter().any(|(known, _)| &known.type_name == type_name) {
                continue;
            }
            let is_duplicate =
                |(known, name): &&(Choice, &str)| *name == field.name && &known.values == values;
            if let Some((duplicate, _)) = choices.iter().find(is_duplicate) {
                return Err(duplicate_list(submission, &field.name, &duplicate.type_name));
            }
            let description = description.clone().unwrap_or_else(|| field.description.clone());
            let type_name = type_name.clone();
            choices.push((Choice { type_name, description, values: values.clone() }, &field.name));
        }
    }
    Ok(choices.into_iter().map(|(choice, _)| choice).collect())
}

fn duplicate_list(submission: &Submission, field: &str, other: &str) -> Fault {
    Fault::new(
        format!("/components/schemas/{}/properties/{field}/enum", submission.schema),
        format!(
            "`{field}` lists the same values as `{other}`: move the list to components.schemas and \
             refer to it from both"
        ),
    )
}
