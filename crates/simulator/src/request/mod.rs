//! What a submission asks for: validates its body, and reads it.

pub(crate) mod fetch;
mod fields;
pub(crate) mod film;
pub(crate) mod finetunes;
pub(crate) mod size;
pub(crate) mod valid;
pub(crate) mod validation;
