//! Generates code from the contract in four steps: `contract` reads the document, `adapt` prepares
//! it for progenitor, `client` runs progenitor to generate the types and the client, and `emit`
//! generates the remaining code.
//!
//! `build.rs` runs the generator at compile time. `cargo xtask check` uses the same modules to
//! check the parts of the document on which the generated code does not depend: it finds keywords
//! without an effect outside of requests, wrong examples, and parts of the document that contradict
//! each other.

mod adapt;
mod choice;
mod client;
mod contract;
#[allow(dead_code, reason = "`build.rs` uses a part of it, and `cargo xtask` all")]
mod document;
mod emit;
mod faults;
mod field;
mod limits;
mod name;
mod need;
mod patch;
mod request;
mod response;
mod types;
mod words;

use serde_json::Value;

#[allow(unused_imports, reason = "for `cargo xtask`")]
pub use self::{
    choice::read_texts,
    contract::{Operation, Submission, read_operation},
    document::{DocumentNode, METHODS, joined},
    faults::{Faults, all},
    field::{Encodings, Field, Kind, ratio},
    name::{capitalized, is_camel_case, is_field_name, member_name},
    need::{Need, What},
    request::TAKEN,
    response::{IN_PROGRESS, STATUS, all_responses},
};

/// Options of the generator.
pub struct Options {
    /// Whether to derive `schemars::JsonSchema` for the types.
    pub json_schema: bool,
}

/// Generates the source code of `generated.rs` from an OpenAPI 3.0 document.
pub fn generate(document: &Value, options: &Options) -> Result<String, Faults> {
    let contract = contract::read(document)?;
    let types = types::collect(&contract.operations, &contract.responses)?;
    let adapted = adapt::adapt(document, &contract, &types);
    let mut file = client::generate(&adapted, &contract, &types, options)?;
    file.items.extend(emit::items(&contract, options)?);
    Ok(prettyplease::unparse(&file))
}

/// Reports the faults in a document without generating code. This is much faster, because it does
/// not run progenitor.
#[allow(dead_code, reason = "for `cargo xtask`")]
pub fn check(document: &Value) -> Result<(), Faults> {
    let contract = contract::read(document)?;
    types::collect(&contract.operations, &contract.responses).map(drop)
}
