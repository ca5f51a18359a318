//! The contract at run time: the table of operations, requests and their validation, and the
//! reading of responses.

mod images;
mod operation;
mod outline;
mod request;
mod response;
mod stored;
mod typed;
mod validate;

pub(crate) use self::images::FieldImages;
pub use self::operation::{
    CompleteModel, Field, FieldKind, Limits, Need, NeedKind, Operation, OperationKind,
    PathParameter, complete_model, find_model, find_operation, models, operations,
};
pub(crate) use self::outline::{replaced, shown_url};
pub(crate) use self::request::WebhookDefaults;
pub use self::request::{Request, Submit};
pub(crate) use self::response::{
    Drift, Findings, ReadResponse, ResponseFields, Unexpected, read_response,
};
pub(crate) use self::typed::{Parts, Typed};
