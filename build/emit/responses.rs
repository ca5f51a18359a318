//! Generates the readers of response types, and constants for the statuses of tasks.
//!
//! A reader works field by field, so that a field with an unexpected type is kept and does not
//! affect the others.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::super::response::Responses;

/// Generates the reader of a type that progenitor generated. `objects` are the names of the types
/// that have readers.
pub fn reader(item: &syn::ItemStruct, objects: &HashSet<String>) -> TokenStream {
    let name = &item.ident;
    let members = item.fields.iter().filter_map(|field| {
        let member = field.ident.as_ref()?;
        let key = renamed(field).unwrap_or_else(|| member.to_string());
        let outer = last_segment(&field.ty)?;
        let inner = argument(outer).and_then(last_segment).unwrap_or(outer);
        let taken = if objects.contains(&inner.ident.to_string()) && outer.ident != "Vec" {
            quote!(fields.take_object(#key))
        } else {
            quote!(fields.take(#key))
        };
        Some(match outer.ident.to_string().as_str() {
            "Extra" => quote!(#member: fields.rest()),
            "Option" => quote!(#member: #taken),
            "Vec" => quote!(#member: #taken.unwrap_or_default()),
            _ => quote!(#member: #taken?),
        })
    });
    quote! {
        impl crate::contract::ReadResponse for types::#name {
            fn read(
                value: serde_json::Value,
                unexpected: &mut crate::contract::Unexpected,
            ) -> Option<Self> {
                let mut fields = crate::contract::ResponseFields::of(value, unexpected)?;
                // In this order, because `rest` must be read last.
                Some(Self { #(#members),* })
            }
        }
    }
}

fn last_segment(ty: &syn::Type) -> Option<&syn::PathSegment> {
    match ty {
        syn::Type::Path(named) => named.path.segments.last(),
        _ => None,
    }
}

/// Returns the type in `Option<T>` or `Vec<T>`.
fn argument(segment: &syn::PathSegment) -> Option<&syn::Type> {
    match &segment.arguments {
        syn::PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            syn::GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the name in JSON, if it differs from the name of the field.
fn renamed(field: &syn::Field) -> Option<String> {
    let mut renamed = None;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // Other arguments stop the parsing, but they come after `rename`.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                renamed = Some(meta.value()?.parse::<syn::LitStr>()?.value());
            }
            Ok(())
        });
    }
    renamed
}

/// Generates the statuses of tasks, and the validity of delivery URLs.
pub fn constants(responses: &Responses) -> TokenStream {
    let Responses { success_statuses, failure_statuses, delivery_validity, .. } = responses;
    quote! {
        /// The statuses of a task that succeeded.
        #[cfg(test)]
        pub(crate) const SUCCESS_STATUSES: &[&str] = &[#(#success_statuses),*];

        /// The statuses of a task that failed.
        #[cfg(test)]
        pub(crate) const FAILURE_STATUSES: &[&str] = &[#(#failure_statuses),*];

        /// How long a delivery URL is valid, in seconds.
        pub(crate) const DELIVERY_VALIDITY_SECONDS: u64 = #delivery_validity;
    }
}
