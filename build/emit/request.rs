//! Constructors and setters of the request types.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    super::{
        contract::{Operation, Submission},
        field::Field,
        kind::Kind,
        limits,
    },
    ident, references, value_type,
};

pub fn methods(operation: &Operation, submission: &Submission) -> TokenStream {
    let type_name = format_ident!("{}", submission.type_name);
    let constructor = constructor(operation, submission);
    let setters = submission.fields.iter().filter(|field| !field.required).map(setter);
    let references = references::setter(&submission.fields);
    quote! {
        impl types::#type_name {
            #constructor

            #(#setters)*

            #references

            /// Sends a field that the contract does not name, or an explicit `null`. A field that is
            /// set both ways is a violation.
            pub fn extra(mut self, name: impl Into<String>, value: impl crate::IntoJson) -> Self {
                self.extra.set(name.into(), value);
                self
            }

            /// Checks every limit of the contract and reports all violations at once. Submitting
            /// does this too.
            ///
            /// Reads the headers of image files, so it may block.
            ///
            /// # Errors
            ///
            /// Kind [`Validation`](crate::ErrorKind::Validation), with the violations.
            pub fn validate(&self) -> Result<(), crate::Error> {
                crate::Submit::into_request(self.clone()).validate()
            }

            /// The request as JSON text that [`from_json`](Self::from_json) reads: see
            /// [`Request::to_json`](crate::Request::to_json).
            ///
            /// # Errors
            ///
            /// As [`Request::to_json`](crate::Request::to_json).
            pub fn to_json(&self) -> Result<String, crate::Error> {
                crate::Submit::into_request(self.clone()).to_json()
            }

            /// Reads a request from the text that [`to_json`](Self::to_json) wrote: see
            /// [`Request::from_json`](crate::Request::from_json).
            ///
            /// # Errors
            ///
            /// As [`Request::from_json`](crate::Request::from_json), and if the request is to
            /// another operation.
            pub fn from_json(text: &str) -> Result<Self, crate::Error> {
                crate::Request::from_json(text)?.try_into()
            }
        }
    }
}

fn constructor(operation: &Operation, submission: &Submission) -> TokenStream {
    let parameters = submission.path_parameters.iter().map(|parameter| {
        let name = format_ident!("{}", parameter.name);
        (name, quote!(String))
    });
    let required = submission.fields.iter().filter(|field| field.required);
    let required = required.map(|field| (ident(field), value_type(field)));
    let (names, types): (Vec<_>, Vec<_>) = parameters.chain(required).unzip();
    let unset = submission.fields.iter().filter(|field| !field.required).map(ident);
    let what = if names.is_empty() { "" } else { " with what it requires" };
    let documentation =
        format!("A request for `POST {}`{what}. Nothing is sent yet.", operation.path);
    quote! {
        #[doc = #documentation]
        pub fn new(#(#names: impl Into<#types>),*) -> Self {
            Self { #(#names: #names.into(),)* #(#unset: None,)* extra: Default::default() }
        }
    }
}

fn setter(field: &Field) -> TokenStream {
    let (name, value_type) = (ident(field), value_type(field));
    let documentation = limits::documentation(field);
    if field.kind == Kind::Json {
        let key = &field.name;
        return quote! {
            #[doc = #documentation]
            pub fn #name(mut self, #name: impl crate::IntoJson) -> Self {
                self.#name = self.extra.checked(#key, #name);
                self
            }
        };
    }
    quote! {
        #[doc = #documentation]
        pub fn #name(mut self, #name: impl Into<#value_type>) -> Self {
            self.#name = Some(#name.into());
            self
        }
    }
}
