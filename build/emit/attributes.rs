//! Generates the attributes of the request types: documentation, search aliases and warnings.

use super::{
    super::contract::{Contract, Operation, Submission},
    aliases, example,
};

pub fn attributes(
    contract: &Contract,
    operation: &Operation,
    submission: &Submission,
) -> Vec<syn::Attribute> {
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
        let note = deprecation(operation, contract);
        attributes.push(syn::parse_quote!(#[deprecated(note = #note)]));
    }
    attributes
}

/// Returns the note of a deprecated type, which names the types to migrate to.
fn deprecation(operation: &Operation, contract: &Contract) -> String {
    let targets = operation.migrate_to.iter().filter_map(|id| {
        let target = contract.operations.iter().find(|target| &target.id == id)?;
        Some(format!("`{}`", target.submission.as_ref()?.type_name))
    });
    let targets: Vec<_> = targets.collect();
    if targets.is_empty() {
        return "deprecated in the contract, which names no replacement; it still works".to_owned();
    }
    format!("deprecated in the contract; it still works, but migrate to {}", targets.join(" or "))
}

fn documentation(operation: &Operation, submission: &Submission) -> Vec<String> {
    let mut lines = vec![String::new(), format!("`POST {}`", operation.path)];
    if operation.regional {
        lines.push(String::new());
        lines.push("Served from the regional base URL.".to_owned());
    }
    lines.push(String::new());
    lines.extend(example::example(operation, submission).lines().map(str::to_owned));
    lines
}
