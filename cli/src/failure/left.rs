//! What is left to do after the failures of several pictures. Each picture has its own report.

use super::{Failure, exit::Exit};
use crate::text::sanitize::quoted;
use imagekiln::ErrorKind;

/// The failures of several pictures, and the remaining work.
#[derive(Default)]
pub struct Left {
    /// The exit codes of the pictures that were not saved.
    pub exits: Vec<Exit>,
    /// The number of tasks that `kiln resume` continues.
    continuing: usize,
    /// The number of other tasks that are paid for. Their reports have a command each.
    blocked: usize,
    /// The names of the submissions that may have been charged, such as `@3`.
    unknown: Vec<String>,
}

impl Left {
    /// Counts a failure that was reported.
    pub fn add(&mut self, failure: &Failure) {
        self.exits.push(failure.exit);
        if failure.billing_unknown {
            self.unknown.extend(failure.number.map(|number| format!("@{number}")));
        } else if failure.resume_command.is_some() {
            let is_blocked = failure.number.is_none()
                || failure.remedy.is_some()
                || failure.kind == ErrorKind::Expired
                || failure.kind == ErrorKind::TaskNotFound;
            let count = if is_blocked { &mut self.blocked } else { &mut self.continuing };
            *count += 1;
        }
    }

    /// The failure of the command, with a sentence for each kind of work. `unsubmitted` pictures
    /// cost nothing.
    pub fn failure(
        &self,
        kind: &'static str,
        exit: Exit,
        message: String,
        unsubmitted: usize,
    ) -> Failure {
        let sentence = |count, one: &str, many: String| match count {
            0 => None,
            1 => Some(one.to_owned()),
            _ => Some(many),
        };
        let Self { continuing, blocked, unknown, .. } = self;
        let advice: Vec<String> = [
            sentence(
                *continuing,
                "`kiln resume` saves the one whose task continues",
                format!("`kiln resume` saves the {continuing} whose tasks continue"),
            ),
            sentence(
                *blocked,
                "1 is paid for: run the command in its report",
                format!("{blocked} are paid for: run the command in the report of each"),
            ),
            (!unknown.is_empty())
                .then(|| format!("check your usage with the service: {}", settle(unknown, None))),
            sentence(
                unsubmitted,
                "1 was not submitted and cost nothing",
                format!("{unsubmitted} were not submitted and cost nothing"),
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        let failure = Failure::new(kind, exit, message);
        if advice.is_empty() { failure } else { failure.advise(advice.join("; ")) }
    }
}

/// Advice about submissions whose responses were lost. `id` is that of a task that may belong to
/// one of them.
pub fn settle(names: &[String], id: Option<&str>) -> String {
    let one = if let [name] = names { name } else { "@NUMBER" };
    let id = id.map_or("ID".to_owned(), quoted);
    format!(
        "if the usage shows the task, run `kiln task resolve {one} {id}`, otherwise `kiln task \
         dismiss {}`",
        names.join(" ")
    )
}
