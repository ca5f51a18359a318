//! The programs without a record. A kill may lose paid pictures, but a run never pays twice for a
//! picture, and an error names the paid tasks.

use std::{collections::BTreeSet, process::Command, time::Duration};

use imagekiln::{WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE};

use super::Stage;

/// The number of runs of each program under faults.
const RUNS: u32 = 3;

/// Longer than a run takes.
const LONGEST: Duration = Duration::from_millis(1000);

/// The text of an error whose submission may have been billed.
const UNKNOWN: &str = "it is unknown whether the task was created and billed";

fn program(stage: &Stage, name: &str) -> Command {
    let mut command = stage.example(name);
    if name == "webhook_server" {
        // Nobody else listens on this loopback address.
        let [.., a, b] = std::process::id().to_be_bytes();
        let address = format!("127.{a}.{b}.1:8000");
        command.arg(&address).env(WEBHOOK_SECRET_VARIABLE, "a secret of the tests");
        command.env(WEBHOOK_URL_VARIABLE, format!("http://{address}/webhooks/kiln"));
    }
    command
}

fn tells(name: &str) {
    let mut stage = Stage::new();
    let calm = stage.run(&mut program(&stage, name), Duration::MAX);
    assert!(calm.status.success(), "{}", calm.stderr);
    let pictures = stage.account().len();
    for number in 0..RUNS {
        let before = stage.account().len();
        let command = &mut program(&stage, name);
        let run = match number {
            0 => stage.kill(command, LONGEST),
            _ => stage.disturb(command),
        };
        let paid = stage.account().split_off(before);
        let requests: BTreeSet<_> =
            paid.iter().map(|task| format!("{} {}", task.operation, task.request)).collect();
        assert_eq!(requests.len(), paid.len(), "paid twice: {paid:?}");
        if run.status.success() {
            assert_eq!(paid.len(), pictures);
        }
        let is_told = |id: &str| run.stderr.contains(id) || run.stderr.contains(UNKNOWN);
        if run.status.code().is_some() {
            let mut lost = paid.iter().filter(|task| task.deliveries == 0 && !is_told(&task.id));
            assert!(lost.next().is_none(), "{paid:?}\n{}", run.stderr);
        }
    }
}

#[test]
fn generate() {
    tells("generate");
}

#[test]
fn blocking() {
    tells("blocking");
}

#[test]
fn edit() {
    tells("edit");
}

#[test]
fn edits() {
    tells("edits");
}

#[test]
fn observe() {
    tells("observe");
}

#[test]
fn any_operation() {
    tells("any_operation");
}

#[test]
fn webhook_server() {
    tells("webhook_server");
}
