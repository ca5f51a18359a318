//! The simulator over real HTTP.

mod bench;
mod contract;
mod delivery;
mod mutations;
mod operations;
mod pictures;
mod pictures_edit;
mod pictures_input;
mod refusals;
mod sizes;
mod tasks;
