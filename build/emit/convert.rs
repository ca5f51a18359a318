//! Generates the conversions between the request types and `Request`, the form that is built at run
//! time.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    super::{
        contract::Submission,
        field::{Field, Kind},
    },
    ident,
};

pub fn conversions(index: usize, submission: &Submission) -> TokenStream {
    let type_name = format_ident!("{}", submission.type_name);
    let typed = typed(&submission.type_name, &submission.fields);
    let has_no_arguments =
        submission.path_parameters.is_empty() && submission.fields.iter().all(|f| !f.required);
    let default = has_no_arguments.then(|| {
        quote! {
            impl Default for types::#type_name {
                fn default() -> Self {
                    Self::new()
                }
            }
        }
    });
    quote! {
        #typed

        impl crate::Submit for types::#type_name {
            fn into_request(self) -> crate::Request {
                crate::Request::of_type(&OPERATIONS[#index], self)
            }
        }

        /// Fails if the request is for another operation, lacks required fields, or has an image in
        /// a field that the contract does not define.
        impl TryFrom<crate::Request> for types::#type_name {
            type Error = crate::Error;

            fn try_from(request: crate::Request) -> Result<Self, crate::Error> {
                request.into_type(&OPERATIONS[#index])
            }
        }

        #default
    }
}

/// Generates the function that returns the parts of a request type that serde cannot convert.
fn typed(type_name: &str, fields: &[Field]) -> TokenStream {
    let type_name = format_ident!("{type_name}");
    let images = fields.iter().filter(|field| matches!(field.kind, Kind::Image { .. }));
    let images = images.map(|field| {
        let (name, member) = (&field.name, ident(field));
        quote!((#name, (&mut self.#member).into()))
    });
    let secrets = fields.iter().filter(|field| matches!(field.kind, Kind::Secret));
    let secrets = secrets.map(|field| {
        let (name, member) = (&field.name, ident(field));
        quote!((#name, (&self.#member).into()))
    });
    quote! {
        impl crate::contract::Typed for types::#type_name {
            fn parts(&mut self) -> crate::contract::Parts<'_> {
                crate::contract::Parts {
                    images: vec![#(#images),*],
                    secrets: vec![#(#secrets),*],
                    extra: &mut self.extra,
                }
            }
        }
    }
}
