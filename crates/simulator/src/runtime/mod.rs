//! What a test controls: time and randomness. And where slow work runs.

pub(crate) mod chance;
pub(crate) mod clock;
pub(crate) mod workers;
