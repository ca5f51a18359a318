//! `kiln webhook`: recorded deliveries, and deliveries of a real simulator.

mod listen;
pub mod listening;
mod refused;
mod settings;
pub mod signed;
mod verify;
