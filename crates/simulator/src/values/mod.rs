//! Values that several parts read and write in the same way. Depends on no other part.

pub(crate) mod formats;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod seconds;
pub(crate) mod secret;
pub(crate) mod texts;

/// The maximum of a counter in a snapshot. Up to here, every JSON parser keeps integers exact, and
/// no counter overflows.
pub(crate) const MAX_COUNT: u64 = 1 << 53;
