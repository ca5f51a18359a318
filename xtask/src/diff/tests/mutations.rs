//! Nothing that our document says is overlooked.

use serde_json::Value;

use crate::{
    contract,
    diff::{compare::compare, service},
    tests::mutations::{
        examined, makes_all,
        mutation::{Action, Mutation},
        selected,
    },
};

type Condition = fn(&Mutation) -> bool;

/// The keywords that the comparison ignores, besides extensions. Our document has no other servers
/// than placeholders, and the keyword `not` where another keyword states the same.
const IGNORED: [&str; 10] = [
    "callbacks",
    "description",
    "example",
    "info",
    "links",
    "not",
    "openapi",
    "operationId",
    "servers",
    "summary",
];

/// Why a mutation is not a difference.
const REASONS: [(&str, Condition); 9] = [
    ("the comparison ignores texts, examples, callbacks and extensions", |mutation| {
        let is_ignored = |step: &str| {
            let is_extension = step.starts_with("x-") && step != "x-default";
            is_extension || step == "tags" || IGNORED.contains(&step)
        };
        mutation.pointer.split('/').chain([mutation.keyword()]).any(is_ignored)
    }),
    ("a repeated member, or element of a set, adds nothing", |mutation| {
        mutation.action == Action::Duplicate
    }),
    ("a parameter in the path is always required", |mutation| {
        mutation.pointer.contains("/parameters/0/required")
    }),
    ("the keyword states the default, or what another keyword states", |mutation| {
        mutation.action != Action::Change
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
    ("the format of a number, and the range of `int64`, restrict no value", |mutation| {
        let is_seed = mutation.pointer.contains("/seed/") || mutation.action == Action::Add;
        mutation.keyword() == "format" && mutation.action != Action::WrongType
            || ["maximum", "minimum"].contains(&mutation.keyword()) && is_seed
    }),
    ("the response has no body, so nothing is said about it", |mutation| {
        mutation.pointer.contains("/responses/403")
            || mutation.pointer == "/components/responses/Forbidden"
    }),
    ("the other component says the same", |mutation| {
        mutation.action == Action::Change && mutation.keyword() == "$ref"
    }),
];

#[test]
fn every_mutation_of_our_document_is_a_difference() {
    let document = contract::parse(contract::DOCUMENT).unwrap();
    let mutations = selected(&document);
    let keys = service::key_headers(&document);
    let read = |document: &Value| service::read(document, &keys, None);
    let original = read(&document).unwrap();
    let found = examined(&document, &mutations, |changed, _| {
        let changed = read(changed).ok()?;
        Some(compare(&original, &changed, false).differences.len())
    });
    let survivors = mutations.iter().zip(found).filter(|(_, found)| *found == Some(0));
    let survivors: Vec<&Mutation> = survivors.map(|(mutation, _)| mutation).collect();
    let is_met = |mutation: &Mutation| REASONS.iter().any(|(_, is_met)| is_met(mutation));
    let unseen = survivors.iter().filter(|mutation| !is_met(mutation));
    let unseen = unseen.map(|mutation| format!("{} {}\n", mutation.action, mutation.pointer));
    assert_eq!(unseen.collect::<String>(), "");
    // One mutation of each kind is not equal for each reason.
    for (why, is_met) in if makes_all() { &REASONS[..] } else { &[] } {
        let is_used = survivors.iter().any(|mutation| is_met(mutation));
        assert!(is_used, "no mutation is equal because: {why}");
    }
}
