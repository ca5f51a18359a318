//! The journal: what is submitted is written down first, and nothing that was paid is lost with the
//! process.

mod file;
mod held;
mod killed;
mod order;
mod resuming;
