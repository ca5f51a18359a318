//! Interactive use: the program on a pseudo-terminal, whose output goes to a terminal emulator.

mod bars;
mod colour;
mod emulated;
mod gallery;
mod help;
mod keys;
mod progress;
mod protocols;
mod screens;
mod session;
mod setup;
mod several;
mod showing;
mod svg;
mod tables;
mod waiting;

pub use emulated::{Piped, Setup, Terminal};
