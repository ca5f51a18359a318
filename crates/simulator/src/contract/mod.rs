//! The contract: reads the operations from `openapi.json`. It is not a part of `request`, because
//! pictures use its defaults, and requests the sizes of pictures.

mod check;
mod paths;
mod schema;
mod submission;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::check::{MAX_VIOLATIONS, Step, Validated, Violation};
pub(crate) use self::check::{integer, integer_field, violations};
use self::paths::Template;
pub(crate) use self::paths::{neutral_path, prefixed_path};
pub use self::schema::Schema;
pub(crate) use self::submission::{AspectRatio, Field, Fields, Need, Submission};

use crate::{error::StartError, values::names};

/// The document that is built into this crate.
const DOCUMENT: &str = include_str!("../../openapi.json");

/// Returns the built-in document, which is parsed once per process.
pub(crate) fn document() -> &'static Arc<Value> {
    static PARSED: LazyLock<Arc<Value>> =
        LazyLock::new(|| Arc::new(serde_json::from_str(DOCUMENT).unwrap_or_default()));
    &PARSED
}

/// What paths start with. Settings name an operation without it.
const VERSION: &str = "/v1/";

/// What operations of the document can have.
const METHODS: [Method; 5] =
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// Returns the name of the header that contains the key. Without one, no simulator starts.
pub(crate) fn key_header() -> &'static str {
    static NAME: LazyLock<String> =
        LazyLock::new(|| read_key_header(document()).unwrap_or_default());
    &NAME
}

/// Returns the name of the header of the first security scheme.
fn read_key_header(document: &Value) -> Option<String> {
    let schemes = document.pointer("/components/securitySchemes")?.as_object()?;
    Some(schemes.values().next()?.get("name")?.as_str()?.to_ascii_lowercase())
}

/// One of the two base URLs of the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// The base URL.
    #[default]
    Global,
    /// The base URL for regional models.
    Regional,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The operations of the document.
pub(crate) struct Contract {
    operations: Vec<Operation>,
    /// The path of the operation that returns the status of a task.
    pub(crate) polling_path: String,
    /// The names of secret fields in all requests.
    pub(crate) secret_fields: BTreeSet<String>,
}

pub(crate) struct Operation {
    pub(crate) id: String,
    method: Method,
    template: Template,
    /// The base URL that serves it. Each of them serves the polls of its own tasks.
    pub(crate) region: Region,
    /// The rules of a request that creates a task. `None` if the operation returns the status of
    /// the task in the query parameter `id`.
    pub(crate) submission: Option<Arc<Submission>>,
}

impl Contract {
    /// The built-in contract, which is read once per process.
    pub(crate) fn built_in() -> Result<Arc<Self>, StartError> {
        static BUILT_IN: OnceLock<Arc<Contract>> = OnceLock::new();
        if let Some(contract) = BUILT_IN.get() {
            return Ok(Arc::clone(contract));
        }
        let contract = Arc::new(Self::read(document())?);
        Ok(Arc::clone(BUILT_IN.get_or_init(|| contract)))
    }

    pub(crate) fn read(document: &Arc<Value>) -> Result<Self, StartError> {
        let paths = document["paths"]
            .as_object()
            .ok_or_else(|| StartError::contract("paths", "is missing"))?;
        if read_key_header(document).is_none() {
            return Err(StartError::contract("components.securitySchemes", "has no header"));
        }
        let mut operations = Vec::new();
        for (path, item) in paths {
            for method in METHODS {
                let Some(operation) = item.get(method.as_str().to_lowercase()) else { continue };
                let place = format!("{method} {path}");
                operations.push(Operation {
                    id: operation["operationId"].as_str().unwrap_or(&place).to_owned(),
                    template: Template::parse(path, |name| parameter(document, operation, name))
                        .map_err(|problem| StartError::contract(&place, problem))?,
                    submission: read_submission(document, operation, &method)
                        .map_err(|problem| StartError::contract(&place, problem))?,
                    region: match operation.get("x-region") {
                        Some(_) => Region::Regional,
                        None => Region::Global,
                    },
                    method,
                });
            }
        }
        let polling_path = operations
            .iter()
            .find(|operation| operation.submission.is_none())
            .map(|operation| operation.template.path.clone())
            .ok_or_else(|| StartError::contract("paths", "no operation polls a task"))?;
        let submissions = operations.iter().filter_map(|operation| operation.submission.as_ref());
        let fields = submissions.map(|submission| &submission.fields.0);
        let secret = fields.flatten().filter(|(_, field)| field.secret);
        let secret_fields = secret.map(|(name, _)| name.to_owned()).collect();
        Ok(Self { operations, polling_path, secret_fields })
    }

    /// Finds the operation of a method and a neutral path, or the methods that the path allows.
    /// Literal paths take precedence over templates.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Result<&Operation, Vec<&str>> {
        let matching: Vec<_> =
            self.operations.iter().filter(|operation| operation.template.matches(path)).collect();
        let is_literal = |operation: &&Operation| operation.template.parameter.is_none();
        let any_literal = matching.iter().any(is_literal);
        let best = matching.into_iter().filter(|one| is_literal(one) == any_literal);
        let found = best.clone().find(|operation| operation.method == *method);
        found.ok_or_else(|| best.map(|operation| operation.method.as_str()).collect())
    }

    /// Checks that a pattern matches a submission's operation. The error has the nearest name.
    pub(crate) fn check_pattern(&self, pattern: &str) -> Result<(), String> {
        let known = match pattern.strip_suffix('*') {
            Some(beginning) => {
                let beginning = format!("{VERSION}{beginning}");
                self.submissions().any(|operation| operation.template.can_start_with(&beginning))
            }
            None => self.submission(pattern).is_some(),
        };
        if known {
            return Ok(());
        }
        let names =
            self.submissions().filter_map(|known| known.template.path.strip_prefix(VERSION));
        let star = if pattern.ends_with('*') { "*" } else { "" };
        let meant = names::nearest(pattern.trim_end_matches('*'), names).unwrap_or_default();
        Err(format!("`{pattern}` matches no operation: did you mean `{meant}{star}`?"))
    }

    /// The id and the rules of a submission's operation, named without `/v1/`.
    pub(crate) fn submission(&self, name: &str) -> Option<(&str, &Submission)> {
        let operation = self.find(&Method::POST, &format!("{VERSION}{name}")).ok()?;
        Some((&operation.id, operation.submission.as_ref()?))
    }

    fn submissions(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.submission.is_some())
    }
}

/// Reads the rules of an operation that creates a task. Returns `None` for one that polls a task.
fn read_submission(
    document: &Arc<Value>,
    operation: &Value,
    method: &Method,
) -> Result<Option<Arc<Submission>>, String> {
    if method == Method::POST {
        return Ok(Some(Arc::new(Submission::read(document, operation)?)));
    }
    let has_id = check::list(operation, "parameters")
        .map(|parameter| check::resolve(document, parameter))
        .any(|parameter| parameter["in"] == "query" && parameter["name"] == "id");
    if method == Method::GET && has_id {
        return Ok(None);
    }
    Err("the operation is neither a POST with a body nor a GET with the query parameter `id`"
        .to_owned())
}

/// The schema of a path parameter.
fn parameter(document: &Arc<Value>, operation: &Value, name: &str) -> Result<Schema, String> {
    let parameter = check::list(operation, "parameters")
        .find(|parameter| parameter["in"] == "path" && parameter["name"] == name)
        .ok_or_else(|| format!("the path parameter `{name}` is not defined"))?;
    Schema::new(document, &parameter["schema"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        serde_json::from_str(DOCUMENT).unwrap()
    }

    #[test]
    fn an_operation_added_to_the_document_is_served() {
        let mut document = document();
        document["paths"]["/v1/gen-9-new"] = document["paths"]["/v1/gen-2-pro"].clone();
        document["paths"]["/v1/gen-9-new"]["post"]["operationId"] = json!("gen_9_new");
        let contract = Contract::read(&Arc::new(document)).unwrap();
        assert_eq!(contract.submission("gen-9-new").unwrap().0, "gen_9_new");
    }

    #[test]
    fn the_polling_path_is_that_of_the_document() {
        let mut document = document();
        let poll = document["paths"].as_object_mut().unwrap().remove("/v1/get_result").unwrap();
        let error = Contract::read(&Arc::new(document.clone())).err().unwrap().to_string();
        assert!(error.contains("no operation polls a task"), "{error}");
        document["paths"]["/v1/result"] = poll;
        assert_eq!(Contract::read(&Arc::new(document)).unwrap().polling_path, "/v1/result");
    }

    #[test]
    fn an_unsupported_operation_is_named() {
        let mut document = document();
        document["paths"]["/v1/task"] = json!({ "delete": { "operationId": "delete_task" } });
        let error = Contract::read(&Arc::new(document)).err().unwrap().to_string();
        assert!(error.contains("DELETE /v1/task"), "{error}");
    }

    #[test]
    fn an_operation_with_invalid_rules_is_named() {
        let needs = json!([{ "any-of": ["prompt"], "why": "it is painted" }, { "images": 1 }]);
        for (keyword, value, problem) in [
            ("x-kind", json!(null), "missing field `x-kind`"),
            ("x-kind", json!("collage"), "x-kind: unknown variant `collage`, expected one of"),
            ("x-max-reference-images", json!(-1), "x-max-reference-images: invalid value"),
            ("x-needs", needs, "x-needs[1]: expected `any-of` or `images`"),
        ] {
            let mut document = document();
            let operation = document["paths"]["/v1/gen-dev"]["post"].as_object_mut().unwrap();
            operation.remove(keyword);
            operation.extend((!value.is_null()).then(|| (keyword.to_owned(), value)));
            let error = Contract::read(&Arc::new(document)).err().unwrap().to_string();
            let expected = format!("cannot serve the contract: POST /v1/gen-dev: {problem}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn a_contract_with_an_unsupported_keyword_is_not_served() {
        let mut document = document();
        let schemas = document["components"]["schemas"].as_object_mut().unwrap();
        let schema = schemas.values_mut().find(|schema| schema["properties"]["prompt"].is_object());
        schema.unwrap()["properties"]["prompt"]["contentEncoding"] = json!("base64");
        let error = Contract::read(&Arc::new(document)).err().unwrap().to_string();
        assert!(error.contains("`prompt`: unsupported keyword `contentEncoding`"), "{error}");
    }
}
