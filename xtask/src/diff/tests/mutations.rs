//! Nothing that our document says is overlooked.

use serde_json::Value;

use crate::{
    contract,
    diff::{access, compare::compare, service},
    mutations::{self, Action, Mutation},
};

type Condition = fn(&Mutation) -> bool;

/// Why a mutation is not a difference.
const REASONS: [(&str, Condition); 5] = [
    ("a repeated member, or element of a set, adds nothing", |mutation| {
        mutation.action == Action::Duplicate
    }),
    ("a parameter in the path is always required", |mutation| {
        mutation.pointer.ends_with("/parameters/0/required")
    }),
    ("the keyword states the default, or what another keyword states", |mutation| {
        [Action::Remove, Action::Add].contains(&mutation.action)
            && ["additionalProperties", "type", "x-default"].contains(&mutation.keyword())
    }),
    ("keywords beside a reference, and `nullable` without a type, have no effect", |mutation| {
        let references = ["/responses/403/", "/responses/422/", "/output_format/"];
        let is_at = |place: &&str| mutation.pointer.contains(place);
        let has_no_type = is_at(&"/GenToolsOutpaintingV1/") && mutation.keyword() == "nullable";
        mutation.action == Action::Add && (references.iter().any(is_at) || has_no_type)
    }),
    ("the fields that have this schema are nullable themselves", |mutation| {
        mutation.pointer.starts_with("/components/schemas/OutputFormatOrNull/")
    }),
];

#[test]
fn every_mutation_of_our_document_is_a_difference() {
    let document = contract::parse(contract::DOCUMENT).unwrap();
    let mutations = mutations::selected(&document);
    let headers = access::credential_headers(&document);
    let read = |document: &Value| service::read(document, &headers, None, true);
    let original = read(&document).unwrap();
    let found = mutations::examined(&document, &mutations, |changed, _| {
        let changed = read(changed).ok()?;
        Some(compare(&original, &changed, false).differences.len())
    });
    let survivors = mutations.iter().zip(found).filter(|(_, found)| *found == Some(0));
    let survivors: Vec<&Mutation> = survivors.map(|(mutation, _)| mutation).collect();
    let is_met = |mutation: &Mutation| REASONS.iter().any(|(_, is_met)| is_met(mutation));
    let unseen = survivors.iter().filter(|mutation| !is_met(mutation));
    let unseen = unseen.map(|mutation| format!("{} {}\n", mutation.action, mutation.pointer));
    assert_eq!(unseen.collect::<String>(), "");
    for (why, is_met) in REASONS {
        let is_used = survivors.iter().any(|mutation| is_met(mutation));
        assert!(is_used, "no mutation is equal because: {why}");
    }
}
