//! The types of fields that take one value of a list: one enum for each list.

use super::{
    contract::{Operation, Submission, capitalized},
    fault::{Fault, Place},
    kind::Kind,
};

/// The variant that keeps a value that the list does not have.
pub const UNKNOWN: &str = "Unknown";

pub struct Choice {
    pub type_name: String,
    pub description: String,
    pub values: Vec<String>,
}

/// The name of the enum for a field that lists its values itself.
pub fn type_name(schema: &str, field: &str) -> String {
    format!("{schema}{}", field.split('_').map(capitalized).collect::<String>())
}

/// The name of the variant for a value: `DraftEnhance` for `draft_enhance`.
pub fn variant(value: &str) -> String {
    let name: String = value.split(|c: char| !c.is_ascii_alphanumeric()).map(capitalized).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("V{name}") } else { name }
}

/// The values of a list, each of which must give a variant of its own.
pub fn read_values(list: &Place) -> Result<Vec<String>, Fault> {
    let mut variants = vec![UNKNOWN.to_owned()];
    for element in list.elements()? {
        let value = element.string()?;
        let name = variant(value);
        if name.is_empty() || variants.contains(&name) {
            return Err(element.fault(format!(
                "the value `{value}` can't become a variant of an enum: `{name}` is empty or taken"
            )));
        }
        variants.push(name);
    }
    list.strings()
}

/// The enums of all operations. Two fields of the same name and with the same values must share one.
pub fn all(operations: &[Operation]) -> Result<Vec<Choice>, Fault> {
    let mut choices: Vec<(Choice, &str)> = Vec::new();
    for submission in operations.iter().filter_map(|operation| operation.submission.as_ref()) {
        for field in &submission.fields {
            let Kind::Choice { values, type_name, description } = &field.kind else { continue };
            if choices.iter().any(|(known, _)| &known.type_name == type_name) {
                continue;
            }
            let is_twin =
                |(known, name): &&(Choice, &str)| *name == field.name && &known.values == values;
            if let Some((twin, _)) = choices.iter().find(is_twin) {
                return Err(twins(submission, &field.name, &twin.type_name));
            }
            let description = description.clone().unwrap_or_else(|| field.description.clone());
            let type_name = type_name.clone();
            choices.push((Choice { type_name, description, values: values.clone() }, &field.name));
        }
    }
    Ok(choices.into_iter().map(|(choice, _)| choice).collect())
}

fn twins(submission: &Submission, field: &str, twin: &str) -> Fault {
    Fault::new(
        format!("/components/schemas/{}/properties/{field}/enum", submission.schema),
        format!(
            "`{field}` lists the same values as `{twin}`: move the list to components.schemas and \
             refer to it from both"
        ),
    )
}
