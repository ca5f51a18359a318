//! Generates the constructor and the setters of a request type.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{
    super::{
        field::{Field, Kind},
        words,
    },
    ident, value_type,
};

/// Generates the constructor of a request type. Its parameters are the path parameters and the
/// required fields.
pub fn constructor(
    documentation: &str,
    path_parameters: &[Ident],
    fields: &[Field],
) -> TokenStream {
    let required = || fields.iter().filter(|field| field.required);
    let unset = fields.iter().filter(|field| !field.required).map(ident);
    let parameters = required().map(|field| {
        let (name, parameter) = (ident(field), parameter(field));
        quote!(#name: #parameter)
    });
    let values = required().map(|field| {
        let (name, key) = (ident(field), &field.name);
        match (checked(field), &field.kind) {
            (Some(value), Kind::AspectRatio { .. }) => {
                quote!(#name: extra.checked(#key, #value).unwrap_or((1, 1).into()))
            }
            (Some(value), _) => quote!(#name: extra.checked(#key, #value).unwrap_or_default()),
            (None, _) => quote!(#name: #name.into()),
        }
    });
    quote! {
        #[doc = #documentation]
        pub fn new(#(#path_parameters: impl Into<String>,)* #(#parameters),*) -> Self {
            let mut extra = crate::Extra::default();
            Self {
                #(#path_parameters: #path_parameters.into(),)*
                #(#values,)*
                #(#unset: None,)*
                extra,
            }
        }
    }
}

/// Generates the setter of an optional field.
pub fn setter(field: &Field) -> TokenStream {
    let (name, key, parameter) = (ident(field), &field.name, parameter(field));
    let documentation = words::documentation(field);
    let value = match (checked(field), &field.kind) {
        (Some(value), Kind::Json) => quote!(self.extra.checked(#key, #value)),
        // The parameter may be `None`, which leaves the field out.
        (Some(value), _) => quote!(self.extra.checked(#key, #value).flatten()),
        (None, _) => quote!(Some(#name.into())),
    };
    quote! {
        #[doc = #documentation]
        pub fn #name(mut self, #name: #parameter) -> Self {
            self.#name = #value;
            self
        }
    }
}

/// Returns the type of the parameter that sets a field.
fn parameter(field: &Field) -> TokenStream {
    match &field.kind {
        Kind::Json if !field.required => quote!(impl crate::IntoField<serde_json::Value>),
        Kind::Integer | Kind::AspectRatio { .. } => {
            let value_type = value_type(field);
            if field.required {
                quote!(impl crate::IntoField<#value_type>)
            } else {
                quote!(impl crate::IntoField<Option<#value_type>>)
            }
        }
        _ => {
            let value_type = value_type(field);
            quote!(impl Into<#value_type>)
        }
    }
}

/// Returns code that converts the parameter to a `Result`. Returns `None` if the field can
/// represent every value of the parameter.
fn checked(field: &Field) -> Option<TokenStream> {
    let name = ident(field);
    match &field.kind {
        Kind::Json if field.required => None,
        Kind::Json | Kind::Integer | Kind::AspectRatio { .. } => Some(quote!(#name.into_field())),
        _ => None,
    }
}
