//! What a submission asks for: validates its body, and reads it.

pub(crate) mod fetch;
pub(crate) mod film;
pub(crate) mod json;
mod open_fields;
pub(crate) mod parsed;
pub(crate) mod size;
mod strict;
pub(crate) mod training;
mod unlisted;
pub(crate) mod validation;
mod words;
