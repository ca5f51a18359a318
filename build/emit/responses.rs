//! Generates the readers of response types, the enum of task statuses, and the validity of delivery
//! URLs.
//!
//! A reader reads each field separately. If a field has an unexpected type, the reader keeps its
//! value among the unknown fields, and the other fields are not affected.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::super::{
    Options,
    choice::variant,
    response::{IN_PROGRESS, Responses, STATUS},
};

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

/// Returns the name of a field in JSON, if it differs from the name of the Rust field.
fn renamed(field: &syn::Field) -> Option<String> {
    let mut renamed = None;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // Parsing fails at the first argument with a value that this closure does not read. This
        // does not matter, because such arguments come after `rename`.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                renamed = Some(meta.value()?.parse::<syn::LitStr>()?.value());
            }
            Ok(())
        });
    }
    renamed
}

/// Generates the enum of task statuses, and the validity of delivery URLs.
pub fn facts(responses: &Responses, options: &Options) -> TokenStream {
    let Responses { statuses, status_description, delivery_validity, .. } = responses;
    let in_progress = format_ident!("{IN_PROGRESS}");
    let name = format_ident!("{STATUS}");
    let texts: Vec<_> = statuses.iter().map(|status| &status.name).collect();
    let variants: Vec<_> =
        statuses.iter().map(|status| format_ident!("{}", variant(&status.name))).collect();
    let documentation = statuses.iter().map(|status| {
        let end = if status.is_success { "the task succeeded" } else { "the task failed" };
        format!("`{}`: {end}.", status.name)
    });
    let is_success = statuses.iter().map(|status| status.is_success);
    let derive = options.json_schema.then(|| {
        quote! {
            #[derive(schemars::JsonSchema)]
            #[schemars(with = "String")]
        }
    });
    quote! {
        #[doc = #status_description]
        ///
        /// The client [logs](crate::guide::transport#logs) once each status that the contract does
        /// not list.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #derive
        #[non_exhaustive]
        pub enum #name {
            #(#[doc = #documentation] #variants,)*
            /// Any other value, kept verbatim: the task is still in progress.
            #in_progress(String),
        }

        impl #name {
            /// Returns the status as the service writes it.
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#variants => #texts,)*
                    Self::#in_progress(status) => status,
                }
            }

            /// Returns `true` if the status is a success, and `false` if it is a failure. `None` if
            /// the task is still in progress.
            pub(crate) fn success(&self) -> Option<bool> {
                match self {
                    #(Self::#variants => Some(#is_success),)*
                    Self::#in_progress(_) => None,
                }
            }
        }

        impl From<&str> for #name {
            fn from(status: &str) -> Self {
                match status {
                    #(#texts => Self::#variants,)*
                    other => Self::#in_progress(other.to_owned()),
                }
            }
        }

        /// How long a delivery URL is valid, in seconds.
        pub(crate) const DELIVERY_VALIDITY_SECONDS: u64 = #delivery_validity;
    }
}
