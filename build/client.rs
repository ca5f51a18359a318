//! Runs progenitor on the adapted document, and patches its output.

use std::panic;

use openapiv3::OpenAPI;
use progenitor_impl::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TypeImpl};
use quote::quote;
use serde_json::Value;

use super::{Options, adapt::REPLACED, contract::Contract, faults::Faults, patch, types::Types};

pub fn generate(
    adapted: &Value,
    contract: &Contract,
    types: &Types,
    options: &Options,
) -> Result<syn::File, Faults> {
    let tokens = run(adapted, types, options)
        .map_err(|message| Faults::new("", format!("progenitor failed: {message}")))?;
    let mut file = syn::parse2(tokens)
        .map_err(|error| Faults::new("", format!("progenitor produced invalid Rust: {error}")))?;
    patch::patch(&mut file, contract, types, options)?;
    Ok(file)
}

fn run(
    adapted: &Value,
    types: &Types,
    options: &Options,
) -> Result<proc_macro2::TokenStream, String> {
    let document: OpenAPI =
        serde_json::from_value(adapted.clone()).map_err(|error| error.to_string())?;
    let settings = settings(types, options);
    // progenitor and typify panic on some documents. Report the panic as a fault of the document,
    // without a backtrace.
    let previous = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let outcome = panic::catch_unwind(|| Generator::new(&settings).generate_tokens(&document));
    panic::set_hook(previous);
    match outcome {
        Ok(Ok(tokens)) => Ok(tokens),
        Ok(Err(error)) => Err(error.to_string()),
        Err(payload) => Err(payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "the generator panicked".to_owned())),
    }
}

fn settings(types: &Types, options: &Options) -> GenerationSettings {
    let mut settings = GenerationSettings::default();
    settings
        .with_interface(InterfaceStyle::Positional)
        .with_hooks(HooksMode::Expected)
        .with_inner_type(quote! { crate::transport::service::Hooks })
        .with_derive("PartialEq");
    if options.json_schema {
        settings.with_derive("schemars::JsonSchema");
    }
    for (schema, rust_type) in REPLACED {
        settings.with_replacement(schema, rust_type, std::iter::empty::<TypeImpl>());
    }
    for choice in &types.choices {
        let (schema, rust_type) =
            (&choice.type_name, format!("crate::types::{}", choice.type_name));
        settings.with_replacement(schema, rust_type, std::iter::empty::<TypeImpl>());
    }
    settings
}
