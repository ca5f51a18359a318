//! The progress of a batch: bars on a terminal, lines elsewhere, and JSON lines for programs.

mod bars;
mod counts;
mod events;

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

pub use self::events::{job as job_event, line as job_line, report as report_event};
use self::{
    bars::Bars,
    counts::{Counts, has_ended},
};
use crate::{
    failure::Failure,
    output::{Output, write_failed},
    process::Process,
    terminal::live,
    text::{json::json_line, table::Table},
};
use imagekiln_batch::{JobState, JobStatus, Report, ReportRow};

/// Shows each change of a job, and the report at the end.
pub struct Progress {
    counts: Counts,
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
            () if output.spins => Display::Bars(Bars::new(live::target(bars::HEIGHT)).ticking()),
            () if output.quiet => Display::Nothing,
            () => Display::Lines,
        };
        let stdout = output.process.stdout.clone();
        let columns = stdout.columns;
        let progress = Self::with(display, Box::new(stdout), report.rows());
        let directory = directory(&output.process);
        Self { json: output.json, directory, columns, ..progress }
    }

    fn with(display: Display, out: Box<dyn Write + Send>, rows: &[ReportRow]) -> Self {
        let counts = Counts::new(rows);
        if let Display::Bars(bars) = &display {
            bars.show(&counts);
        }
        Self {
            counts,
            display,
            json: false,
            directory: PathBuf::new(),
            out,
            columns: || None,
            error: None,
        }
    }

    /// Whether the display shows the number of jobs.
    pub fn has_counts(&self) -> bool {
        matches!(self.display, Display::Bars(_))
    }

    /// Shows the number of jobs, which other processes change, too.
    pub fn count(&mut self, report: &Report) {
        self.update(report.rows());
    }

    fn update(&mut self, rows: &[ReportRow]) {
        self.counts.update(rows);
        if let Display::Bars(bars) = &self.display {
            bars.show(&self.counts);
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
            json_line(&report_event(report))
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

/// The jobs by state and model.
pub fn report_table(report: &Report) -> Table<5> {
    let row = |row: &ReportRow| {
        let note = match row.without_cost {
            0 => String::new(),
            count if row.estimated > 0.0 => {
                format!("{count} of unknown cost, estimated at {:.2} credits", row.estimated)
            }
            count => format!("{count} of unknown cost"),
        };
        let credits = format!("{:.2}", row.credits);
        [row.state.to_string(), row.jobs.to_string(), credits, row.operation.clone(), note]
    };
    Table::with_heading(["STATE", "JOBS", "CREDITS", "MODEL", ""], report.rows().iter().map(row))
        .numbers(&[1, 2])
        .wrapped(&[3, 4])
}

/// The working directory as it is in the locations of a ledger, which have no symbolic links.
pub fn directory(process: &Process) -> PathBuf {
    fs::canonicalize(&process.directory).unwrap_or_default()
}
