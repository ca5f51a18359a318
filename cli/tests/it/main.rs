//! The program as its users see it: real processes, against a real simulator or a scripted server.

mod bench;
mod completions;
mod errors;
mod every_model;
mod help;
mod images;
#[cfg(unix)]
mod interruption;
mod machine;
mod making;
mod readme;
mod server;
mod simulating;
mod tasks;
mod webhook;
