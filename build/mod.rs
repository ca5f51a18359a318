//! Generates code from the contract in four steps: `contract` reads the document, `adapt` prepares
//! it for progenitor, `client` runs progenitor to generate types and client, and `emit` adds the
//! rest.
//!
//! `build.rs` runs the generator at compile time; `cargo xtask` runs it to inspect its output.

mod adapt;
mod choice;
mod client;
mod contract;
#[allow(dead_code, reason = "`build.rs` uses a part of it, and `cargo xtask` all")]
mod document;
mod emit;
mod fault;
mod field;
mod fit;
mod frame;
mod limits;
mod name;
mod need;
mod parse;
mod patch;
mod request;
mod response;
mod types;
mod words;

use serde_json::Value;

#[allow(unused_imports, reason = "for `cargo xtask`")]
pub use self::{
    document::{DocumentNode, METHODS, joined},
    fault::Fault,
    name::capitalized,
    parse::parse,
};

/// Options of the generator.
pub struct Options {
    /// Whether to derive `schemars::JsonSchema` for the types.
    pub json_schema: bool,
}

/// Generates the source code of `generated.rs` from an OpenAPI 3.0 document.
pub fn generate(document: &str, options: &Options) -> Result<String, Fault> {
    let document = parse(document)?;
    let contract = contract::read(&document)?;
    let types = types::collect(&contract.operations, &contract.responses)?;
    contract.check_complete(&document)?;
    let adapted = adapt::adapt(&document, &contract, &types);
    let mut file = client::generate(&adapted, &contract, &types, options)?;
    file.items.extend(emit::items(&contract, &types, options)?);
    Ok(prettyplease::unparse(&file))
}

/// Fails if a part of the document is wrong. Much faster than generating code, because it does not
/// run progenitor.
#[allow(dead_code, reason = "for `cargo xtask`")]
pub fn check(document: &Value) -> Result<(), Fault> {
    let contract = contract::read(document)?;
    types::collect(&contract.operations, &contract.responses).map(|_| ())
}

/// Fails if the document, whose parts are right, lacks something, or has something that nothing
/// uses.
#[allow(dead_code, reason = "for `cargo xtask`")]
pub fn check_complete(document: &Value) -> Result<(), Fault> {
    contract::read(document)?.check_complete(document)
}
