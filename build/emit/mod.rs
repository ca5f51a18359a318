//! Generates the code that is added to the output of progenitor: constructors and setters of the
//! request types, their conversions to and from `Request`, enums, readers of responses, and the
//! table of operations for programs that build requests at run time.

mod aliases;
mod attributes;
mod choice;
mod convert;
mod example;
mod references;
mod request;
mod responses;
mod setter;
mod table;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

pub use self::attributes::attributes;
pub use self::responses::reader;
use super::{
    Options,
    contract::Contract,
    faults::Faults,
    field::{Field, Kind},
    name::member_name,
    types::Types,
};

/// Generates the items that are added at the end of the file.
pub fn items(contract: &Contract, options: &Options) -> Result<Vec<syn::Item>, Faults> {
    let table = table::table(contract);
    let requests = contract.operations.iter().enumerate().filter_map(|(index, operation)| {
        let submission = operation.submission.as_ref()?;
        let request = request::methods(operation, submission);
        let conversions = convert::conversions(index, submission);
        Some(quote!(#request #conversions))
    });
    let responses = responses::facts(&contract.responses, options);
    parse(quote! {
        #table
        #responses
        #(#requests)*
    })
}

/// Generates the items that are added to the module `types`.
pub fn types(types: &Types, options: &Options) -> Result<Vec<syn::Item>, Faults> {
    let choices = types.choices.iter().map(|choice| choice::enum_of(choice, options));
    parse(quote!(#(#choices)*))
}

fn parse(tokens: TokenStream) -> Result<Vec<syn::Item>, Faults> {
    let file: syn::File = syn::parse2(tokens).map_err(|error| {
        Faults::new("", format!("the generator produced invalid Rust: {error}"))
    })?;
    Ok(file.items)
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}

fn ident(field: &Field) -> Ident {
    format_ident!("{}", member_name(&field.name))
}

/// Returns the type that progenitor uses for the field.
fn value_type(field: &Field) -> TokenStream {
    match &field.kind {
        Kind::Text => quote!(String),
        Kind::Integer => quote!(i64),
        Kind::Number => quote!(f64),
        Kind::Boolean => quote!(bool),
        Kind::Choice { type_name, .. } => {
            let name = format_ident!("{type_name}");
            quote!(types::#name)
        }
        Kind::Image { .. } => quote!(crate::ImageInput),
        Kind::AspectRatio { .. } => quote!(crate::AspectRatio),
        Kind::Address => quote!(crate::Address),
        Kind::Secret => quote!(crate::Secret),
        Kind::Json => quote!(serde_json::Value),
    }
}
