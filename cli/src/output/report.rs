//! Formats failures: a few lines for people, one JSON object for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{
    failure::{Failure, LineProblem},
    terminal::paint::{ADVICE, ERROR, Paint},
    text::{json, sanitize::printable_lines},
};

/// For people. A failure may quote anything: the names in a file of somebody else, or a response.
pub fn to_people(failure: &Failure, paint: Paint) -> String {
    let mut text = paint.text(ERROR, "error:");
    let mut add = |before: &str, quoted: &str| {
        // Writing to a `String` does not fail.
        let _ = write!(text, "{before}{}", printable_lines(quoted));
    };
    add(" ", &failure.message);
    for violation in &failure.violations {
        add("\n  - ", &violation.to_string());
    }
    for problem in &failure.problems {
        add("\n", &problem.to_string());
    }
    if failure.more_problems > 0 {
        add("\n", &format!("and {} more", failure.more_problems));
    }
    for cause in &failure.causes {
        add("\ncaused by: ", cause);
    }
    if failure.billing_unknown && failure.unrecorded.is_empty() {
        add("\n", "billing: unknown");
    }
    if let Some(advice) = &failure.advice {
        add(&format!("\n{} ", paint.text(ADVICE, "advice:")), advice);
    }
    if let Some(command) = &failure.resume_command {
        // A batch is resumed, too.
        let paid = failure.task.as_ref().map_or("", |_| "the task is paid for; ");
        add(&format!("\n{paid}{}\n  ", paint.text(ADVICE, "resume it with:")), command);
    }
    text
}

/// For programs.
pub fn to_programs(failure: &Failure) -> Value {
    let report = json!({
        "event": "error",
        "kind": failure.kind.as_str(),
        "reason": failure.reason,
        "message": failure.message,
        "causes": failure.causes,
        "advice": failure.advice,
        "violations": failure.violations,
        "problems": failure.problems.iter().map(problem).collect::<Vec<_>>(),
        "more_problems": failure.more_problems,
        "status": failure.status,
        "request_id": failure.request_id,
        "task": failure.task,
        "resume": failure.resume_command,
        "may_have_been_billed": failure.billing_unknown,
        "exit_code": failure.exit.code(),
    });
    match &failure.unrecorded[..] {
        [] => report,
        tasks => json::with(report, [("tasks", json!(tasks))]),
    }
}

fn problem(problem: &LineProblem) -> Value {
    json!({ "file": problem.file, "line": problem.line, "message": problem.message })
}
