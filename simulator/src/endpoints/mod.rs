//! The endpoints of the service: submissions, polls and deliveries.

pub(crate) mod delivery;
mod endpoint;
mod poll;
mod rejection;
pub(crate) mod router;
mod submit;
pub(crate) mod task_result;

pub(crate) use self::{endpoint::Endpoint, rejection::Rejection};
