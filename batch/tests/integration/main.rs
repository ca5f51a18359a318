//! The ledger and the batch over real HTTP, against the simulator.

mod budget;
mod journal;
mod killed;
mod ledger;
mod model;
mod runs;
mod support;
