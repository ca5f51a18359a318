//! Mutates the contract in every place, and tests that `cargo xtask check` reports each mutation
//! where it is.
//!
//! The mutations come from walking the document: every keyword and name of every object is removed,
//! misspelt, duplicated, changed and given another type, and every element of a list is removed and
//! changed. [`meaningless`] has the mutations that need no report, with the reason.

mod meaningless;
mod mutation;

use std::{collections::BTreeMap, thread};

use serde_json::Value;

use self::mutation::{Changed, Mutation, all};
use crate::{check, contract, corrections, derived, interface::Lists};

/// What `check` says about a mutation.
enum Outcome {
    Reported,
    /// The report does not name the place.
    Elsewhere(Vec<String>),
    Survived,
}

fn outcome(mutation: &Mutation, document: &Value, lists: &Lists, page: &str) -> Outcome {
    let problems = match mutation.apply(document) {
        Changed::Text(text) => check::problems(&text, lists),
        Changed::Value(changed) => match check::problems_of_value(&changed, lists) {
            // What the document says about the interface is on a page.
            none if none.is_empty() => {
                let parts = derived::changed_parts(page, &corrections::page(&changed));
                parts.into_iter().map(|(_, part)| part).collect()
            }
            problems => problems,
        },
    };
    let page_name = corrections::place_of_pointer(&mutation.pointer);
    let names_place =
        |problem: &String| mutation.is_named_by(problem) || problem.contains(&page_name);
    match problems.as_slice() {
        [] => Outcome::Survived,
        problems if problems.iter().any(names_place) => Outcome::Reported,
        problems => Outcome::Elsewhere(problems.to_vec()),
    }
}

#[test]
fn every_mutation_is_reported_at_its_place_or_meaningless() {
    let lists = Lists::read().unwrap();
    let document = contract::parse(contract::DOCUMENT).unwrap();
    let page = corrections::page(&document);
    let mutations = all(&document);
    assert!(mutations.len() > 5_000, "found only {} mutations", mutations.len());

    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let parts = mutations.chunks(mutations.len().div_ceil(threads));
    let outcomes: Vec<(&Mutation, Outcome)> = thread::scope(|scope| {
        let running: Vec<_> = parts
            .map(|part| {
                scope.spawn(|| {
                    let outcomes =
                        part.iter().map(|one| (one, outcome(one, &document, &lists, &page)));
                    outcomes.collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });

    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut used = Vec::new();
    for (mutation, outcome) in outcomes {
        let reason = meaningless::reason(mutation);
        match (outcome, reason) {
            (Outcome::Reported, _) => {}
            (Outcome::Survived, Some(reason)) => used.push(reason),
            (Outcome::Survived, None) => {
                let kind = format!("survived: {} `{}`", mutation.action, mutation.keyword());
                failures.entry(kind).or_default().push(mutation.pointer.clone());
            }
            (Outcome::Elsewhere(problems), _) => {
                let kind = format!("elsewhere: {} `{}`", mutation.action, mutation.keyword());
                let line = format!("{} is reported as {}", mutation.pointer, problems[0]);
                failures.entry(kind).or_default().push(line);
            }
        }
    }
    let shown = failures.iter().map(|(kind, places)| {
        format!("{kind} ({} times)\n  {}", places.len(), places[..places.len().min(3)].join("\n  "))
    });
    assert!(failures.is_empty(), "{}", shown.collect::<Vec<_>>().join("\n"));
    for reason in &meaningless::REASONS {
        assert!(used.contains(&reason.why), "no mutation survives because: {}", reason.why);
    }
}
