//! The endpoints of the service: submissions, polls and deliveries.

pub(crate) mod delivery;
pub(crate) mod poll;
pub(crate) mod router;
pub(crate) mod submit;
