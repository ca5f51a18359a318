//! Constructors and setters of a type with fields: a request, or an object in a request.

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    super::{field::Field, kind::Kind, words},
    ident, value_type,
};

/// Generates the parameter of a constructor for a required field, and its value.
pub fn argument(field: &Field) -> (TokenStream, TokenStream) {
    let name = ident(field);
    let (parameter, value) = converted(field);
    (quote!(#name: #parameter), quote!(#name: #value))
}

pub fn setter(field: &Field) -> TokenStream {
    let name = ident(field);
    let documentation = words::documentation(field);
    if matches!(field.kind, Kind::Json) {
        let key = &field.name;
        return quote! {
            #[doc = #documentation]
            pub fn #name(mut self, #name: impl crate::IntoJson) -> Self {
                self.#name = self.extra.checked(#key, #name);
                self
            }
        };
    }
    let (parameter, value) = converted(field);
    quote! {
        #[doc = #documentation]
        pub fn #name(mut self, #name: #parameter) -> Self {
            self.#name = Some(#value);
            self
        }
    }
}

/// Returns the type of the parameter, and its conversion to the type of the field.
fn converted(field: &Field) -> (TokenStream, TokenStream) {
    let name = ident(field);
    match &field.kind {
        Kind::List(item) => {
            let item = value_type(item);
            (
                quote!(impl IntoIterator<Item = impl Into<#item>>),
                quote!(#name.into_iter().map(Into::into).collect()),
            )
        }
        _ => {
            let value_type = value_type(field);
            (quote!(impl Into<#value_type>), quote!(#name.into()))
        }
    }
}
