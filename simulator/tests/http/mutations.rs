//! Whatever is sent is accepted, or refused in the contract's shape; nothing breaks the simulator.

use axum::body::Bytes;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config as Cases, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::bench::{Answer, Bench};
use super::contract::{Submission, submissions};

/// A change to a valid body.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(Index, Value),
    Remove(Index),
    Add(String, Value),
    Cut(Index),
    Overwrite(Index, u8),
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..2100).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[A-Za-z0-9+/]{0,40}={0,2}".prop_map(Value::from),
        "-?[0-9]{1,11}:[0-9]{1,11}".prop_map(Value::from),
        "(http|https|ftp|data):[a-z/.:;,\\[\\]]{0,12}".prop_map(Value::from),
        "(iVBORw0KGgoAAAAN|/9j/4AAQSkZJRgAB|UklGRiQAAABXRUJQ)[A-Za-z0-9+/]{0,60}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let mutation = prop_oneof![
        6 => (any::<Index>(), any_value()).prop_map(|(at, value)| Mutation::Replace(at, value)),
        2 => any::<Index>().prop_map(Mutation::Remove),
        2 => ("[a-z_]{0,10}", any_value()).prop_map(|(name, value)| Mutation::Add(name, value)),
        1 => any::<Index>().prop_map(Mutation::Cut),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Overwrite(at, byte)),
    ];
    prop::collection::vec(mutation, 1..5)
}

fn mutate(submission: &Submission, mutations: &[Mutation]) -> Vec<u8> {
    let mut body = submission.full();
    for mutation in mutations {
        let fields = body.as_object_mut().unwrap();
        let name = |at: &Index| fields.keys().nth(at.index(fields.len().max(1))).cloned();
        match mutation {
            Mutation::Replace(at, value) => {
                if let Some(name) = name(at) {
                    fields.insert(name, value.clone());
                }
            }
            Mutation::Remove(at) => {
                if let Some(name) = name(at) {
                    fields.remove(&name);
                }
            }
            Mutation::Add(name, value) => {
                fields.insert(name.clone(), value.clone());
            }
            Mutation::Cut(_) | Mutation::Overwrite(..) => {}
        }
    }
    let mut bytes = body.to_string().into_bytes();
    for mutation in mutations {
        let length = bytes.len().max(1);
        match mutation {
            Mutation::Cut(at) => bytes.truncate(at.index(length)),
            Mutation::Overwrite(at, byte) => {
                if let Some(place) = bytes.get_mut(at.index(length)) {
                    *place = *byte;
                }
            }
            _ => {}
        }
    }
    bytes
}

fn check(answer: &Answer) -> Result<(), TestCaseError> {
    let body: Value =
        serde_json::from_slice(&answer.body).map_err(|error| TestCaseError::fail(error.to_string()))?;
    match answer.status.as_u16() {
        200 => {
            prop_assert!(body["id"].is_string());
            prop_assert!(
                body["polling_url"].is_string()
                    || (body["status"].is_string() && body["webhook_url"].is_string())
            );
        }
        422 => {
            let violations = body["detail"].as_array().cloned().unwrap_or_default();
            prop_assert!(!violations.is_empty(), "{}", body);
            for violation in violations {
                let loc = violation["loc"].as_array().cloned().unwrap_or_default();
                prop_assert!(loc.first() == Some(&json!("body")), "{}", violation);
                prop_assert!(loc.iter().all(|step| step.is_string() || step.is_u64()), "{}", violation);
                prop_assert!(violation["msg"].is_string() && violation["type"].is_string(), "{}", violation);
            }
        }
        other => prop_assert!(false, "{other}: {body}"),
    }
    Ok(())
}

#[test]
fn no_mutation_of_a_valid_body_breaks_it() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let bench = runtime.block_on(Bench::new());
    let submissions = submissions();
    let mut runner = TestRunner::new(Cases { cases: 10_000, failure_persistence: None, ..Cases::default() });
    let strategy = (any::<Index>(), mutations());
    let mut statuses = (0, 0);
    let counted = std::cell::RefCell::new(&mut statuses);
    let result = runner.run(&strategy, |(operation, mutations)| {
        let submission = &submissions[operation.index(submissions.len())];
        let body = Bytes::from(mutate(submission, &mutations));
        let answer = runtime.block_on(bench.post_bytes(&submission.path, body));
        match answer.status.as_u16() {
            200 => counted.borrow_mut().0 += 1,
            _ => counted.borrow_mut().1 += 1,
        }
        check(&answer)
    });
    result.unwrap();
    assert!(statuses.0 > 60 && statuses.1 > 60, "both answers are met with: {statuses:?}");
    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.refused_with(422)), statuses);
    assert_eq!(counts.charged, bench.sim.tasks().iter().map(|task| task.cost).sum());
}
