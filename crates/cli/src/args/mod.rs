//! The arguments that several commands share. The flags of the models are built from the contract.

pub mod completers;
pub mod inputs;
pub mod model;
pub mod options;
pub mod output;
pub mod preset;
pub mod request;
pub mod selection;
