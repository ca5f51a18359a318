//! The simulator over real HTTP.

mod accounts;
mod bench;
mod contract;
mod control;
mod credits;
mod delivery;
mod limits;
mod mutations;
mod operations;
mod refusals;
mod sizes;
mod tasks;
mod video;
mod video_in_browser;
