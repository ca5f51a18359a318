//! The contract at run time: operations, requests, and the validation of requests.

mod answer;
mod example;
mod field_value;
mod json;
mod operation;
mod request;
mod stored;
mod typed;
mod validate;
mod webhook;

pub(crate) use answer::{AnswerFields, ReadAnswer};
pub(crate) use field_value::{FieldValue, JsonValue};
pub use json::IntoJson;
pub use operation::{
    Field, FieldKind, ImageEncodings, Limits, Operation, PathParameter, find_operation, operations,
};
pub use request::{Request, Submit};
pub(crate) use webhook::WebhookDefaults;
