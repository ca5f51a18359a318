//! Runs progenitor over the adapted document, and mends what it writes.

use std::panic;

use openapiv3::OpenAPI;
use progenitor_impl::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TypeImpl};
use quote::quote;
use serde_json::Value;
use syn::visit_mut::{self, VisitMut};

use super::{Options, adapt::REPLACED, fault::Fault};

pub fn generate(
    adapted: &Value,
    deprecated: &[&str],
    options: &Options,
) -> Result<syn::File, Fault> {
    let tokens = match run(adapted, options) {
        Ok(tokens) => tokens,
        Err(message) => return Err(locate(adapted, options, message)),
    };
    let mut file = syn::parse2(tokens)
        .map_err(|error| Fault::new("", format!("progenitor wrote what is no Rust: {error}")))?;
    Mend { deprecated }.visit_file_mut(&mut file);
    Ok(file)
}

fn run(adapted: &Value, options: &Options) -> Result<proc_macro2::TokenStream, String> {
    let document: OpenAPI =
        serde_json::from_value(adapted.clone()).map_err(|error| error.to_string())?;
    let mut settings = GenerationSettings::default();
    settings
        .with_interface(InterfaceStyle::Positional)
        .with_hooks(HooksMode::Expected)
        .with_inner_type(quote! { crate::hooks::Hooks })
        .with_derive("PartialEq");
    if options.json_schema {
        settings.with_derive("schemars::JsonSchema");
    }
    for (schema, rust_type) in REPLACED {
        settings.with_replacement(schema, rust_type, std::iter::empty::<TypeImpl>());
    }
    // progenitor and typify panic on some documents; a build script that panics names no place.
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

/// The generator does not say where it failed. The place is the one part without which it does not
/// fail.
fn locate(adapted: &Value, options: &Options, message: String) -> Fault {
    for (group, substitute) in [
        ("/components/schemas", serde_json::json!({ "type": "string" })),
        ("/paths", serde_json::json!({})),
    ] {
        let names: Vec<String> = adapted
            .pointer(group)
            .and_then(Value::as_object)
            .map(|parts| parts.keys().cloned().collect())
            .unwrap_or_default();
        for name in names {
            let mut without = adapted.clone();
            if let Some(part) = without.pointer_mut(group).and_then(|parts| parts.get_mut(&name)) {
                *part = substitute.clone();
            }
            if run(&without, options).is_ok() {
                let token = name.replace('~', "~0").replace('/', "~1");
                return Fault::new(format!("{group}/{token}"), message);
            }
        }
    }
    Fault::new("", message)
}

/// Takes out the header that progenitor adds to every request, gives unknown fields a type whose
/// `Debug` tells no secret, and marks the request types of deprecated operations.
struct Mend<'a> {
    deprecated: &'a [&'a str],
}

impl VisitMut for Mend<'_> {
    fn visit_item_struct_mut(&mut self, item: &mut syn::ItemStruct) {
        if self.deprecated.contains(&item.ident.to_string().as_str()) {
            item.attrs.push(syn::parse_quote!(#[deprecated(note = "the contract marks this operation as deprecated and in effect")]));
        }
        visit_mut::visit_item_struct_mut(self, item);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| !quote!(#statement).to_string().contains("\"api-version\""));
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        if quote!(#ty).to_string()
            == ":: serde_json :: Map < :: std :: string :: String , :: serde_json :: Value >"
        {
            *ty = syn::parse_quote!(crate::Extra);
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
