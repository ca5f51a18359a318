//! Reads the facts about responses that the generated code contains: the schemas of their types,
//! the final statuses of a task, and the validity of delivery URLs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{document::DocumentNode, faults::Faults};

/// The schemas of the responses, and the facts about tasks in these schemas.
#[derive(Default)]
pub struct Responses {
    /// The names of all schemas to which responses refer.
    pub schemas: BTreeSet<String>,
    /// The final statuses of a task.
    pub statuses: Vec<Status>,
    pub status_description: String,
    /// How long a delivery URL is valid, in seconds.
    pub delivery_validity: u64,
}

/// A final status of a task.
pub struct Status {
    pub name: String,
    pub is_success: bool,
}

/// The name of the schema with the statuses, and of its generated type.
pub const STATUS: &str = "TaskStatus";

/// The name of the variant for all other statuses, which are not final.
pub const IN_PROGRESS: &str = "InProgress";

impl Responses {
    /// Reads the schemas of all responses in `root`.
    pub fn read(root: &DocumentNode) -> Result<Self, Faults> {
        let mut responses = Self::default();
        for response in all_responses(root)? {
            let Some(content) = response.get("content") else { continue };
            responses.collect(&content.need("application/json")?.need("schema")?)?;
        }
        let schemas = root.need("components")?.need("schemas")?;
        if responses.delivery_validity == 0 {
            return Err(schemas.fault("no field of a response has `x-valid-seconds`"));
        }
        if !responses.schemas.contains(STATUS) {
            return Err(schemas.fault(format!("no response refers to `{STATUS}`")));
        }
        responses.read_statuses(&schemas.need(STATUS)?)?;
        Ok(responses)
    }

    /// Adds the components to which this value refers, directly or indirectly, and the validity of
    /// delivery URLs.
    fn collect(&mut self, place: &DocumentNode) -> Result<(), Faults> {
        if let Some(target) = place.referred()? {
            let is_new = self.schemas.insert(place.component("schemas")?.to_owned());
            return if is_new { self.collect(&target) } else { Ok(()) };
        }
        if let Some(seconds) = place.get("x-valid-seconds") {
            self.delivery_validity = seconds.count()?;
        }
        match place.value {
            Value::Object(_) => place.members()?.iter().try_for_each(|(_, it)| self.collect(it)),
            Value::Array(_) => place.elements()?.iter().try_for_each(|it| self.collect(it)),
            _ => Ok(()),
        }
    }

    fn read_statuses(&mut self, place: &DocumentNode) -> Result<(), Faults> {
        self.status_description = place.need("description")?.string()?.to_owned();
        let success = place.need("x-success")?.strings()?;
        let names = place.need("x-extensible-enum")?.strings()?.into_iter();
        self.statuses =
            names.map(|name| Status { is_success: success.contains(&name), name }).collect();
        Ok(())
    }
}

/// Returns the shared responses in `components`, and the responses of the operations.
pub fn all_responses<'a>(root: &DocumentNode<'a>) -> Result<Vec<DocumentNode<'a>>, Faults> {
    let mut all = root.need("components")?.members_of("responses")?;
    for (_, item) in root.members_of("paths")? {
        for (_, operation) in item.members()? {
            all.extend(operation.members_of("responses")?);
        }
    }
    Ok(all.into_iter().map(|(_, response)| response).collect())
}
