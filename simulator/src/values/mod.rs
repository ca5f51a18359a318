//! Values that several parts read and write in the same way. Depends on no other part.

pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod nearest;
pub(crate) mod pattern;
pub(crate) mod saved;
pub(crate) mod seconds;
pub(crate) mod secret;
pub(crate) mod texts;
