//! The simulator over real HTTP.

mod accounts;
mod bench;
mod contract;
mod credits;
mod delivery;
mod limits;
mod mutations;
mod operations;
mod pictures;
mod pictures_edit;
mod pictures_input;
mod refusals;
mod sizes;
mod tasks;
mod video;
mod video_in_browser;
mod webhook_receiver;
mod webhooks;
mod webhooks_log;
