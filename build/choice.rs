//! Reads the lists of values of fields with a fixed set of values. Each list becomes one enum.

use super::{
    document::DocumentNode,
    faults::Faults,
    field::Kind,
    name::{camel_case, is_camel_case},
};

/// The name of the variant for values that are not in the list.
pub const UNKNOWN: &str = "Unknown";

pub struct Choice {
    pub type_name: String,
    pub description: String,
    pub values: Vec<String>,
}

/// Returns the name of the variant for a value: `DraftEnhance` for `draft_enhance`.
pub fn variant(value: &str) -> String {
    let name = camel_case(value);
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("V{name}") } else { name }
}

/// Reads texts, each of which must have a variant name of its own that is not `reserved`.
pub fn read_texts<'a>(
    elements: impl IntoIterator<Item = &'a DocumentNode<'a>>,
    reserved: &str,
) -> Result<Vec<String>, Faults> {
    let mut texts = Vec::new();
    let mut variants = vec![reserved.to_owned()];
    for element in elements {
        let text = element.string()?;
        let name = variant(text);
        if !is_camel_case(&name) || variants.contains(&name) {
            return Err(element.fault(format!(
                "the value `{text}` cannot be an enum variant: `{name}` is not a name or is \
                 already used"
            )));
        }
        variants.push(name);
        texts.push(text.to_owned());
    }
    Ok(texts)
}

/// Reads the values of the `enum` in `schema`.
///
/// In OpenAPI 3.0, the list must contain null if the schema is nullable. Null is not returned as a
/// value.
pub fn read_values(schema: &DocumentNode) -> Result<Vec<String>, Faults> {
    let list = schema.need("enum")?;
    let elements = list.distinct_elements()?;
    let values = read_texts(elements.iter().filter(|element| !element.value.is_null()), UNKNOWN)?;
    if schema.flag("nullable")? != (elements.len() > values.len()) {
        return Err(list.fault("null must be in the list exactly if the schema is nullable"));
    }
    if values.is_empty() { Err(list.fault("this list is empty")) } else { Ok(values) }
}

/// Reads a component that defines a list of values.
pub fn read_component(name: &str, component: &DocumentNode) -> Result<Kind, Faults> {
    let known = ["type", "nullable", "enum", "description"];
    component.must_have_only("the schema of an enum", known)?;
    let values = read_values(component)?;
    let type_name = sibling(component, &values)?.unwrap_or(name);
    Ok(Kind::Choice {
        type_name: type_name.to_owned(),
        description: Some(component.need("description")?.text()?.to_owned()),
        values,
    })
}

/// Returns the name of the first component with these values, with or without null. All components
/// with these values share the type of this one.
fn sibling<'a>(component: &DocumentNode<'a>, values: &[String]) -> Result<Option<&'a str>, Faults> {
    let schemas = component.document().need("components")?.members_of("schemas")?;
    for (name, schema) in schemas {
        let Some(list) = schema.get("enum") else { continue };
        let elements = list.elements()?;
        let texts: Vec<_> = elements.iter().filter_map(|element| element.value.as_str()).collect();
        if texts == values {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
