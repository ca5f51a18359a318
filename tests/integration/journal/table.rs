//! The table of steps in `docs/architecture.md` is what [`Record::advance`] does, and each record
//! is closed only with a proof.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use serde_json::json;

use imagekiln::{
    DELIVERY_VALIDITY, TaskRef, TaskStatus,
    journal::{Record, State, Step},
};

const BEGIN: SystemTime = UNIX_EPOCH;

fn record() -> Record {
    let intent = json!({"id": "0123456789abcdef", "operation": "gen-2-pro", "at": 1});
    Record::new(serde_json::from_value(intent).unwrap())
}

fn accepted() -> Step {
    Step::Accepted(TaskRef::new("t1", "http://127.0.0.1:9/poll", None))
}

fn polled(status: &str, at: Duration) -> Step {
    let status = TaskStatus::from(status);
    // The clock of the machine says nothing.
    Step::Polled { status, at: BEGIN, date: Some(BEGIN + at), details: None }
}

fn refused(given_at: Duration) -> Step {
    Step::Refused { given: Some(BEGIN + given_at), after: Duration::ZERO }
}

fn saved() -> Step {
    Step::Saved { path: "fox.png".into(), bytes: 7, sha256: None }
}

fn damaged() -> Step {
    Step::Damaged { path: "fox.png.damaged".into() }
}

/// Returns the name of a state in the table.
fn name(state: &State) -> &'static str {
    match state {
        State::Unknown => "unknown",
        State::Accepted => "accepted",
        State::Ready => "ready",
        State::Saved { .. } => "saved",
        State::Failed(_) => "failed",
        State::Expired => "expired",
        State::Settled => "settled",
        State::NotBilled => "not billed",
        _ => "?",
    }
}

/// A record in each state, in the order of the table.
fn records() -> Vec<Record> {
    let ready = || polled("Ready", Duration::ZERO);
    let lives = [
        vec![],
        vec![accepted()],
        vec![accepted(), ready()],
        vec![accepted(), ready(), saved()],
        vec![accepted(), polled("Error", Duration::ZERO)],
        vec![accepted(), ready(), refused(DELIVERY_VALIDITY)],
        vec![Step::Settled],
        vec![Step::NotBilled],
    ];
    let live = |steps: Vec<Step>| {
        let mut record = record();
        steps.iter().for_each(|step| assert!(record.advance(step), "{step:?}"));
        record
    };
    lives.into_iter().map(live).collect()
}

/// The steps of the table, and what proves them. Some need an earlier step.
fn steps() -> Vec<(&'static str, &'static str, Vec<Step>)> {
    let ten_minutes = Duration::from_secs(600);
    let ready = || polled("Ready", Duration::ZERO);
    let missing = |at| polled("Task not found", at);
    vec![
        ("not billed", "the service certainly did not accept it", vec![Step::NotBilled]),
        ("accepted", "the response, or a poll of a task that was found", vec![accepted()]),
        ("`Ready`", "a poll", vec![ready()]),
        ("a failure", "a poll", vec![polled("Content Moderated", Duration::ZERO)]),
        ("`Task not found`", "a poll", vec![missing(Duration::ZERO)]),
        (
            "`Task not found` again",
            "a poll ten minutes after the first",
            vec![missing(Duration::ZERO), missing(ten_minutes)],
        ),
        (
            "a refused download",
            "no proof",
            vec![refused(DELIVERY_VALIDITY - Duration::from_secs(1))],
        ),
        (
            "a refused download after the validity",
            "a poll ten minutes after the first `Ready` gave the URL",
            vec![ready(), refused(DELIVERY_VALIDITY)],
        ),
        ("damaged", "the delivery is not a whole picture", vec![damaged()]),
        ("saved", "the file is complete and durable", vec![saved()]),
        ("settled", "a person or the program says so", vec![Step::Settled]),
    ]
}

fn table() -> String {
    let states: Vec<_> = records().iter().map(|record| name(record.state())).collect();
    let mut lines = vec![format!("| step | proof | {} |", states.join(" | "))];
    lines.push("|---".repeat(2 + states.len()) + "|");
    for (step, proof, steps) in steps() {
        let ends = records().into_iter().map(|mut record| {
            let before = name(record.state());
            for step in &steps {
                record.advance(step);
            }
            let after = name(record.state());
            if after == before { "" } else { after }
        });
        lines.push(format!("| {step} | {proof} | {} |", ends.collect::<Vec<_>>().join(" | ")));
    }
    lines.join("\n")
}

#[test]
fn the_table_is_the_one_in_the_documentation() {
    let page = include_str!("../../../docs/architecture.md");
    assert!(page.contains(&table()), "docs/architecture.md needs this table:\n{}", table());
}

#[test]
fn a_picture_that_is_saved_after_its_task_was_settled_is_saved() {
    let mut record = record();
    for step in [accepted(), Step::Settled, saved()] {
        assert!(record.advance(&step), "{step:?}");
    }
    assert_eq!(name(record.state()), "saved");
}

#[test]
fn an_acceptance_adds_the_cost_of_a_task_that_was_found() {
    let task = |id: &str, cost: Option<f64>| -> TaskRef {
        let task = json!({"id": id, "polling_url": "http://127.0.0.1:9/poll", "cost": cost});
        serde_json::from_value(task).unwrap()
    };
    for (response, cost) in [(task("t1", Some(3.0)), Some(3.0)), (task("t2", Some(3.0)), None)] {
        let mut record = record();
        assert!(record.advance(&accepted()));
        assert_eq!(record.advance(&Step::Accepted(response)), cost.is_some());
        let known = record.task().unwrap();
        assert_eq!((known.id(), known.cost()), ("t1", cost));
        assert!(!record.advance(&Step::Accepted(task("t1", cost.map(|cost| cost + 1.0)))));
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let at = || (0..2_000_u64).prop_map(Duration::from_secs);
    let status = prop_oneof![
        Just("Ready"),
        Just("Pending"),
        Just("Error"),
        Just("Request Moderated"),
        Just("Task not found"),
    ];
    prop_oneof![
        Just(Step::NotBilled),
        Just(accepted()),
        prop::option::of(0..9_u8).prop_map(|cost| {
            let task = json!({"id": "t1", "polling_url": "http://127.0.0.1:9/poll", "cost": cost});
            Step::Accepted(serde_json::from_value(task).unwrap())
        }),
        (status.clone(), at()).prop_map(|(status, at)| polled(status, at)),
        status.prop_map(|status| Step::Polled {
            status: TaskStatus::from(status),
            at: BEGIN + Duration::from_secs(9_999_999_999),
            date: None,
            details: Some(json!({ "details": "no memory" })),
        }),
        at().prop_map(refused),
        Just(Step::Refused { given: None, after: DELIVERY_VALIDITY - Duration::from_secs(1) }),
        Just(damaged()),
        Just(saved()),
        Just(Step::Settled),
    ]
}

/// Whether the steps prove what closed the record.
fn is_proved(state: &State, steps: &[Step]) -> bool {
    let polls = |wanted: &str| -> Vec<SystemTime> {
        let at = |step: &Step| match step {
            Step::Polled { status, date, .. } if status.as_str() == wanted => *date,
            _ => None,
        };
        steps.iter().filter_map(at).collect()
    };
    match state {
        State::Failed(status) if *status == TaskStatus::TaskNotFound => {
            let missing = polls("Task not found");
            missing.iter().any(|first| {
                missing.iter().any(|again| *again >= *first + Duration::from_secs(600))
            })
        }
        State::Failed(status) => steps.iter().any(|step| match step {
            Step::Polled { status: polled, .. } => polled == status,
            _ => false,
        }),
        State::Expired => steps.iter().any(|step| match step {
            Step::Refused { given: Some(given), .. } => {
                polls("Ready").iter().any(|ready| *given >= *ready + DELIVERY_VALIDITY)
            }
            _ => false,
        }),
        State::Saved { .. } => steps.contains(&saved()),
        State::Settled => steps.contains(&Step::Settled),
        State::NotBilled => steps.contains(&Step::NotBilled),
        _ => true,
    }
}

fn any_record() -> impl Strategy<Value = Record> {
    prop::collection::vec(any_step(), 0..8).prop_map(|steps| {
        let mut record = record();
        steps.iter().for_each(|step| _ = record.advance(step));
        record
    })
}

proptest! {
    /// Stores of one submission say the same together in any order, however often each is read.
    #[test]
    fn a_join_is_commutative_associative_and_idempotent(
        one in any_record(),
        other in any_record(),
        third in any_record(),
    ) {
        let join = |one: &Record, other: &Record| one.clone().join(other.clone());
        let both = join(&one, &other);
        prop_assert_eq!(&join(&other, &one), &both);
        prop_assert_eq!(join(&join(&one, &other), &third), join(&one, &join(&other, &third)));
        prop_assert_eq!(&join(&both, &one), &both);
        prop_assert_eq!(&join(&one, &one), &one);
        // A task is never forgotten, nor is a picture.
        prop_assert_eq!(both.task().is_some(), one.task().is_some() || other.task().is_some());
        let is_saved = |record: &Record| matches!(record.state(), State::Saved { .. });
        prop_assert_eq!(is_saved(&both), is_saved(&one) || is_saved(&other));
    }

    #[test]
    fn a_record_is_closed_only_with_a_proof(steps in prop::collection::vec(any_step(), 0..20)) {
        let mut record = record();
        for (count, step) in steps.iter().enumerate() {
            let before = record.clone();
            let has_changed = record.advance(step);
            prop_assert_eq!(has_changed, record != before);
            prop_assert!(is_proved(record.state(), &steps[..=count]), "{:?}", record);
            // A task is never forgotten.
            let id = |record: &Record| record.task().map(|task| task.id().to_owned());
            prop_assert!(before.task().is_none() || id(&record) == id(&before));
        }
        let text = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }
}
