//! Generates the conversions between typed and dynamic requests.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    super::{contract::Submission, field::Field, kind::Kind},
    ident,
};

pub fn conversions(index: usize, submission: &Submission) -> TokenStream {
    let type_name = format_ident!("{}", submission.type_name);
    let secrets = submission.fields.iter().filter(|field| matches!(field.kind, Kind::Secret));
    let secrets = secrets.map(|field| {
        let (name, member) = (&field.name, ident(field));
        quote!(.with_secret(#name, self.#member.clone()))
    });
    let images = images(&submission.type_name, &submission.fields);
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
        #images

        impl crate::Submit for types::#type_name {
            fn into_request(mut self) -> crate::Request {
                let extra = std::mem::take(&mut self.extra);
                crate::Request::of_type(&OPERATIONS[#index], &mut self)
                    #(#secrets)*
                    .with_extra(extra)
            }
        }

        /// Fails if the request is for another operation, lacks required fields, or has an image in
        /// a field that the contract does not define.
        impl TryFrom<crate::Request> for types::#type_name {
            type Error = crate::Error;

            fn try_from(request: crate::Request) -> Result<Self, crate::Error> {
                let (typed, extra) = request.into_type(&OPERATIONS[#index])?;
                Ok(Self { extra, ..typed })
            }
        }

        #default
    }
}

/// Generates the function that visits the images of a type with fields.
pub fn images(type_name: &str, fields: &[Field]) -> TokenStream {
    let type_name = format_ident!("{type_name}");
    let visits: Vec<_> = fields
        .iter()
        .filter(|field| has_image(&field.kind))
        .map(|field| {
            let (name, member) = (&field.name, ident(field));
            quote!(self.#member.each_image(&place.name(#name), visit);)
        })
        .collect();
    let each_image = (!visits.is_empty()).then(|| {
        quote! {
            fn each_image(
                &mut self,
                place: &crate::contract::Place,
                visit: crate::contract::Visit,
            ) {
                #(#visits)*
            }
        }
    });
    quote!(impl crate::contract::WithImages for types::#type_name { #each_image })
}

fn has_image(kind: &Kind) -> bool {
    match kind {
        Kind::Image { .. } => true,
        Kind::List(item) => has_image(&item.kind),
        Kind::Object(object) => object.fields.iter().any(|field| has_image(&field.kind)),
        _ => false,
    }
}
