//! The types that the fields of requests need: an enum for each list of values, and a struct for
//! each object.

use std::collections::BTreeMap;

use super::{
    choice::Choice,
    contract::Operation,
    document::joined,
    fault::Fault,
    field::{Field, Kind, Object},
    response::Responses,
};

#[derive(Default)]
pub struct Types<'a> {
    pub choices: Vec<Choice>,
    pub objects: Vec<&'a Object>,
    /// The place where each name was first used. Equal references share a type, so they share the
    /// place.
    names: BTreeMap<&'a str, String>,
    /// The field of each inline list of values.
    lists: Vec<(&'a str, &'a str)>,
}

/// Names that the generated code uses for something else: those of Rust's prelude, and of the
/// hand-written types of fields.
const RESERVED: [&str; 39] = [
    "Address",
    "AsMut",
    "AsRef",
    "AspectRatio",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Hash",
    "ImageInput",
    "Into",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Some",
    "String",
    "ToString",
    "TryFrom",
    "TryInto",
    "Vec",
    "WebhookSecret",
];

/// Collects the types of all requests. No two types may have the same name.
pub fn collect<'a>(
    operations: &'a [Operation],
    responses: &'a Responses,
) -> Result<Types<'a>, Fault> {
    let mut types = Types::default();
    for name in &responses.schemas {
        types.add_name(name, format!("/components/schemas/{name}"))?;
    }
    for operation in operations {
        let Some(submission) = &operation.submission else { continue };
        let path = joined("/paths", &operation.path);
        types.add_name(&submission.type_name, format!("{path}/post"))?;
    }
    for operation in operations {
        let Some(submission) = &operation.submission else { continue };
        let place = format!("/components/schemas/{}/properties", submission.schema);
        types.add_fields(&submission.fields, &place)?;
    }
    Ok(types)
}

impl<'a> Types<'a> {
    fn add_name(&mut self, name: &'a str, place: String) -> Result<(), Fault> {
        if RESERVED.contains(&name) {
            return Err(Fault::new(place, format!("the name `{name}` is reserved")));
        }
        match self.names.insert(name, place.clone()) {
            Some(other) => {
                Err(Fault::new(place, format!("its type would be named `{name}`, like {other}")))
            }
            None => Ok(()),
        }
    }

    fn add_fields(&mut self, fields: &'a [Field], place: &str) -> Result<(), Fault> {
        fields
            .iter()
            .try_for_each(|field| self.add(field, &field.name, &format!("{place}/{}", field.name)))
    }

    fn add(&mut self, field: &'a Field, name: &'a str, place: &str) -> Result<(), Fault> {
        match &field.kind {
            Kind::List(item) => self.add(item, name, &format!("{place}/items")),
            Kind::Object(object) => {
                if self.objects.iter().any(|known| known.place == object.place) {
                    return Ok(());
                }
                self.add_name(&object.type_name, place.to_owned())?;
                self.objects.push(object);
                self.add_fields(&object.fields, &format!("{}/properties", object.place))
            }
            Kind::Choice { values, type_name, description } => {
                let is_known =
                    |known: &Choice| &known.type_name == type_name && &known.values == values;
                if self.choices.iter().any(is_known) {
                    return Ok(());
                }
                self.refuse_repeated_list(name, values, place)?;
                self.add_name(type_name, place.to_owned())?;
                self.lists.push((name, type_name));
                let description = description.as_ref().unwrap_or(&field.description).clone();
                let (type_name, values) = (type_name.clone(), values.clone());
                self.choices.push(Choice { type_name, description, values });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Fields with the same name and values must share an enum.
    fn refuse_repeated_list(
        &self,
        name: &str,
        values: &[String],
        place: &str,
    ) -> Result<(), Fault> {
        let same_name = self.lists.iter().filter(|(known, _)| *known == name);
        let mut choices = same_name.filter_map(|(_, type_name)| {
            self.choices.iter().find(|choice| choice.type_name == *type_name)
        });
        match choices.find(|choice| choice.values == values) {
            Some(other) => Err(Fault::new(
                format!("{place}/enum"),
                format!(
                    "`{name}` lists the same values as `{}`: move the list to components.schemas \
                     and refer to it from both",
                    other.type_name
                ),
            )),
            None => Ok(()),
        }
    }
}
