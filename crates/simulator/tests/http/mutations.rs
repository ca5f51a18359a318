//! Mutated requests are accepted or rejected as in the contract; none breaks the simulator.

use std::{cell::Cell, thread};

use axum::body::Bytes;
use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config as Cases, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::{
    bench::{Bench, Response, Sender},
    contract::submissions,
};

/// The total number of requests.
const CASES: u32 = 10_000;

/// The number of concurrent requests.
const CLIENTS: u32 = 4;

/// A change to a valid body.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(Index, Value),
    Remove(Index),
    Add(String, Value),
    /// A raw field before the others. If a field of that name exists, it occurs twice.
    Write(Option<Index>, Vec<u8>),
    Cut(Index),
    Overwrite(Index, u8),
    Insert(Index, Vec<u8>),
}

/// A change to the headers of a valid request.
#[derive(Clone, Debug)]
enum HeaderChange {
    ContentType(Option<&'static str>),
    Key(Option<&'static str>),
    Also(&'static str, &'static str),
}

const CONTENT_TYPES: [Option<&str>; 9] = [
    None,
    Some(""),
    Some("text/plain"),
    Some("application/x-www-form-urlencoded"),
    Some("multipart/form-data"),
    Some("application/json; charset=utf-16"),
    Some("APPLICATION/JSON"),
    Some("application/problem+json"),
    Some("application/json, text/html"),
];

const KEYS: [Option<&str>; 3] = [None, Some(""), Some("unknown")];

const HEADERS: [(&str, &str); 6] = [
    ("content-encoding", "gzip"),
    ("accept", "image/png"),
    ("expect", "100-continue"),
    ("x-simulator-fault", "no-fault"),
    ("x-http-method-override", "DELETE"),
    ("range", "bytes=5-1"),
];

pub fn any_value() -> impl Strategy<Value = Value> {
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
        "(iVBORw0KGgoAAAAN|/9j/4AAQSkZJRgAB|UklGRiQAAABXRUJQ)[A-Za-z0-9+/]{0,60}"
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Text that no `serde_json` value serializes to.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let nested = |open: &'static str, close: &'static str| {
        (1usize..400, prop_oneof![3 => Just(1usize), 1 => Just(200)]).prop_map(
            move |(depth, times)| {
                format!("{}0{}", open.repeat(depth * times), close.repeat(depth * times))
                    .into_bytes()
            },
        )
    };
    prop_oneof![
        nested("[", "]"),
        nested("{\"a\":", "}"),
        "-?[0-9]{1,400}(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,5})?".prop_map(String::into_bytes),
        "(NaN|-?Infinity|0x1F|01|1\\.|\\.5|\\+1|-|tru|'a'|undefined|/\\*\\*/1)"
            .prop_map(String::into_bytes),
        "\"(\\\\u(d800|dfff|0000|ffff)|\\\\x|[a\\x00-\\x1f]){1,4}\"".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..12),
        prop::collection::vec(prop::sample::select(vec![0, 0x80, 0xc0, 0xed, 0xf4, 0xff]), 1..4)
            .prop_map(|bytes| [b"\"", &bytes[..], b"\""].concat()),
    ]
}

fn head() -> impl Strategy<Value = Vec<HeaderChange>> {
    let change = prop_oneof![
        3 => prop::sample::select(&CONTENT_TYPES[..]).prop_map(HeaderChange::ContentType),
        1 => prop::sample::select(&KEYS[..]).prop_map(HeaderChange::Key),
        1 => prop::sample::select(&HEADERS[..])
            .prop_map(|(name, value)| HeaderChange::Also(name, value)),
    ];
    prop_oneof![8 => Just(Vec::new()), 1 => prop::collection::vec(change, 1..3)]
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let mutation = prop_oneof![
        2 => (any::<Option<Index>>(), any_text()).prop_map(|(at, text)| Mutation::Write(at, text)),
        1 => (any::<Index>(), any_text()).prop_map(|(at, text)| Mutation::Insert(at, text)),
        6 => (any::<Index>(), any_value()).prop_map(|(at, value)| Mutation::Replace(at, value)),
        2 => any::<Index>().prop_map(Mutation::Remove),
        2 => ("[a-z_]{0,10}", any_value()).prop_map(|(name, value)| Mutation::Add(name, value)),
        1 => any::<Index>().prop_map(Mutation::Cut),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Overwrite(at, byte)),
    ];
    prop::collection::vec(mutation, 1..5)
}

fn mutate(full: &Value, mutations: &[Mutation]) -> Vec<u8> {
    let mut body = full.clone();
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
            Mutation::Write(..)
            | Mutation::Cut(_)
            | Mutation::Overwrite(..)
            | Mutation::Insert(..) => {}
        }
    }
    let mut bytes = body.to_string().into_bytes();
    for mutation in mutations {
        let length = bytes.len().max(1);
        match mutation {
            Mutation::Write(at, text) => {
                let fields = full.as_object().unwrap();
                let name = at.and_then(|at| fields.keys().nth(at.index(fields.len().max(1))));
                let mut field =
                    format!("{}:", json!(name.map_or("a", String::as_str))).into_bytes();
                field.extend_from_slice(text);
                field.extend((length > 2).then_some(b','));
                bytes.splice(1.min(bytes.len())..1.min(bytes.len()), field);
            }
            Mutation::Insert(at, text) => {
                let at = at.index(length).min(bytes.len());
                bytes.splice(at..at, text.iter().copied());
            }
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

fn check(response: &Response) -> Result<(), TestCaseError> {
    let body: Value = serde_json::from_slice(&response.body)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    match response.status.as_u16() {
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
                prop_assert!(
                    loc.iter().all(|step| step.is_string() || step.is_u64()),
                    "{}",
                    violation
                );
                prop_assert!(
                    violation["msg"].is_string() && violation["type"].is_string(),
                    "{}",
                    violation
                );
            }
        }
        400 | 403 => prop_assert!(body["detail"].is_string(), "{}", body),
        other => prop_assert!(false, "{other}: {body}"),
    }
    Ok(())
}

/// Runs one of the clients on its own runtime. Returns how many of its requests were accepted.
fn client(number: u32, url: &str, key: &str, bodies: &[(String, Value)]) -> Result<u32, String> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let sender = Sender::new();
    let cases = CASES / CLIENTS;
    let config = Cases { cases, failure_persistence: None, ..Cases::default() };
    // Each client starts with a different body.
    let mut runner = TestRunner::new_with_rng(
        config,
        TestRng::from_seed(RngAlgorithm::ChaCha, &[number as u8; 32]),
    );
    let accepted = Cell::new(0);
    let strategy = (any::<Index>(), mutations(), head());
    let ran = runner.run(&strategy, |(operation, mutations, changes)| {
        let (path, full) = &bodies[operation.index(bodies.len())];
        let body = Bytes::from(mutate(full, &mutations));
        let mut headers = vec![("x-key", Some(key)), ("content-type", Some("application/json"))];
        for change in changes {
            match change {
                HeaderChange::Key(key) => headers[0].1 = key,
                HeaderChange::ContentType(kind) => headers[1].1 = kind,
                HeaderChange::Also(name, value) => headers.push((name, Some(value))),
            }
        }
        let headers: Vec<_> = headers
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| (name, value)))
            .collect();
        let response =
            runtime.block_on(sender.send("POST", &format!("{url}{path}"), &headers, body));
        accepted.set(accepted.get() + u32::from(response.status == 200));
        check(&response)
    });
    ran.map(|()| accepted.get()).map_err(|error| error.to_string())
}

#[test]
fn mutated_requests_do_not_break_the_simulator() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let bench = runtime.block_on(Bench::new());
    let submissions = submissions();
    let bodies: Vec<_> =
        submissions.iter().map(|submission| (submission.path.clone(), submission.full())).collect();
    let (url, key) = (bench.sim.base_url(), bench.sim.api_key());
    let accepted: u32 = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn({
                    let bodies = &bodies;
                    move || client(number, url, key, bodies)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap().unwrap()).sum()
    });
    let counts = bench.sim.counts();
    assert_eq!(counts.accepted, u64::from(accepted));
    assert_eq!(counts.refused.values().sum::<u64>(), u64::from(CASES - accepted));
    for (status, at_least) in [(400, 10), (403, 100), (422, 1000)] {
        assert!(
            counts.refused_with(status) > at_least,
            "some status codes are missing: {counts:?}"
        );
    }
    assert!(accepted > 900, "some status codes are missing: {counts:?}");
    assert_eq!(counts.charged, bench.sim.tasks().iter().map(|task| task.cost).sum());
}
