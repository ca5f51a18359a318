//! Generates code from the contract in four steps: `contract` reads the document, `adapt` prepares
//! it for progenitor, `client` runs progenitor to generate types and client, and `emit` adds the
//! rest.
//!
//! `build.rs` runs the generator at compile time; `cargo xtask` runs it to inspect its output.

mod adapt;
mod choice;
mod client;
mod contract;
mod emit;
mod fault;
mod field;
mod kind;
mod limits;
mod name;
mod patch;
#[allow(dead_code, reason = "`build.rs` uses a part of it, and `cargo xtask` all")]
mod place;

#[allow(unused_imports, reason = "for `cargo xtask`")]
pub use self::{
    fault::Fault,
    name::capitalized,
    place::{METHODS, Place},
};

/// Options of the generator.
pub struct Options {
    /// Whether to derive `schemars::JsonSchema` for the types.
    pub json_schema: bool,
}

/// Generates the source code of `generated.rs` from an OpenAPI 3.0 document.
pub fn generate(document: &str, options: &Options) -> Result<String, Fault> {
    let document: serde_json::Value = serde_json::from_str(document)
        .map_err(|error| Fault::new("", format!("could not parse the document: {error}")))?;
    let contract = contract::read(&document)?;
    let adapted = adapt::adapt(&document, &contract);
    let mut file = client::generate(&adapted, &contract, options)?;
    file.items.extend(emit::items(&contract)?);
    Ok(prettyplease::unparse(&file))
}
