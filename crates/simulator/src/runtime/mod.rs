//! Time and randomness, both of which a test can control, and a pool for slow work.

pub(crate) mod chance;
pub(crate) mod clock;
pub(crate) mod workers;
