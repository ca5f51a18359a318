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
    let common = common_methods();
    quote! {
        impl types::#type_name {
            #constructor

            #(#setters)*

            #references

            /// Sets a field that the contract does not define, or an explicit `null`. Setting a
            /// field both ways is a violation.
            pub fn extra(mut self, name: impl Into<String>, value: impl crate::IntoJson) -> Self {
                self.extra.set(name.into(), value);
                self
            }

            #common
        }
    }
}

/// The methods that are the same for every type.
fn common_methods() -> TokenStream {
    quote! {
        /// Validates the request against all limits of the contract, and reports all
        /// violations. Submitting a request does this, too.
        ///
        /// This method may block, because it reads the headers of image files.
        ///
        /// # Errors
        ///
        /// Kind [`Validation`](crate::ErrorKind::Validation), with the violations.
        pub fn validate(&self) -> Result<(), crate::Error> {
            crate::Submit::into_request(self.clone()).validate()
        }

        /// Serializes the request to JSON that [`from_json`](Self::from_json) can read; see
        /// [`Request::to_json`](crate::Request::to_json).
        ///
        /// # Errors
        ///
        /// The same errors as [`Request::to_json`](crate::Request::to_json).
        pub fn to_json(&self) -> Result<String, crate::Error> {
            crate::Submit::into_request(self.clone()).to_json()
        }

        /// Reads a request from the JSON that [`to_json`](Self::to_json) writes; see
        /// [`Request::from_json`](crate::Request::from_json).
        ///
        /// # Errors
        ///
        /// The same errors as [`Request::from_json`](crate::Request::from_json). Also fails if
        /// the request is for another operation.
        pub fn from_json(text: &str) -> Result<Self, crate::Error> {
            crate::Request::from_json(text)?.try_into()
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
    let what = if names.is_empty() { "" } else { " with its required fields" };
    let documentation =
        format!("Creates a request for `POST {}`{what}. Sends nothing.", operation.path);
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
