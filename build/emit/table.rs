//! Generates the table of operations.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::{
    super::{
        contract::{Contract, Operation, PathParameter},
        field::Field,
        kind::{Encodings, Kind},
        limits::Limits,
        words,
    },
    option,
};

pub fn table(contract: &Contract) -> TokenStream {
    let operations = contract.operations.iter().map(operation);
    quote! {
        /// Every operation of the contract, in the order of the document.
        pub static OPERATIONS: &[crate::Operation] = &[#(#operations),*];
    }
}

fn operation(operation: &Operation) -> TokenStream {
    let Operation { id, path, name, summary, description, .. } = operation;
    let Operation { deprecated, regional, not_accepted, not_shown, .. } = operation;
    let max_reference_images = option(operation.max_reference_images);
    let submission = operation.submission.as_ref();
    let submits = submission.is_some();
    let all_fields_shown = submission.is_none_or(|submission| !submission.is_open);
    let parameters = submission.iter().flat_map(|s| &s.path_parameters).map(|p| {
        let PathParameter { name, description, example, .. } = p;
        let prefix = option(p.prefix.as_ref());
        quote! {
            crate::PathParameter {
                name: #name,
                description: #description,
                prefix: #prefix,
                example: #example,
            }
        }
    });
    let fields = submission.iter().flat_map(|s| &s.fields).map(field_of);
    let example = submission.map(|submission| Value::Object(submission.example.clone()));
    let example = option(example.map(|example| example.to_string()));
    quote! {
        crate::Operation {
            id: #id,
            name: #name,
            path: #path,
            summary: #summary,
            description: #description,
            submits: #submits,
            deprecated: #deprecated,
            regional: #regional,
            max_reference_images: #max_reference_images,
            not_accepted: &[#(#not_accepted),*],
            path_parameters: &[#(#parameters),*],
            fields: &[#(#fields),*],
            all_fields_shown: #all_fields_shown,
            not_shown: &[#(#not_shown),*],
            example_json: #example,
        }
    }
}

fn field_of(field: &Field) -> TokenStream {
    let Field { name, description, required, nullable, .. } = field;
    let (kind, limits) = (kind(&field.kind), bounds(&field.limits));
    let default = option(field.default.as_ref().map(ToString::to_string));
    let limits_text = words::describe(field);
    quote! {
        crate::Field {
            name: #name,
            description: #description,
            required: #required,
            nullable: #nullable,
            kind: #kind,
            default: #default,
            limits: #limits,
            limits_text: #limits_text,
        }
    }
}

fn bounds(limits: &Limits) -> TokenStream {
    let (minimum, maximum) = (option(limits.minimum), option(limits.maximum));
    let (min_length, max_length) = (option(limits.min_length), option(limits.max_length));
    let (min_items, max_items) = (option(limits.min_items), option(limits.max_items));
    let multiple_of = option(limits.multiple_of);
    quote! {
        crate::Limits {
            minimum: #minimum,
            maximum: #maximum,
            multiple_of: #multiple_of,
            min_length: #min_length,
            max_length: #max_length,
            min_items: #min_items,
            max_items: #max_items,
        }
    }
}

fn kind(kind: &Kind) -> TokenStream {
    match kind {
        Kind::Text => quote!(crate::FieldKind::Text),
        Kind::Integer => quote!(crate::FieldKind::Integer),
        Kind::Number => quote!(crate::FieldKind::Number),
        Kind::Boolean => quote!(crate::FieldKind::Boolean),
        Kind::Choice { values, .. } => quote!(crate::FieldKind::Choice { values: &[#(#values),*] }),
        Kind::Image { encodings, mask_of, same_size, max_megapixels } => {
            let encodings = match encodings {
                Encodings::Base64 => quote!(crate::ImageEncodings::Base64),
                Encodings::Base64OrUrl => quote!(crate::ImageEncodings::Base64OrUrl),
                Encodings::NotShown => quote!(crate::ImageEncodings::NotShown),
            };
            let (mask_of, max_megapixels) = (option(mask_of.as_ref()), option(*max_megapixels));
            quote! {
                crate::FieldKind::Image {
                    encodings: #encodings,
                    mask_of: #mask_of,
                    same_size: #same_size,
                    max_megapixels: #max_megapixels
                }
            }
        }
        Kind::AspectRatio { narrowest: (a, b), widest: (c, d) } => {
            quote!(crate::FieldKind::AspectRatio { narrowest: (#a, #b), widest: (#c, #d) })
        }
        Kind::Address => quote!(crate::FieldKind::Address),
        Kind::Secret => quote!(crate::FieldKind::Secret),
        Kind::List(item) => {
            let item = field_of(item);
            quote!(crate::FieldKind::List { items: &#item })
        }
        Kind::Object(object) => {
            let fields = object.fields.iter().map(field_of);
            quote!(crate::FieldKind::Object { fields: &[#(#fields),*] })
        }
        Kind::Json => quote!(crate::FieldKind::Json),
    }
}
