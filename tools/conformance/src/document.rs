//! The operations of the contract, with the schemas of their bodies.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use crate::{schema::Schema, shape::resolve};

/// The contract that this program was built with, which is also that of the types.
const CONTRACT: &str = include_str!("../../../openapi.json");

/// The contract.
#[derive(Debug)]
pub struct Document {
    /// By name: `gen-2-pro`, `gen-tools/deblur-v1`, `get_result`.
    operations: BTreeMap<String, Operation>,
    poll: String,
}

/// The bodies of an operation.
#[derive(Debug)]
pub struct Operation {
    /// The body of the request, or `None` for polling.
    pub request: Option<Schema>,
    /// By status code. `None` if the contract defines no body for it.
    responses: BTreeMap<String, Option<Schema>>,
}

impl Document {
    /// Reads the contract.
    ///
    /// # Errors
    ///
    /// The contract is not valid.
    pub fn load() -> Result<Self> {
        let document = serde_json::from_str(CONTRACT).context("openapi.json is not JSON")?;
        let document: Arc<Value> = Arc::new(document);
        let mut operations = BTreeMap::new();
        let mut poll = None;
        for operation in imagekiln::operations() {
            let method = if operation.submits { "post" } else { "get" };
            let path = document.get("paths").and_then(|paths| paths.get(operation.path));
            let value = path.and_then(|path| path.get(method)).unwrap_or(&Value::Null);
            let read = Operation::read(&document, value)
                .with_context(|| format!("could not read {method} {}", operation.path))?;
            operations.insert(operation.name.to_owned(), read);
            poll = poll.or((!operation.submits).then(|| operation.name.to_owned()));
        }
        let poll = poll.context("the contract has no operation that polls")?;
        Ok(Self { operations, poll })
    }

    /// Returns the operation with this name.
    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.get(name)
    }

    /// Returns the name of the operation that polls.
    pub fn poll_operation(&self) -> &str {
        &self.poll
    }
}

impl Operation {
    fn read(document: &Arc<Value>, operation: &Value) -> Result<Self> {
        let request = body(document, resolve(document, &operation["requestBody"]))?;
        let responses = operation["responses"].as_object().context("no responses")?;
        let responses = responses.iter().map(|(code, response)| {
            let response = resolve(document, response);
            Ok((code.clone(), body(document, response)?))
        });
        Ok(Self { request, responses: responses.collect::<Result<_>>()? })
    }

    /// Returns the schema of the response with this status code. The outer `None` means that the
    /// contract does not define the status code, the inner one that it defines no body.
    pub fn response(&self, status: u16) -> Option<Option<&Schema>> {
        let range = format!("{}XX", status / 100);
        let codes = [status.to_string(), range, "default".to_owned()];
        codes.iter().find_map(|code| self.responses.get(code)).map(Option::as_ref)
    }

    /// Returns the defined status codes, for example `200, 403, 422`.
    pub fn status_codes(&self) -> String {
        self.responses.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the schema of the JSON content, if there is any.
fn body(document: &Arc<Value>, with_content: &Value) -> Result<Option<Schema>> {
    let Some(schema) = with_content.pointer("/content/application~1json/schema") else {
        return Ok(None);
    };
    Schema::new(document, schema).map(Some).map_err(|problem| anyhow!(problem))
}
