//! Attributes of the generated request types: documentation, search aliases, warnings.

use quote::quote;

use super::{
    super::contract::{Operation, Submission},
    aliases, example,
};

pub fn attributes(operation: &Operation, submission: &Submission) -> Vec<syn::Attribute> {
    let mut attributes: Vec<syn::Attribute> =
        vec![syn::parse_quote!(#[must_use = "a request does nothing until it is submitted"])];
    for line in documentation(operation, submission) {
        let line = format!(" {line}");
        attributes.push(syn::parse_quote!(#[doc = #line]));
    }
    for alias in aliases::aliases(operation, submission) {
        attributes.push(syn::parse_quote!(#[doc(alias = #alias)]));
    }
    if operation.deprecated {
        let note = "the contract marks this operation as deprecated; it still works";
        let deprecated = quote!(#[deprecated(note = #note)]);
        attributes.push(syn::parse_quote!(#deprecated));
    }
    attributes
}

fn documentation(operation: &Operation, submission: &Submission) -> Vec<String> {
    let mut lines = vec![String::new(), format!("`POST {}`", operation.path)];
    if operation.regional {
        lines.push(String::new());
        lines.push("Served from the regional base URL.".to_owned());
    }
    if let Some(example) = example::example(operation, submission) {
        lines.push(String::new());
        lines.extend(example.lines().map(str::to_owned));
    }
    lines
}
