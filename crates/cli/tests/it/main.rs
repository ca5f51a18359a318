//! Runs the program against a real simulator or a scripted server.

#[cfg(unix)]
mod advice;
mod again;
mod batch;
mod bench;
mod book;
mod by_task;
mod chain;
mod completions;
mod configured;
mod damaged;
mod deadline;
mod doctor;
mod errors;
mod every_model;
mod exit_codes;
mod gallery;
mod generating;
mod help;
mod history;
mod images;
#[cfg(unix)]
mod interruption;
#[cfg(unix)]
mod json;
mod keys;
mod machine;
#[cfg(unix)]
mod mcp;
mod mistakes;
mod models;
mod money;
#[cfg(unix)]
mod once;
#[cfg(target_os = "linux")]
mod opening;
mod options;
mod paying;
#[cfg(unix)]
mod programs;
mod recording;
mod resolving;
#[cfg(unix)]
mod resuming;
mod running;
mod saving;
mod server;
mod settings;
mod several;
mod simulating;
mod tasks;
#[cfg(unix)]
mod terminal;
mod testing;
mod tips;
mod webhook;
