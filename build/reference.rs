//! References from the value of a field to a component.

use super::{
    choice,
    document::DocumentNode,
    fault::Fault,
    frame,
    kind::{self, Kind},
    name::is_camel_case,
};

/// The keywords beside `allOf`, which is the only form of a reference with a description.
const WITH_DESCRIPTION: [&str; 5] =
    ["allOf", "description", "default", "x-default", "x-correction"];

pub struct Reference<'a> {
    /// The name of the component, which is the name of its type.
    pub name: String,
    pub place: DocumentNode<'a>,
    pub target: DocumentNode<'a>,
}

/// Returns what the schema at `place` refers to, if it is a reference: `$ref`, or `allOf` with a
/// single `$ref`.
pub fn target<'a>(place: &DocumentNode<'a>) -> Result<Option<Reference<'a>>, Fault> {
    let holder = match place.get("allOf") {
        Some(all_of) => {
            frame::known(place, "a field that refers to a schema", WITH_DESCRIPTION.into_iter())?;
            match all_of.elements()?.as_slice() {
                [only] => *only,
                _ => return Err(all_of.fault("expected one `$ref`")),
            }
        }
        None if place.get("$ref").is_some() => *place,
        None => return Ok(None),
    };
    let name = frame::check_reference(&holder, "schemas")?.to_owned();
    let reference = holder.need("$ref")?;
    if !is_camel_case(&name) {
        return Err(reference.fault(format!("`{name}` is not a valid name of a Rust type")));
    }
    Ok(Some(Reference { name, place: reference, target: holder.resolved()? }))
}

/// Reads the kind of the value that the component describes.
pub fn read(reference: &Reference) -> Result<Kind, Fault> {
    let Reference { name, place, target } = reference;
    target.must_not_recur()?;
    let declared = target.need("type")?;
    match declared.string()? {
        "string" => choice::read_component(name, target),
        "object" => kind::read_object(target, name),
        "array" | "boolean" | "integer" | "number" => {
            Err(place
                .fault("expected an enum or an object: describe other values in the field itself"))
        }
        other => Err(declared.fault(format!("unsupported type `{other}`"))),
    }
}
