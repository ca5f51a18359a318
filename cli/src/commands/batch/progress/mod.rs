//! The progress of a batch: bars on a terminal, lines elsewhere, and JSON lines for programs.

mod bars;
mod events;

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use self::bars::{Bars, has_ended};
pub use self::events::{
    job as job_event, line as job_line, report as report_event, table as report_table,
};
use crate::{
    failure::Failure,
    output::{Output, write_failed},
    process::Process,
    terminal,
    text::json::json_line,
};
use imagekiln_batch::{JobState, JobStatus, Report, ReportRow};

/// Shows each change of a job, and the report at the end.
pub struct Progress {
    display: Display,
    /// Whether programs read the output.
    json: bool,
    /// Paths below it are shown relative to it.
    directory: PathBuf,
    /// Standard output.
    out: Box<dyn Write + Send>,
    /// The current width of standard output, if it is a terminal.
    columns: fn() -> Option<usize>,
    /// Why writing failed. The batch continues, and [`finish`](Self::finish) returns the error.
    error: Option<io::Error>,
}

/// The display while the batch runs.
enum Display {
    /// Bars on standard error.
    Bars(Bars),
    /// A line on standard output for each change.
    Lines,
    /// Nothing, because of `--quiet`.
    Nothing,
}

impl Progress {
    /// Starts with the jobs of the ledger.
    pub fn new(output: &Output, report: &Report) -> Self {
        let display = match () {
            () if output.spins => {
                Display::Bars(Bars::new(terminal::target(bars::HEIGHT), report.rows()).ticking())
            }
            () if output.quiet => Display::Nothing,
            () => Display::Lines,
        };
        let stdout = output.process.stdout.clone();
        let (columns, directory) = (stdout.columns, directory(&output.process));
        let progress = Self::with(display, Box::new(stdout));
        Self { json: output.json, directory, columns, ..progress }
    }

    fn with(display: Display, out: Box<dyn Write + Send>) -> Self {
        let directory = PathBuf::new();
        Self { display, json: false, directory, out, columns: || None, error: None }
    }

    /// Whether the display shows the number of jobs.
    pub fn has_counts(&self) -> bool {
        matches!(self.display, Display::Bars(_))
    }

    /// Shows the number of jobs, which other processes change, too.
    pub fn update(&mut self, rows: &[ReportRow]) {
        if let Display::Bars(bars) = &self.display {
            bars.update(rows);
        }
    }

    /// Shows the new status of a job. The bars count the jobs, so they need a line only for one
    /// without a picture.
    pub fn changed(&mut self, job: &JobStatus) {
        let is_paid_for = job.state == JobState::Submitted;
        match &self.display {
            Display::Bars(bars) if has_ended(job.state) && job.state != JobState::Saved => {
                bars.print(job_line(job, &self.directory));
            }
            Display::Lines if self.json => self.write(&json_line(&job_event(job))),
            Display::Lines if is_paid_for || has_ended(job.state) => {
                self.write(&job_line(job, &self.directory));
            }
            _ => {}
        }
    }

    /// Removes the bars, and writes the report.
    pub fn finish(mut self, report: &Report) -> Result<(), Failure> {
        if let Display::Bars(bars) = &self.display {
            bars.clear();
        }
        let text = if self.json {
            json_line(&report_event(report.rows()))
        } else {
            report_table(report).text((self.columns)())
        };
        self.write(&text);
        self.error.map_or(Ok(()), write_failed)
    }

    /// Writes a line. After an error, nothing more is written.
    fn write(&mut self, line: &str) {
        if self.error.is_none() {
            let written = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
            self.error = written.err();
        }
    }
}

/// The working directory as it is in the locations of a ledger, which have no symbolic links.
pub fn directory(process: &Process) -> PathBuf {
    fs::canonicalize(&process.directory).unwrap_or_default()
}

/// Prints a job that a command has changed.
pub fn print_job(output: &Output, job: &JobStatus) -> Result<(), Failure> {
    output.result(|| job_line(job, &directory(&output.process)), || job_event(job))
}
