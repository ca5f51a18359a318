//! Generates the conversions between typed and dynamic requests.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{super::contract::Submission, ident};

pub fn conversions(index: usize, submission: &Submission) -> TokenStream {
    let type_name = format_ident!("{}", submission.type_name);
    let into = into_request(&type_name, index, submission);
    let from = from_request(&type_name, index, submission);
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
    quote!(#into #from #default)
}

fn into_request(type_name: &syn::Ident, index: usize, submission: &Submission) -> TokenStream {
    let path_values = submission.path_parameters.iter().map(|parameter| {
        let (name, member) = (&parameter.name, format_ident!("{}", parameter.name));
        quote!(request.path_parameter(#name, self.#member);)
    });
    let values = submission.fields.iter().map(|field| {
        let (name, member) = (&field.name, ident(field));
        match field.required {
            true => quote!(request.put(#name, self.#member);),
            false => quote!(request.put_option(#name, self.#member);),
        }
    });
    quote! {
        impl crate::Submit for types::#type_name {
            fn into_request(self) -> crate::Request {
                let mut request = crate::Request::new(&OPERATIONS[#index]);
                #(#path_values)*
                #(#values)*
                request.put_extra(self.extra);
                request
            }
        }
    }
}

fn from_request(type_name: &syn::Ident, index: usize, submission: &Submission) -> TokenStream {
    let path_values = submission.path_parameters.iter().map(|parameter| {
        let (name, member) = (&parameter.name, format_ident!("{}", parameter.name));
        quote!(#member: fields.path_parameter(#name)?)
    });
    let values = submission.fields.iter().map(|field| {
        let (name, member) = (&field.name, ident(field));
        match field.required {
            true => quote!(#member: fields.required(#name)?),
            false => quote!(#member: fields.optional(#name)),
        }
    });
    quote! {
        /// Fails if the request is for another operation, lacks required fields, or has an image in
        /// a field that the contract does not define.
        impl TryFrom<crate::Request> for types::#type_name {
            type Error = crate::Error;

            fn try_from(request: crate::Request) -> Result<Self, crate::Error> {
                let mut fields = request.into_fields(&OPERATIONS[#index])?;
                Ok(Self { #(#path_values,)* #(#values,)* extra: fields.rest()? })
            }
        }
    }
}
