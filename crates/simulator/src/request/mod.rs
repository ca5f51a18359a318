//! Validates the body of a submission, and reads what the submission asks for.

pub(crate) mod fetch;
mod fields;
pub(crate) mod film;
pub(crate) mod size;
pub(crate) mod valid;
pub(crate) mod validation;
