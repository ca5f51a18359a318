//! The arguments that commands share. The flags of the models are built from the contract.

pub mod completers;
pub mod count;
pub mod extra;
pub mod flag;
pub mod image;
pub mod model;
pub mod options;
pub mod output;
pub mod prompt;
pub mod request;
pub mod size;
pub mod value;
pub mod webhook_secret;
