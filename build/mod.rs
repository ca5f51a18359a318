//! From the contract to code, in four steps: read the document into a model of its operations
//! (`contract`), adapt it for progenitor (`adapt`), let progenitor write types and client (`client`),
//! and add what progenitor does not write (`emit`).
//!
//! `build.rs` runs it at compile time; `cargo xtask` runs the same code to show what it makes.

mod adapt;
mod choice;
mod client;
mod contract;
mod emit;
mod fault;
mod field;
mod kind;
mod limits;
mod patch;

pub use fault::Fault;

/// What a build can choose.
pub struct Options {
    /// Derive `schemars::JsonSchema` for the types.
    pub json_schema: bool,
}

/// The source text of `generated.rs` for an OpenAPI 3.0 document.
pub fn generate(document: &str, options: &Options) -> Result<String, Fault> {
    let document: serde_json::Value = serde_json::from_str(document)
        .map_err(|error| Fault::new("", format!("not JSON: {error}")))?;
    let contract = contract::read(&document)?;
    let adapted = adapt::adapt(&document, &contract);
    let mut file = client::generate(&adapted, &contract, options)?;
    file.items.extend(emit::items(&contract)?);
    Ok(prettyplease::unparse(&file))
}
