//! What a submission asks for: validates its body, and reads it.

pub(crate) mod open_fields;
pub(crate) mod parsed;
pub(crate) mod size;
pub(crate) mod validation;
