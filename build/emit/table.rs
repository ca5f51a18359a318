//! Generates the table of operations.

use std::collections::HashMap;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use serde_json::Value;

use super::{
    super::{
        contract::{Contract, Operation, PathParameter},
        field::{Encodings, Field, Kind},
        limits::Limits,
        name::camel_case,
        need::{Need, What},
        words,
    },
    option,
};

pub fn table(contract: &Contract) -> TokenStream {
    let mut shared = Shared::default();
    let operations: Vec<_> =
        contract.operations.iter().map(|operation| shared.operation(operation)).collect();
    let definitions = shared.definitions;
    let Contract { key_header, polling_path, .. } = contract;
    quote! {
        #(#definitions)*

        /// The name of the header that carries the API key, in lower case: the security scheme of
        /// the contract.
        pub const KEY_HEADER: &str = #key_header;

        /// The path of the operation that polls a task, which polling URLs usually have.
        pub const POLLING_PATH: &str = #polling_path;

        /// Every operation of the contract, in the order of the document.
        pub static OPERATIONS: &[crate::Operation] = &[#(#operations),*];
    }
}

/// The constants for the fields of all operations. Most fields occur in several operations, which
/// share a constant.
#[derive(Default)]
struct Shared {
    definitions: Vec<TokenStream>,
    /// The name of the constant, by the code of its definition.
    known: HashMap<String, Ident>,
}

impl Shared {
    fn operation(&mut self, operation: &Operation) -> TokenStream {
        let Operation { id, path, name, summary, description, .. } = operation;
        let Operation { deprecated, not_accepted, not_shown, .. } = operation;
        let max_reference_images = option(operation.max_reference_images);
        let max_input_megapixels = option(operation.max_input_megapixels);
        let scaled_to_megapixels = option(operation.scaled_to_megapixels);
        let submission = operation.submission.as_ref();
        let kind = option(submission.map(|submission| {
            let kind = format_ident!("{}", camel_case(&submission.kind));
            quote!(crate::OperationKind::#kind)
        }));
        let needs = submission.iter().flat_map(|submission| &submission.needs).map(need);
        let submits = submission.is_some();
        let region = format_ident!("{}", if operation.regional { "Regional" } else { "Global" });
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
        let fields = submission
            .iter()
            .flat_map(|s| &s.fields)
            .map(|field| self.field(field))
            .collect::<Vec<_>>();
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
                kind: #kind,
                needs: &[#(#needs),*],
                deprecated: #deprecated,
                region: crate::Region::#region,
                max_reference_images: #max_reference_images,
                max_input_megapixels: #max_input_megapixels,
                scaled_to_megapixels: #scaled_to_megapixels,
                not_accepted: &[#(#not_accepted),*],
                path_parameters: &[#(#parameters),*],
                fields: &[#(#fields),*],
                all_fields_shown: #all_fields_shown,
                not_shown: &[#(#not_shown),*],
                example_json: #example,
            }
        }
    }

    /// Returns the name of the constant for a field. Equal fields share a constant.
    fn field(&mut self, field: &Field) -> Ident {
        let definition = Self::definition(field);
        let text = definition.to_string();
        if let Some(known) = self.known.get(&text) {
            return known.clone();
        }
        let name = self.unused(&field.name);
        self.definitions.push(quote!(const #name: crate::Field = #definition;));
        self.known.insert(text, name.clone());
        name
    }

    /// Returns an unused name for a constant: `PROMPT`, or `PROMPT_2` if this name is taken, and so
    /// on.
    fn unused(&self, name: &str) -> Ident {
        let name = name.to_uppercase();
        let numbered = (2..).map(|number| format_ident!("{name}_{number}"));
        let mut names = std::iter::once(format_ident!("{name}")).chain(numbered);
        let is_unused = |name: &Ident| !self.known.values().any(|known| known == name);
        names.find(is_unused).unwrap_or_else(|| format_ident!("{name}"))
    }

    fn definition(field: &Field) -> TokenStream {
        let Field { name, description, .. } = field;
        let kind = kind(&field.kind);
        let default = field.default.as_ref().map(ToString::to_string);
        let limits_text = words::describe(field);
        let others = [
            field.required.then(|| quote!(required: true)),
            field.nullable.then(|| quote!(nullable: true)),
            default.map(|default| quote!(default: Some(#default))),
            bounds(&field.limits).map(|limits| quote!(limits: #limits)),
            (!limits_text.is_empty()).then(|| quote!(limits_text: #limits_text)),
        ];
        let others = others.into_iter().flatten();
        quote! {
            crate::Field {
                name: #name,
                description: #description,
                kind: #kind,
                #(#others,)*
                ..crate::Field::NONE
            }
        }
    }
}

fn kind(kind: &Kind) -> TokenStream {
    match kind {
        Kind::Text => quote!(crate::FieldKind::Text),
        Kind::Integer => quote!(crate::FieldKind::Integer),
        Kind::Number => quote!(crate::FieldKind::Number),
        Kind::Boolean => quote!(crate::FieldKind::Boolean),
        Kind::Choice { values, .. } => {
            quote!(crate::FieldKind::Choice { values: &[#(#values),*] })
        }
        Kind::Image { encodings, mask_of, same_size, max_megapixels } => {
            let takes_url = option(match encodings {
                Encodings::Base64 => Some(false),
                Encodings::Base64OrUrl => Some(true),
                Encodings::NotShown => None,
            });
            let (mask_of, max_megapixels) = (option(mask_of.as_ref()), option(*max_megapixels));
            quote! {
                crate::FieldKind::Image {
                    takes_url: #takes_url,
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
        Kind::Json => quote!(crate::FieldKind::Json),
    }
}

fn need(need: &Need) -> TokenStream {
    let why = &need.why;
    let what = match &need.what {
        What::AnyOf(fields, image) => {
            let image = option(image.as_ref());
            quote!(crate::NeedKind::AnyOf { fields: &[#(#fields),*], unless_alpha_in: #image })
        }
        What::Images(count) => quote!(crate::NeedKind::Images { count: #count }),
    };
    quote!(crate::Need { kind: #what, why: #why })
}

/// Generates the limits of a field. Returns `None` if the field has no limits.
fn bounds(limits: &Limits) -> Option<TokenStream> {
    fn set(name: &str, limit: Option<impl ToTokens>) -> Option<TokenStream> {
        let (name, limit) = (format_ident!("{name}"), limit?);
        Some(quote!(#name: Some(#limit)))
    }
    let set = [
        set("minimum", limits.minimum),
        set("maximum", limits.maximum),
        set("multiple_of", limits.multiple_of),
        set("min_length", limits.min_length),
        set("max_length", limits.max_length),
    ];
    let set: Vec<_> = set.into_iter().flatten().collect();
    (!set.is_empty()).then(|| quote!(crate::Limits { #(#set,)* ..crate::Limits::NONE }))
}
