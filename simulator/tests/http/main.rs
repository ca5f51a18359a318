//! The simulator over real HTTP.

mod bench;
mod contract;
mod delivery;
mod faults;
mod faults_asked;
mod mutations;
mod operations;
mod raw;
mod refusals;
mod sizes;
mod slow;
mod tasks;
