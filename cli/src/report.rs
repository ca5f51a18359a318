//! Formats failures: a few lines for people, one JSON object for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{
    failure::{Failure, LineProblem},
    paint::{ADVICE, ERROR, Paint},
};

/// For people.
pub fn to_people(failure: &Failure) -> String {
    let paint = Paint::on_stderr();
    let mut text = format!("{} {}", paint.text(ERROR, "error:"), failure.message);
    let mut line = |line: String| {
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n{line}");
    };
    for violation in &failure.violations {
        line(format!("  - {violation}"));
    }
    for problem in &failure.problems {
        line(problem.to_string());
    }
    if failure.more_problems > 0 {
        line(format!("and {} more", failure.more_problems));
    }
    for cause in &failure.causes {
        line(format!("caused by: {cause}"));
    }
    if failure.billing_unknown {
        line("billing: unknown".to_owned());
    }
    if let Some(advice) = &failure.advice {
        line(format!("{} {advice}", paint.text(ADVICE, "advice:")));
    }
    if let Some(command) = &failure.resume_command {
        line(format!("{}\n  {command}", paint.text(ADVICE, "resume it with:")));
    }
    text
}

/// For programs.
pub fn to_programs(failure: &Failure) -> Value {
    json!({
        "event": "error",
        "kind": failure.kind,
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
    })
}

fn problem(problem: &LineProblem) -> Value {
    json!({ "file": problem.file, "line": problem.line, "message": problem.message })
}
