//! Values that several parts of the simulator read and write in the same way. This module depends
//! on no other part.

pub(crate) mod base64;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod seconds;
pub(crate) mod secret;
pub(crate) mod texts;

/// The maximum of a counter in a snapshot. Up to this number, every JSON parser reads integers
/// exactly, and no counter can overflow.
pub(crate) const MAX_COUNT: u64 = 1 << 53;
