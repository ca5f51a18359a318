//! Collects the types that the fields of requests need: an enum for each list of values.

use std::collections::BTreeMap;

use super::{
    choice::Choice,
    contract::Operation,
    document::joined,
    faults::{Faults, all},
    field::{Field, Kind},
    response::Responses,
};

#[derive(Default)]
pub struct Types<'a> {
    pub choices: Vec<Choice>,
    /// The JSON pointer at which each type name is first used.
    names: BTreeMap<&'a str, String>,
    /// The name of the field, and the name of the enum, for each list of values.
    lists: Vec<(&'a str, &'a str)>,
}

/// Names that the generated code uses for other types and traits: those in Rust's prelude, and
/// those of the hand-written types of fields.
const RESERVED: &str = "\
    Address AsMut AsRef AspectRatio Box Clone Copy Debug Default DoubleEndedIterator Drop Eq Err \
    ExactSizeIterator Extend Fn FnMut FnOnce From FromIterator Hash ImageInput Into IntoIterator \
    Iterator None Ok Option Ord PartialEq PartialOrd Result Some String ToString TryFrom TryInto \
    Vec Secret";

/// Collects the types of all requests. No two types may have the same name.
pub fn collect<'a>(
    operations: &'a [Operation],
    responses: &'a Responses,
) -> Result<Types<'a>, Faults> {
    let mut types = Types::default();
    let mut added = Vec::new();
    for name in &responses.schemas {
        added.push(types.add_name(name, format!("/components/schemas/{name}")));
    }
    let submissions = || operations.iter().filter_map(|it| Some((it, it.submission.as_ref()?)));
    for (operation, submission) in submissions() {
        let path = joined("/paths", &operation.path);
        added.push(types.add_name(&submission.type_name, format!("{path}/post")));
    }
    for (_, submission) in submissions() {
        let place = format!("/components/schemas/{}/properties", submission.schema);
        let fields = submission.fields.iter();
        added.extend(fields.map(|field| types.add(field, &format!("{place}/{}", field.name))));
    }
    all(added).map(|_| types)
}

impl<'a> Types<'a> {
    fn add_name(&mut self, name: &'a str, place: String) -> Result<(), Faults> {
        if RESERVED.split(' ').any(|reserved| reserved == name) {
            return Err(Faults::new(place, format!("the name `{name}` is reserved")));
        }
        match self.names.insert(name, place.clone()) {
            Some(other) => {
                Err(Faults::new(place, format!("its type would be named `{name}`, like {other}")))
            }
            None => Ok(()),
        }
    }

    fn add(&mut self, field: &'a Field, place: &str) -> Result<(), Faults> {
        let Kind::Choice { values, type_name, description } = &field.kind else { return Ok(()) };
        let is_known = |known: &Choice| &known.type_name == type_name && &known.values == values;
        if self.choices.iter().any(is_known) {
            return Ok(());
        }
        self.refuse_repeated_list(&field.name, values, place)?;
        self.add_name(type_name, place.to_owned())?;
        self.lists.push((&field.name, type_name));
        let description = description.as_ref().unwrap_or(&field.description).clone();
        let (type_name, values) = (type_name.clone(), values.clone());
        self.choices.push(Choice { type_name, description, values });
        Ok(())
    }

    /// Fails if a field with the same name and values has a different enum. The contract must
    /// define such a list once, so that both fields share an enum.
    fn refuse_repeated_list(
        &self,
        name: &str,
        values: &[String],
        place: &str,
    ) -> Result<(), Faults> {
        let same_name = self.lists.iter().filter(|(known, _)| *known == name);
        let mut choices = same_name.filter_map(|(_, type_name)| {
            self.choices.iter().find(|choice| choice.type_name == *type_name)
        });
        match choices.find(|choice| choice.values == values) {
            Some(other) => Err(Faults::new(
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
