//! Runs progenitor on the adapted document, and patches its output.

use std::panic;

use openapiv3::OpenAPI;
use progenitor_impl::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TypeImpl};
use quote::quote;
use serde_json::{Map, Value, json};

use super::{
    Options, adapt::REPLACED, contract::Contract, document::joined, fault::Fault, patch,
    types::Types,
};

pub fn generate(
    adapted: &Value,
    contract: &Contract,
    types: &Types,
    options: &Options,
) -> Result<syn::File, Fault> {
    let tokens = match run(adapted, types, options) {
        Ok(tokens) => tokens,
        Err(message) => return Err(locate(adapted, types, options, message)),
    };
    let mut file = syn::parse2(tokens)
        .map_err(|error| Fault::new("", format!("progenitor produced invalid Rust: {error}")))?;
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
    // progenitor and typify panic on some documents.
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

/// Locates the failure by removing parts of the document until generation succeeds. progenitor does
/// not report a location.
fn locate(adapted: &Value, types: &Types, options: &Options, message: String) -> Fault {
    const SCHEMAS: &str = "/components/schemas";
    let schemas = adapted.pointer(SCHEMAS).and_then(Value::as_object);
    for name in schemas.into_iter().flat_map(Map::keys) {
        let mut without = adapted.clone();
        if let Some(schema) = without.pointer_mut(&joined(SCHEMAS, name)) {
            *schema = json!({ "type": "string" });
        }
        if run(&without, types, options).is_ok() {
            return Fault::new(joined(SCHEMAS, name), message);
        }
    }
    Fault::new("", message)
}
