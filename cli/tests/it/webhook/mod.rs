//! `kiln webhook`: recorded deliveries, and deliveries of a real simulator.

mod listen;
mod listening;
mod refused;
mod settings;
mod signed;
mod verify;
