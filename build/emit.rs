//! The pass after progenitor: constructors and setters for every request type, the way from a typed
//! request to what is sent, and the table of operations that validation, the command line and
//! everything dynamic work from.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    contract::{Contract, Operation, Submission, capitalized},
    fault::Fault,
    field::{Encodings, Field, Kind},
    limits,
};

pub fn emit(contract: &Contract) -> Result<Vec<syn::Item>, Fault> {
    let table = contract.operations.iter().map(operation_entry);
    let requests = contract.operations.iter().enumerate().filter_map(|(index, operation)| {
        Some(request_type(index, operation, operation.submission.as_ref()?))
    });
    let send = send(contract);
    let tokens = quote! {
        /// Every operation of the contract, in the order of the document.
        pub static OPERATIONS: &[crate::Operation] = &[#(#table),*];
        #send
        #(#requests)*
    };
    let file: syn::File = syn::parse2(tokens)
        .map_err(|error| Fault::new("", format!("the generator wrote what is no Rust: {error}")))?;
    Ok(file.items)
}

fn operation_entry(operation: &Operation) -> TokenStream {
    let Operation { id, path, name, summary, description, deprecated, regional, not_shown, .. } =
        operation;
    let max_reference_images = option(operation.max_reference_images);
    let submission = operation.submission.as_ref();
    let submits = submission.is_some();
    let parameters = submission.iter().flat_map(|s| &s.path_parameters).map(|p| {
        let (name, description) = (&p.name, &p.description);
        quote!(crate::PathParameter { name: #name, description: #description })
    });
    let fields = submission.iter().flat_map(|s| &s.fields).map(field_entry);
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
            path_parameters: &[#(#parameters),*],
            fields: &[#(#fields),*],
            not_shown: &[#(#not_shown),*],
        }
    }
}

fn field_entry(field: &Field) -> TokenStream {
    let Field { name, description, required, nullable, .. } = field;
    let kind = field_kind(&field.kind);
    let default = option(field.default.as_ref().map(ToString::to_string));
    let described = limits::describe(field);
    let minimum = option(field.limits.minimum);
    let maximum = option(field.limits.maximum);
    let multiple_of = option(field.limits.multiple_of);
    let min_length = option(field.limits.min_length);
    let max_length = option(field.limits.max_length);
    quote! {
        crate::Field {
            name: #name,
            description: #description,
            required: #required,
            nullable: #nullable,
            kind: #kind,
            default: #default,
            limits: crate::Limits {
                minimum: #minimum,
                maximum: #maximum,
                multiple_of: #multiple_of,
                min_length: #min_length,
                max_length: #max_length,
            },
            limits_text: #described,
        }
    }
}

fn field_kind(kind: &Kind) -> TokenStream {
    match kind {
        Kind::Text => quote!(crate::FieldKind::Text),
        Kind::Integer => quote!(crate::FieldKind::Integer),
        Kind::Number => quote!(crate::FieldKind::Number),
        Kind::Boolean => quote!(crate::FieldKind::Boolean),
        Kind::Choice { values, .. } => quote!(crate::FieldKind::Choice { values: &[#(#values),*] }),
        Kind::Image { encodings, mask_of, max_megapixels } => {
            let encodings = match encodings {
                Encodings::Base64 => quote!(crate::ImageEncodings::Base64),
                Encodings::Base64OrUrl => quote!(crate::ImageEncodings::Base64OrUrl),
                Encodings::NotShown => quote!(crate::ImageEncodings::NotShown),
            };
            let mask_of = option(mask_of.as_ref());
            let max_megapixels = option(*max_megapixels);
            quote! {
                crate::FieldKind::Image { encodings: #encodings, mask_of: #mask_of, max_megapixels: #max_megapixels }
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

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}

/// One function that calls the client's method for an operation: what lets typed and dynamic
/// requests share one road.
fn send(contract: &Contract) -> TokenStream {
    let arms = contract.operations.iter().filter_map(|operation| {
        let submission = operation.submission.as_ref()?;
        let id = &operation.id;
        let method = format_ident!("{id}");
        let parameters = submission.path_parameters.iter().map(|parameter| {
            let name = &parameter.name;
            quote!(path(#name),)
        });
        Some(quote!(#id => client.#method(#(#parameters)* body).await,))
    });
    quote! {
        /// POSTs `body` to the submission with this id; `path` gives the parameters of its path.
        pub(crate) async fn send<'a>(
            client: &Client,
            operation: &crate::Operation,
            path: impl Fn(&str) -> &'a str,
            body: reqwest::Body,
        ) -> Result<ResponseValue<ByteStream>, Error<()>> {
            match operation.id {
                #(#arms)*
                other => Err(Error::InvalidRequest(format!("`{other}` is no submission"))),
            }
        }
    }
}

fn request_type(index: usize, operation: &Operation, submission: &Submission) -> TokenStream {
    let type_name = format_ident!("{}", submission.type_name);
    let parameters = &submission.path_parameters;
    let required: Vec<&Field> = submission.fields.iter().filter(|field| field.required).collect();
    let optional: Vec<&Field> = submission.fields.iter().filter(|field| !field.required).collect();

    let arguments = parameters
        .iter()
        .map(|parameter| {
            let name = format_ident!("{}", parameter.name);
            quote!(#name: impl Into<String>)
        })
        .chain(required.iter().map(|field| {
            let (name, value_type) = (ident(field), value_type(field, submission));
            quote!(#name: impl Into<#value_type>)
        }));
    let given = parameters
        .iter()
        .map(|parameter| format_ident!("{}", parameter.name))
        .chain(required.iter().map(|f| ident(f)));
    let unset = optional.iter().map(|field| ident(field));
    let setters = optional.iter().map(|field| setter(field, submission));
    let constructor_doc = format!(
        "A request for `POST {}` with what it requires. Nothing is sent yet.",
        operation.path
    );

    let path_values = parameters.iter().map(|parameter| {
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
    // progenitor makes a tuple of a type that has nothing but unknown fields.
    let bare = parameters.is_empty() && submission.fields.is_empty();
    let extra = if bare { quote!(self.0) } else { quote!(self.extra) };
    let constructor = match bare {
        true => quote!(Self(Default::default())),
        false => {
            quote!(Self { #(#given: #given.into(),)* #(#unset: None,)* extra: Default::default() })
        }
    };
    let choices = submission
        .fields
        .iter()
        .filter(|field| matches!(field.kind, Kind::Choice { shared_type: None, .. }))
        .map(|field| {
            let choice = value_type(field, submission);
            quote!(impl crate::contract::JsonValue for #choice {})
        });
    quote! {
        #(#choices)*

        impl types::#type_name {
            #[doc = #constructor_doc]
            pub fn new(#(#arguments),*) -> Self {
                #constructor
            }

            #(#setters)*

            /// Sends a field that the contract does not name, or an explicit `null`. A field set
            /// both ways is a violation.
            pub fn extra(mut self, name: impl Into<String>, value: impl crate::IntoJson) -> Self {
                #extra.set(name.into(), value);
                self
            }

            /// Checks every limit of the contract and reports all violations at once. Submitting
            /// does this too.
            ///
            /// Reads the headers of image files, so it may block for as long as that takes.
            pub fn validate(&self) -> Result<(), crate::Error> {
                crate::Submit::into_request(self.clone()).validate()
            }
        }

        impl crate::Submit for types::#type_name {
            fn into_request(self) -> crate::Request {
                let mut request = crate::Request::new(&OPERATIONS[#index]);
                #(#path_values)*
                #(#values)*
                request.put_extra(#extra);
                request
            }
        }
    }
}

fn setter(field: &Field, submission: &Submission) -> TokenStream {
    let (name, value_type) = (ident(field), value_type(field, submission));
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

fn ident(field: &Field) -> proc_macro2::Ident {
    format_ident!("{}", field.name)
}

/// The type that progenitor gives the field in the adapted document.
fn value_type(field: &Field, submission: &Submission) -> TokenStream {
    match &field.kind {
        Kind::Text => quote!(String),
        Kind::Integer => quote!(i64),
        Kind::Number => quote!(f64),
        Kind::Boolean => quote!(bool),
        Kind::Choice { shared_type: Some(name), .. } => {
            let name = format_ident!("{name}");
            quote!(crate::#name)
        }
        Kind::Choice { shared_type: None, .. } => {
            let choice: String = field.name.split('_').map(capitalized).collect();
            let name = format_ident!("{}{choice}", submission.type_name);
            quote!(types::#name)
        }
        Kind::Image { .. } => quote!(crate::ImageInput),
        Kind::AspectRatio { .. } => quote!(crate::AspectRatio),
        Kind::Address => quote!(crate::Address),
        Kind::Secret => quote!(crate::WebhookSecret),
        Kind::Json => quote!(serde_json::Value),
    }
}
