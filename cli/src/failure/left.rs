//! What is left to do after the failures of several pictures. Each picture has its own report.

use super::{Failure, exit::Exit};
use crate::text::sanitize::quoted;
use imagekiln::ErrorKind;

impl Failure {
    /// `kiln resume` did not save every picture.
    pub fn resume(exit: Exit, message: impl Into<String>) -> Self {
        Self::new("resume", exit, message)
    }

    /// A command did not save every picture that it was to make.
    pub fn not_saved(exit: Exit, message: impl Into<String>) -> Self {
        Self::new("not_saved", exit, message)
    }
}

/// The remaining work after the failures of several pictures.
#[derive(Default)]
pub struct Left {
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
        if failure.billing_unknown {
            self.unknown.extend(failure.number.map(|number| format!("@{number}")));
        } else if failure.resume_command.is_some() {
            let again = [ErrorKind::Expired, ErrorKind::TaskNotFound].map(ErrorKind::as_str);
            let is_blocked = failure.number.is_none()
                || failure.remedy.is_some()
                || again.contains(&failure.kind);
            let count = if is_blocked { &mut self.blocked } else { &mut self.continuing };
            *count += 1;
        }
    }

    /// A sentence for each kind.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        match self.continuing {
            0 => {}
            1 => advice.push("`kiln resume` saves the one whose task continues".to_owned()),
            count => advice.push(format!("`kiln resume` saves the {count} whose tasks continue")),
        }
        match self.blocked {
            0 => {}
            1 => advice.push("1 is paid for: run the command in its report".to_owned()),
            count => {
                advice.push(format!("{count} are paid for: run the command in the report of each"));
            }
        }
        if !self.unknown.is_empty() {
            advice.push(format!(
                "check your usage with the service: {}",
                settle(&self.unknown, None)
            ));
        }
        advice
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
