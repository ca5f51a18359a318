//! `validate()` refuses what the simulator refuses, with the same field and kind.

use std::{cell::RefCell, collections::BTreeSet};

use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value};

use super::{
    case::{self, Case},
    exceptions::{Difference, EXCEPTIONS, Side, mask_of},
    runner, values,
    witness::{Violations, Witness, local},
};
use crate::requests::{full_body, submissions};
use imagekiln::Operation;

/// Returns the differences without an exception, as lines. Adds the reasons of the others to
/// `used`.
fn differences(witness: &Witness, case: &Case, used: &mut BTreeSet<&str>) -> Vec<String> {
    let (sdk, simulator) = (local(case), witness.violations(case));
    let only = |side, some: &Violations, others: &Violations| -> Vec<_> {
        some.difference(others).cloned().map(|(location, kind)| (side, location, kind)).collect()
    };
    let mut found = only(Side::Sdk, &sdk, &simulator);
    found.extend(only(Side::Simulator, &simulator, &sdk));
    found.retain(|(side, location, kind)| {
        let difference = Difference { case, side: *side, location, kind };
        let mut applying = EXCEPTIONS.iter().filter(|one| (one.applies)(&difference));
        applying.next().is_none_or(|exception| {
            used.insert(exception.reason);
            false
        })
    });
    let lines = found.into_iter().map(|(side, location, kind)| {
        let name = location.strip_prefix("body.").unwrap_or_default();
        let value = case.body.get(name).map(Value::to_string).unwrap_or_default();
        let value: String = value.chars().take(100).collect();
        format!("{}: only the {side:?} finds {location} {kind}: {value}", case.operation)
    });
    lines.collect()
}

/// Each value of each field, in an otherwise valid request.
#[test]
fn they_agree_about_every_limit_of_every_field() {
    let witness = Witness::start();
    let (mut used, mut found) = (BTreeSet::new(), Vec::new());
    let (mut kinds, mut near_limits) = (Vec::new(), 0);
    for operation in submissions() {
        let full = full_body(operation);
        for field in operation.fields {
            let mut values = values::any(field);
            near_limits += values::numbers(&field.limits).len() + values::lengths(field).len();
            // Whether an image can be read decides what is known about its mask.
            let is_masked = operation.fields.iter().any(|one| mask_of(one) == Some(field.name));
            if is_masked || !kinds.contains(&&field.kind) {
                kinds.push(&field.kind);
                values.extend(values::syntax(field));
            }
            // A limit may be its own neighbour, as an integer and with a fraction.
            let mut texts = BTreeSet::new();
            values.retain(|value| texts.insert(value.to_string()));
            for value in values.into_iter().map(Some).chain([None]) {
                let case = with(operation, &full, field.name, value);
                found.extend(differences(&witness, &case, &mut used));
            }
        }
        for (name, value) in values::unlisted(operation) {
            let case = with(operation, &full, name, Some(value));
            found.extend(differences(&witness, &case, &mut used));
        }
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    // Guards against a table of operations without limits.
    assert!(near_limits > 1000, "only {near_limits} values are near a limit");
    for exception in EXCEPTIONS {
        assert!(used.contains(exception.reason), "no longer needed: {}", exception.reason);
    }
}

/// A request with the required fields, the image that a mask needs, the mask of an image, and this
/// field.
fn with(
    operation: &'static Operation,
    full: &Map<String, Value>,
    name: &str,
    value: Option<Value>,
) -> Case {
    let masked = operation.field(name).and_then(mask_of);
    let is_needed = |other: &str| {
        let field = operation.field(other);
        Some(other) == masked
            || field.is_some_and(|field| field.required || mask_of(field) == Some(name))
    };
    let needed = full.iter().filter(|(name, _)| is_needed(name));
    let mut body: Map<_, _> = needed.map(|(name, value)| (name.clone(), value.clone())).collect();
    match value {
        Some(value) => body.insert(name.to_owned(), value),
        None => body.remove(name),
    };
    Case::new(operation, body)
}

#[test]
fn they_agree_about_any_request() {
    let witness = Witness::start();
    let used = RefCell::new(BTreeSet::new());
    let result = runner(8).run(&case::any(), |case| {
        let found = differences(&witness, &case, &mut used.borrow_mut());
        if found.is_empty() { Ok(()) } else { Err(TestCaseError::fail(found.join("\n"))) }
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
