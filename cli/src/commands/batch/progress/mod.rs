//! The progress of a batch: bars on a terminal, JSON lines elsewhere.

mod bars;
mod counts;
mod events;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

pub use self::events::{job as job_event, report as report_event};
use self::{bars::Bars, counts::Counts};
use crate::{
    failure::Failure,
    output::{Output, write_failed},
    terminal::live,
    text::{json::json_line, table::Table},
};
use imagekiln_batch::{JobStatus, Report, ReportRow};

/// Shows each change of a job, and the report at the end.
pub struct Progress {
    counts: Counts,
    display: Display,
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
    /// A JSON line on standard output for each change.
    Events,
    /// Nothing, because of `--quiet`.
    Nothing { json: bool },
}

impl Progress {
    /// Starts with the jobs of the ledger.
    pub fn new(output: &Output, report: &Report) -> Self {
        let display = match () {
            () if output.spins => Display::Bars(Bars::new(live::target(bars::HEIGHT)).ticking()),
            () if output.quiet => Display::Nothing { json: output.json },
            () => Display::Events,
        };
        let stdout = output.process.stdout.clone();
        let columns = stdout.columns;
        Self { columns, ..Self::with(display, Box::new(stdout), report.rows()) }
    }

    fn with(display: Display, out: Box<dyn Write + Send>, rows: &[ReportRow]) -> Self {
        let counts = Counts::new(rows);
        if let Display::Bars(bars) = &display {
            bars.show(&counts);
        }
        Self { counts, display, out, columns: || None, error: None }
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

    /// Shows the new status of a job.
    pub fn changed(&mut self, job: &JobStatus) {
        match &self.display {
            Display::Bars(bars) => bars.print_failure(job),
            Display::Events => {
                let line = json_line(&job_event(job));
                self.write(&line);
            }
            Display::Nothing { .. } => {}
        }
    }

    /// Removes the bars, and writes the report.
    pub fn finish(mut self, report: &Report) -> Result<(), Failure> {
        if let Display::Bars(bars) = &self.display {
            bars.clear();
        }
        let text = match self.display {
            Display::Events | Display::Nothing { json: true } => json_line(&report_event(report)),
            _ => report_table(report).text((self.columns)()),
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
