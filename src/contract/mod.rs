//! The contract at run time: the operations, requests to them, and the check of a request against
//! its limits.

mod form;
mod image_content;
mod image_size;
mod json;
mod operation;
mod request;
mod validate;
mod webhook;

pub use json::IntoJson;
pub use operation::{
    Field, FieldKind, ImageEncodings, Limits, Operation, PathParameter, find_operation, operations,
};
pub(crate) use request::{FieldValue, JsonValue};
pub use request::{Request, Submit};
pub(crate) use webhook::WebhookDefaults;
