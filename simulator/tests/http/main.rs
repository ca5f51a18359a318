//! The simulator over real HTTP.

mod bench;
mod contract;
mod delivery;
mod mutations;
mod operations;
mod refusals;
mod sizes;
mod tasks;
mod video;
mod video_in_browser;
