//! Mutates the contract in every place, and tests that `cargo xtask check` reports each mutation
//! with its place.
//!
//! The mutations come from walking the document. Every keyword and name of every object is removed,
//! misspelt, duplicated, changed and given another type, and every object gets the keywords that
//! others of its kind have. Every element of a list is removed and changed.
//!
//! The test makes one mutation of each kind, such as changing the `minimum` of a field. If the
//! variable `IMAGEKILN_MUTATIONS` is `all`, as in `cargo xtask exercise`, it makes all of them.

pub mod mutation;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, thread,
};

use serde_json::Value;

use self::mutation::{Mutation, all};
use crate::{check, contract, corrections, interface::Lists, outline};

/// Returns one mutation of each kind, of different places.
fn one_of_each_kind(mutations: Vec<Mutation>) -> Vec<Mutation> {
    let mut kinds: BTreeMap<String, Vec<Mutation>> = BTreeMap::new();
    for mutation in mutations {
        kinds.entry(mutation.kind()).or_default().push(mutation);
    }
    let kinds = kinds.into_values().enumerate();
    kinds.map(|(index, mut same)| same.swap_remove(index % same.len())).collect()
}

/// Returns the mutations to make: one of each kind, or all if the variable demands it.
pub fn selected(document: &Value) -> Vec<Mutation> {
    let mutations = all(document);
    assert!(mutations.len() > 5_000, "found only {} mutations", mutations.len());
    if makes_all() {
        return mutations;
    }
    let mutations = one_of_each_kind(mutations);
    assert!(mutations.len() > 500, "found only {} kinds of mutations", mutations.len());
    mutations
}

/// Whether the variable demands all mutations.
pub fn makes_all() -> bool {
    env::var_os("IMAGEKILN_MUTATIONS").is_some_and(|which| which == "all")
}

/// Returns what `examine` finds in each mutated document, on all processors.
pub fn examined<Found: Send>(
    document: &Value,
    mutations: &[Mutation],
    examine: impl Fn(&Value, Option<String>) -> Found + Sync,
) -> Vec<Found> {
    let examine_part = |part: &[Mutation]| {
        let mut document = document.clone();
        let found = part.iter().map(|mutation| mutation.examine(&mut document, &examine));
        found.collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let parts = mutations.chunks(mutations.len().div_ceil(threads));
    thread::scope(|scope| {
        let running: Vec<_> = parts.map(|part| scope.spawn(|| examine_part(part))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// The derived files that have texts of the document: the corrections, and the texts themselves.
fn texts(document: &Value) -> [String; 2] {
    [corrections::page(document), outline::texts(document)]
}

/// Returns the problems that `check` reports.
fn problems(
    document: &Value,
    text: Option<String>,
    lists: &Lists,
    before: &[String; 2],
) -> Vec<String> {
    let problems = match text {
        Some(text) => return check::problems(&text, lists),
        None => check::problems_of_value(document, lists),
    };
    if !problems.is_empty() {
        return problems;
    }
    let after = texts(document);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let differing = before.iter().zip(&after).map(|(before, after)| &lines(before) ^ &lines(after));
    differing.flatten().collect()
}

#[test]
fn every_mutation_is_reported_at_its_place_or_meaningless() {
    let lists = Lists::read().unwrap();
    let document = contract::parse(contract::DOCUMENT).unwrap();
    let before = texts(&document);
    let mutations = selected(&document);
    let problems =
        examined(&document, &mutations, |changed, text| problems(changed, text, &lists, &before));

    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (mutation, problems) in mutations.iter().zip(problems) {
        let page_name = corrections::place_of_pointer(&mutation.pointer);
        let names_place =
            |problem: &String| mutation.is_named_by(problem) || problem.contains(&page_name);
        if problems.iter().any(names_place) {
            continue;
        }
        let (fault, place) = match problems.first() {
            None => ("survived", mutation.pointer.clone()),
            Some(first) => ("elsewhere", format!("{} is reported as {first}", mutation.pointer)),
        };
        let kind = format!("{fault}: {} `{}`", mutation.action, mutation.keyword());
        failures.entry(kind).or_default().push(place);
    }
    let shown = failures.iter().map(|(kind, places)| {
        format!("{kind} ({} times)\n  {}", places.len(), places[..places.len().min(3)].join("\n  "))
    });
    assert!(failures.is_empty(), "{}", shown.collect::<Vec<_>>().join("\n"));
}
