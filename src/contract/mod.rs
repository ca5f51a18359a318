//! The contract at run time: operations, requests, and the validation of requests.

mod images;
mod operation;
mod outline;
mod request;
mod response;
mod stored;
mod typed;
mod unexpected;
mod validate;
mod webhook;

pub(crate) use self::images::{Images, Place, field_of};
pub use self::operation::{
    Field, FieldKind, ImageEncodings, Limits, Operation, PathParameter, find_operation, operations,
};
pub(crate) use self::outline::{replaced, shown_url};
pub use self::request::{Request, Submit};
pub(crate) use self::response::{ReadResponse, ResponseFields, read_response};
pub(crate) use self::typed::{Typed, Visitor};
pub(crate) use self::unexpected::Unexpected;
pub(crate) use self::webhook::WebhookDefaults;
