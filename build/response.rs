//! Reads the schemas of responses. The SDK reads responses leniently, so there are fewer rules than
//! for requests. A keyword without an effect is still a fault.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    choice::variant,
    document::DocumentNode,
    fault::Fault,
    frame,
    name::{have_one_member, is_camel_case, is_word},
};

/// The schemas of the responses, and the facts about tasks in them.
#[derive(Default)]
pub struct Responses {
    /// The names of the schemas.
    pub schemas: BTreeSet<String>,
    /// The final statuses of a task.
    pub statuses: Vec<Status>,
    pub status_description: String,
    /// How long a delivery URL is valid, in seconds.
    pub delivery_validity: u64,
    /// The schemas that are being read.
    open: Vec<String>,
}

/// A final status of a task.
pub struct Status {
    pub name: String,
    pub is_success: bool,
}

/// The schema with the statuses, and the name of its type.
pub const STATUS: &str = "TaskStatus";

/// The variant of its type for all other statuses.
pub const IN_PROGRESS: &str = "InProgress";

const OBJECT: [&str; 8] = [
    "type",
    "description",
    "required",
    "not",
    "properties",
    "additionalProperties",
    "x-not-shown",
    "x-correction",
];

/// The member of each type for the fields that the contract does not list.
const EXTRA: &str = "extra";

const FIELD: [&str; 5] = ["type", "nullable", "description", "x-not-shown", "x-correction"];

impl Responses {
    /// Reads the schemas of all responses in `root`.
    pub fn read(root: &DocumentNode) -> Result<Self, Fault> {
        let mut responses = Self::default();
        let mut all = root.need("components")?.members_of("responses")?;
        for (_, item) in root.members_of("paths")? {
            for (_, operation) in item.members()? {
                all.extend(operation.members_of("responses")?);
            }
        }
        for (_, response) in all {
            let Some(content) = response.get("content") else { continue };
            let schema = content.need("application/json")?.need("schema")?;
            responses.read_reference(&schema)?;
        }
        Ok(responses)
    }

    /// Fails if the SDK lacks a fact.
    pub fn check_complete(&self, root: &DocumentNode) -> Result<(), Fault> {
        let schemas = root.need("components")?.need("schemas")?;
        if self.delivery_validity == 0 {
            return Err(schemas.fault("no field of a response has `x-valid-seconds`"));
        }
        if self.statuses.is_empty() {
            return Err(schemas.fault("no schema of a response has `x-success`"));
        }
        Ok(())
    }

    /// Reads a schema that must be a component, once.
    fn read_reference(&mut self, place: &DocumentNode) -> Result<(), Fault> {
        let name = frame::check_reference(place, "schemas")?;
        let target = place.resolved()?;
        if !is_camel_case(name) {
            return Err(target.fault(format!("`{name}` is not a valid name of a Rust type")));
        }
        if self.open.iter().any(|open| open == name) {
            return Err(place.fault(format!("`{name}` contains itself")));
        }
        if !self.schemas.insert(name.to_owned()) {
            return Ok(());
        }
        self.open.push(name.to_owned());
        let read = self.read_schema(name, &target);
        self.open.pop();
        read
    }

    fn read_schema(&mut self, name: &str, target: &DocumentNode) -> Result<(), Fault> {
        target.need("description")?.text()?;
        frame::check_notes(target)?;
        if let Some(alternatives) = target.get("oneOf") {
            return self.read_alternatives(target, &alternatives.distinct_elements()?);
        }
        let declared = target.need("type")?;
        match declared.string()? {
            "object" => self.read_object(target),
            "string" => self.read_statuses(name, target),
            _ => Err(declared.fault("expected `object`, or `string` with `x-extensible-enum`")),
        }
    }

    /// Reads a choice of responses, which are references, or of types. No response may fit two, so
    /// each excludes a field that an earlier one requires.
    fn read_alternatives(
        &mut self,
        target: &DocumentNode,
        alternatives: &[DocumentNode],
    ) -> Result<(), Fault> {
        if alternatives.iter().all(|one| one.get("$ref").is_none()) {
            let known = ["description", "oneOf"];
            frame::known(target, "a choice of types", known.into_iter())?;
            return alternatives.iter().try_for_each(read_scalar);
        }
        let known = ["description", "oneOf", "x-not-shown", "x-correction"];
        frame::known(target, "a choice of responses", known.into_iter())?;
        let mut earlier: Vec<Vec<String>> = Vec::new();
        for one in alternatives {
            self.read_reference(one)?;
            let one = one.resolved()?;
            let excluded = one.get("not").map_or(Ok(Vec::new()), |not| required(&not))?;
            if !earlier.iter().all(|names| names.iter().any(|name| excluded.contains(name))) {
                let message = "a response could fit this one and an earlier one: exclude a field \
                               that the earlier one requires with `not`";
                return Err(one.fault(message));
            }
            earlier.push(required(&one)?);
        }
        Ok(())
    }

    fn read_object(&mut self, place: &DocumentNode) -> Result<(), Fault> {
        frame::known(place, "the schema of a response", OBJECT.into_iter())?;
        place.need("additionalProperties")?.must_be_true()?;
        let properties = place.need("properties")?;
        let required = place.get("required").map(|list| list.distinct_elements()).transpose()?;
        for element in required.unwrap_or_default() {
            let name = element.string()?;
            if properties.get(name).is_none() {
                return Err(element.fault(format!("`{name}` is required but is not a property")));
            }
        }
        if let Some(not) = place.get("not") {
            let [name] = not.need("required")?.distinct_elements()?[..] else {
                return Err(not.fault("expected one name in `required`"));
            };
            // Linters expect the name in `properties`.
            let expected =
                json!({ "required": [name.text()?], "properties": { name.text()?: {} } });
            if *not.value != expected {
                return Err(not.fault(format!("expected {expected}")));
            }
            if properties.get(name.text()?).is_some() {
                return Err(name.fault("the response has a field with this name"));
            }
        }
        if properties.members()?.is_empty() {
            return Err(properties.fault("this object is empty"));
        }
        let mut names = vec![EXTRA];
        for (name, field) in properties.members()? {
            if !is_word(name) {
                return Err(field.fault(format!("`{name}` cannot be the name of a field")));
            }
            if let Some(other) = names.iter().find(|other| have_one_member(name, other)) {
                return Err(field.fault(match *other {
                    EXTRA => format!("`{name}` would have the member for unlisted fields"),
                    other => format!("`{name}` would have the same member as `{other}`"),
                }));
            }
            names.push(name);
            field.need("description")?.text()?;
            self.read_field(&field)?;
        }
        Ok(())
    }

    fn read_field(&mut self, place: &DocumentNode) -> Result<(), Fault> {
        frame::check_notes(place)?;
        let known = |kind: &str, further: &[&str]| {
            frame::known(place, kind, FIELD.iter().chain(further).copied())
        };
        if let Some(nullable) = place.get("nullable") {
            nullable.must_be_true()?;
        }
        if let Some(all_of) = place.get("allOf") {
            let known = ["allOf", "description", "x-not-shown", "x-correction"];
            frame::known(place, "a field that refers to a schema", known.into_iter())?;
            return match all_of.elements()?.as_slice() {
                [only] => self.read_reference(only),
                _ => Err(all_of.fault("expected one `$ref`")),
            };
        }
        if place.get("$ref").is_some() {
            return self.read_reference(place);
        }
        let declared = place.need("type")?;
        match declared.string()? {
            "integer" => {
                known("an integer in a response", &["format"])?;
                read_format(place, &["int64"])
            }
            "number" => {
                known("a number in a response", &["format"])?;
                read_format(place, &["double"])
            }
            "boolean" => known("a boolean in a response", &[]),
            "string" => self.read_text(place),
            "array" => {
                known("an array in a response", &["items"])?;
                self.read_field(&place.need("items")?)
            }
            "object" => self.read_object(place),
            other => Err(declared.fault(format!("unsupported type `{other}`"))),
        }
    }

    fn read_text(&mut self, place: &DocumentNode) -> Result<(), Fault> {
        let known = FIELD.into_iter().chain(["format", "enum", "x-address", "x-valid-seconds"]);
        frame::known(place, "a string in a response", known)?;
        if let Some(list) = place.get("enum") {
            list.distinct_elements()?.iter().try_for_each(|value| value.text().map(|_| ()))?;
        }
        if let Some(address) = place.get("x-address") {
            address.must_be_true()?;
        }
        if let Some(seconds) = place.get("x-valid-seconds") {
            if place.get("x-address").is_none() {
                return Err(seconds.fault("only an address (`x-address`) can expire"));
            }
            if std::mem::replace(&mut self.delivery_validity, seconds.count()?) > 0 {
                return Err(seconds.fault("another field has a validity"));
            }
        }
        read_format(place, &["date", "date-time", "uri", "uuid"])
    }

    fn read_statuses(&mut self, name: &str, place: &DocumentNode) -> Result<(), Fault> {
        if name != STATUS {
            return Err(place.fault(format!("expected the name `{STATUS}`")));
        }
        let known = ["type", "description", "x-extensible-enum", "x-success", "x-not-shown"];
        frame::known(place, "the schema of a status", known.into_iter())?;
        let listed = place.need("x-extensible-enum")?;
        let success = place.need("x-success")?.strings()?;
        if success.is_empty() {
            return Err(place.need("x-success")?.fault("this list is empty"));
        }
        for element in place.need("x-success")?.distinct_elements()? {
            if !listed.strings()?.iter().any(|status| status == element.value) {
                return Err(element.fault("this status is not in `x-extensible-enum`"));
            }
        }
        self.status_description = place.need("description")?.text()?.to_owned();
        let mut names = vec![IN_PROGRESS.to_owned()];
        for element in listed.elements()? {
            let status = element.text()?.to_owned();
            let name = variant(&status);
            if !is_camel_case(&name) || names.contains(&name) {
                return Err(element.fault(format!(
                    "the status `{status}` cannot be an enum variant: `{name}` is not a name or \
                     is already used"
                )));
            }
            names.push(name);
            let is_success = success.contains(&status);
            self.statuses.push(Status { name: status, is_success });
        }
        Ok(())
    }
}

/// The names in `required`.
fn required(place: &DocumentNode) -> Result<Vec<String>, Fault> {
    place.get("required").map_or(Ok(Vec::new()), |names| names.strings())
}

fn read_scalar(place: &DocumentNode) -> Result<(), Fault> {
    frame::known(place, "one of several types", ["type"].into_iter())?;
    let declared = place.need("type")?;
    match declared.string()? {
        "string" | "integer" | "number" | "boolean" => Ok(()),
        other => Err(declared.fault(format!("unsupported type `{other}`"))),
    }
}

fn read_format(place: &DocumentNode, known: &[&str]) -> Result<(), Fault> {
    match place.get("format") {
        Some(format) if !known.contains(&format.string()?) => {
            Err(format.fault(format!("expected one of {}", known.join(", "))))
        }
        _ => Ok(()),
    }
}
