//! Generates the methods of the request types.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    super::{
        contract::{Operation, Submission},
        field::Field,
    },
    references,
    setter::{constructor, setter},
};

pub fn methods(operation: &Operation, submission: &Submission) -> TokenStream {
    let type_name = format_ident!("{}", submission.type_name);
    let parameters = submission.path_parameters.iter();
    let path_parameters: Vec<_> =
        parameters.map(|parameter| format_ident!("{}", parameter.name)).collect();
    let is_required = |field: &Field| field.required;
    let has_arguments = !path_parameters.is_empty() || submission.fields.iter().any(is_required);
    let what = if has_arguments { " with its required fields" } else { "" };
    let documentation =
        format!("Creates a request for `POST {}`{what}. Sends nothing.", operation.path);
    let constructor = constructor(&documentation, &path_parameters, &submission.fields);
    let setters = submission.fields.iter().filter(|field| !field.required).map(setter);
    let references = references::setter(&submission.fields);
    let common = common_methods();
    quote! {
        impl types::#type_name {
            #constructor

            #(#setters)*

            #references

            /// Sets a field that the contract does not define, or an explicit `null`. Setting a
            /// field both ways is a violation.
            pub fn extra(
                mut self,
                name: impl Into<String>,
                value: impl crate::IntoField<serde_json::Value>,
            ) -> Self {
                self.extra.set(name.into(), value);
                self
            }

            #common
        }
    }
}

/// Generates the methods that are the same for every request type.
fn common_methods() -> TokenStream {
    quote! {
        /// Validates the request like [`Request::validate`](crate::Request::validate), with its
        /// errors.
        pub fn validate(&self) -> Result<(), crate::Error> {
            crate::Submit::into_request(Clone::clone(self)).validate()
        }

        /// Serializes the request like [`Request::to_json`](crate::Request::to_json), with its
        /// errors.
        pub fn to_json(&self) -> Result<String, crate::Error> {
            crate::Submit::into_request(Clone::clone(self)).to_json()
        }

        /// Reads a request like [`Request::from_json`](crate::Request::from_json), with its
        /// errors. Also fails if the request is for another operation.
        pub fn from_json(text: &str) -> Result<Self, crate::Error> {
            crate::Request::from_json(text)?.try_into()
        }
    }
}
