//! The simulator over real HTTP.

mod accounts;
mod bench;
mod contract;
mod control;
mod credits;
mod delivery;
mod documented;
mod faults;
mod faults_asked;
mod limits;
mod mutations;
mod operations;
mod pictures;
mod pictures_edit;
mod pictures_input;
mod raw;
mod refusals;
mod sizes;
mod slow;
mod tasks;
mod video;
mod video_in_browser;
mod webhook_receiver;
mod webhooks;
mod webhooks_log;
mod webhooks_reply;
