//! Mutated documents are restored or refused. Neither breaks the simulator.

use std::cell::Cell;

use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config as Cases, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::config;
use crate::{
    bench::{Bench, Response, png, small},
    mutations::any_value,
};
use imagekiln_simulator::Config;

const CASES: u32 = 400;

/// A change to a value somewhere in the document.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(Index, Value),
    /// By another value of the document.
    Copy(Index, Index),
    Remove(Index),
    /// By another value of a field of the same name.
    Exchange(Index, Index),
    /// A number by another.
    Count(Index, u8),
    /// Repeats the last item of a list.
    Repeat(Index, usize),
}

fn extreme_number() -> impl Strategy<Value = Value> {
    let numbers = [
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1u64 << 52),
        json!((1u64 << 53) + 1),
        json!(u32::MAX),
        json!(f64::MAX),
        json!(-0.5),
        json!("170141183460469231731687303715884105727"),
        json!("-170141183460469231731687303715884105728"),
    ];
    prop::sample::select(numbers.to_vec())
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        3 => (any::<Index>(), extreme_number())
            .prop_map(|(at, value)| Mutation::Replace(at, value)),
        3 => (any::<Index>(), any_value()).prop_map(|(at, value)| Mutation::Replace(at, value)),
        3 => any::<(Index, Index)>().prop_map(|(from, to)| Mutation::Copy(from, to)),
        9 => any::<(Index, Index)>().prop_map(|(from, to)| Mutation::Exchange(from, to)),
        3 => (any::<Index>(), 0u8..99).prop_map(|(at, count)| Mutation::Count(at, count)),
        1 => any::<Index>().prop_map(Mutation::Remove),
        1 => (any::<Index>(), 1usize..100).prop_map(|(at, times)| Mutation::Repeat(at, times)),
    ]
}

/// The pointers of all values in the document.
fn pointers(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| pointers(item, &format!("{here}/{index}"), found));
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            fields.for_each(|(name, field)| pointers(field, &format!("{here}/{name}"), found));
        }
        _ => {}
    }
}

fn mutate(document: &mut Value, mutation: Mutation) {
    let mut all = Vec::new();
    pointers(document, "", &mut all);
    let pointer = |at: Index| all[at.index(all.len())].clone();
    match mutation {
        Mutation::Replace(at, value) => *document.pointer_mut(&pointer(at)).unwrap() = value,
        Mutation::Copy(from, to) => {
            let value = document.pointer(&pointer(from)).unwrap().clone();
            *document.pointer_mut(&pointer(to)).unwrap() = value;
        }
        Mutation::Exchange(from, to) => {
            let to = pointer(to);
            let name = to.rsplit('/').next();
            let alike: Vec<_> = all.iter().filter(|at| at.rsplit('/').next() == name).collect();
            let value = document.pointer(alike[from.index(alike.len())]).unwrap().clone();
            *document.pointer_mut(&to).unwrap() = value;
        }
        Mutation::Count(at, count) => {
            let numbers: Vec<_> =
                all.iter().filter(|at| document.pointer(at).unwrap().is_number()).collect();
            let pointer = numbers[at.index(numbers.len())].clone();
            *document.pointer_mut(&pointer).unwrap() = count.into();
        }
        Mutation::Remove(at) => {
            let pointer = pointer(at);
            let Some((parent, name)) = pointer.rsplit_once('/') else { return };
            match document.pointer_mut(parent).unwrap() {
                Value::Array(items) => drop(items.remove(name.parse().unwrap())),
                Value::Object(fields) => drop(fields.remove(name)),
                _ => {}
            }
        }
        Mutation::Repeat(at, times) => {
            let lists: Vec<_> = all
                .iter()
                .filter(|at| {
                    document.pointer(at).unwrap().as_array().is_some_and(|a| !a.is_empty())
                })
                .collect();
            let items = document.pointer_mut(lists[at.index(lists.len())]).unwrap();
            let items = items.as_array_mut().unwrap();
            let last = items.last().unwrap().clone();
            items.extend(std::iter::repeat_n(last, times));
        }
    }
}

/// A small state, whose faults have no status code of 500 or above.
async fn prepared() -> Bench {
    let bench =
        Bench::with(Config { max_output_side: 64, max_output_pixels: 64 * 64, ..config() }).await;
    bench.sim.faults().add("rate-limited@poll:once").unwrap();
    bench.sim.faults().add("html@delivery:0.5").unwrap();
    let edit =
        json!({ "prompt": "x [[html]]", "input_image": png(48, 32), "width": 64, "height": 64 });
    let dropped = bench.submit("/v1/gen-2-pro", &edit).await;
    bench.advance(10.0);
    let poll = dropped["polling_url"].as_str().unwrap();
    assert_eq!(bench.get(poll).await.status, 429);
    let sample = bench.poll(&dropped).await["result"]["sample"].as_str().unwrap().to_owned();
    bench.fetch(&sample).await;
    bench.advance(700.0);
    bench.submit("/v1/gen-2-pro", &edit).await;
    let expand = json!({ "image": png(32, 32), "left": 16, "top": 8, "prompt": "sea" });
    bench.submit("/v1/gen-pro-1.0-expand", &expand).await;
    let erase = json!({ "image": png(32, 32), "mask": png(32, 32), "dilation": 3 });
    bench.submit("/v1/gen-tools/erase-v1", &erase).await;
    let outpaint = json!({ "image": png(32, 32), "width": 48, "height": 48, "prompt": "sea" });
    bench.post("/v1/gen-tools/outpainting-v1", &outpaint).await;
    bench.advance(10.0);
    let video = json!({
        "prompt": "x", "width": 32, "height": 32, "duration": 1, "fps": 2, "mode": "i2v",
        "keyframes": [png(32, 32), png(16, 16)],
    });
    bench.submit("/v1/gen-3-video", &video).await;
    bench
}

fn check(response: &Response) -> Result<(), TestCaseError> {
    prop_assert!(response.status.as_u16() < 500, "{:?}", response);
    Ok(())
}

/// Uses all of a restored state.
async fn probe(bench: &Bench) -> Result<(), TestCaseError> {
    for path in ["/api/state", "/api/organizations", "/api/audit", "/api/ledger", "/api/faults"] {
        prop_assert_eq!(bench.control("GET", path, None).await.status, 200);
    }
    bench.advance(20.0);
    let tasks = bench.show("/api/tasks").await;
    for task in tasks["tasks"].as_array().unwrap() {
        let id = task["id"].as_str().unwrap();
        prop_assert_eq!(bench.control("GET", &format!("/api/tasks/{id}"), None).await.status, 200);
        check(&bench.control("GET", &format!("/api/tasks/{id}/picture"), None).await)?;
        for base in [bench.sim.base_url(), bench.sim.regional_base_url()] {
            let poll = bench.get(&format!("{base}/v1/get_result?id={id}")).await;
            check(&poll)?;
            if let Some(sample) = poll.json()["result"]["sample"].as_str() {
                check(&bench.fetch(sample).await)?;
            }
        }
    }
    check(&bench.post("/v1/gen-2-flex", &small("after")).await)?;
    bench.sim.clock().set_speed(0.0);
    let again = bench.snapshot().await;
    let response = bench.restore(&again).await;
    prop_assert_eq!(response.status, 200, "what was restored can be restored: {:?}", response);
    prop_assert_eq!(bench.snapshot().await, again);
    Ok(())
}

#[test]
fn mutated_documents_do_not_break_the_simulator() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let bench = runtime.block_on(prepared());
    let document = runtime.block_on(bench.snapshot());
    let config = Cases { cases: CASES, failure_persistence: None, ..Cases::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let (restored, refused) = (Cell::new(0), Cell::new(0));
    let strategy = prop::collection::vec(mutation(), 1..3);
    let ran = runner.run(&strategy, |mutations| {
        let mut changed = document.clone();
        mutations.into_iter().for_each(|mutation| mutate(&mut changed, mutation));
        runtime.block_on(async {
            prop_assert_eq!(bench.restore(&document).await.status, 200);
            let response = bench.restore(&changed).await;
            match response.status.as_u16() {
                200 => {
                    restored.set(restored.get() + 1);
                    probe(&bench).await
                }
                400..500 => {
                    refused.set(refused.get() + 1);
                    prop_assert!(bench.snapshot().await == document, "{:?}", response);
                    Ok(())
                }
                _ => Err(TestCaseError::fail(format!("{response:?}"))),
            }
        })
    });
    ran.unwrap();
    let counts = (restored.get(), refused.get());
    assert!(counts.0 > 40 && counts.1 > 40, "restored and refused: {counts:?}");
}
