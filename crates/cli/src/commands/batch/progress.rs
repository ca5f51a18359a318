//! The progress of a batch: bars on a terminal, lines elsewhere, and JSON lines for programs.

use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use super::print::{directory, job_line, print_job, report_event, report_table};
use crate::{
    failure::Failure,
    output::Output,
    terminal::{self, write_above},
};
use imagekiln::text::Credits;
use imagekiln_batch::{JobState, JobStatus, Report};

/// The number of lines of [`Bars`].
const HEIGHT: usize = 2;

/// Shows each change of a job, and the report at the end.
pub struct Progress {
    output: Output,
    /// The bars on standard error, if progress is shown.
    bars: Option<Bars>,
    /// Why writing failed. The batch continues, and [`finish`](Self::finish) returns the error.
    written: Result<(), Failure>,
}

impl Progress {
    /// Starts to show the progress. `report` has the jobs of the ledger at the start.
    pub fn new(output: &Output, report: &Report) -> Self {
        let bars = output.spins.then(|| Bars::new(terminal::target(HEIGHT), report));
        Self { output: output.clone(), bars, written: Ok(()) }
    }

    /// Whether [`update`](Self::update) shows anything.
    pub fn has_counts(&self) -> bool {
        self.bars.is_some()
    }

    /// Shows the number of jobs in each state. The caller reads the report from the ledger, because
    /// other processes change jobs, too.
    pub fn update(&self, report: &Report) {
        if let Some(bars) = &self.bars {
            bars.update(report);
        }
    }

    /// Shows the new status of a job. With bars, which count the jobs, this prints a line only for
    /// a job that has ended without a picture.
    pub fn changed(&mut self, job: &JobStatus) {
        let is_news = has_ended(job.state) || job.state == JobState::Submitted;
        match &self.bars {
            Some(bars) if has_ended(job.state) && job.state != JobState::Saved => {
                bars.bar.println(job_line(job, &directory(&self.output.process)));
            }
            None if self.output.quiet || self.written.is_err() => {}
            None if self.output.json || is_news => self.written = print_job(&self.output, job),
            _ => {}
        }
    }

    /// Removes the bars, and writes the report.
    pub fn finish(self, report: &Report) -> Result<(), Failure> {
        if let Some(bars) = &self.bars {
            bars.bar.finish_and_clear();
        }
        self.written?;
        let width = self.output.process.stdout.columns;
        self.output.result(|| report_table(report).text(width()), || report_event(report))
    }
}

/// A bar with the jobs that ended, and a line with the number of jobs in each state.
struct Bars {
    bar: ProgressBar,
    started: Instant,
    /// The number of jobs that had ended at the start.
    ended_before: u64,
}

impl Bars {
    fn new(target: ProgressDrawTarget, report: &Report) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:24} {msg}") {
            bar.set_style(style);
        }
        let bars = Self { bar, started: Instant::now(), ended_before: count(report, has_ended) };
        bars.update(report);
        // Lines of the program appear above the bars, and the spinner turns even while no job
        // changes.
        write_above(&bars.bar);
        bars.bar.enable_steady_tick(Duration::from_millis(100));
        bars
    }

    /// Shows the number of jobs in each state, their cost, and the estimated time that is left.
    fn update(&self, report: &Report) {
        let (jobs, ended) = (count(report, |_| true), count(report, has_ended));
        let left = self.time_left(ended, jobs - ended);
        let left = left.map(|left| format!(", {:#} left", HumanDuration(left))).unwrap_or_default();
        // `ALL` has the states in the order in which a job passes them.
        let states = JobState::ALL.into_iter().filter_map(|state| {
            let jobs = report.count(state);
            (jobs > 0).then(|| format!("{state} {jobs}"))
        });
        let states = states.collect::<Vec<_>>().join(", ");
        // Each of these calls draws the bar, so an unchanged length is not set again.
        if self.bar.length() != Some(jobs) {
            self.bar.set_length(jobs);
        }
        self.bar.set_position(ended);
        let credits = Credits(report.credits());
        self.bar
            .set_message(format!("{ended}/{jobs} jobs, {credits:.2} credits{left}\n  {states}"));
    }

    /// Estimates how long the other jobs take, from the jobs that have ended in this run. Returns
    /// `None` before the first one has.
    fn time_left(&self, ended: u64, rest: u64) -> Option<Duration> {
        let ended = ended.saturating_sub(self.ended_before);
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = (ended > 0).then(|| elapsed / ended as f64 * rest as f64)?;
        Duration::try_from_secs_f64(left).ok()
    }
}

fn count(report: &Report, is: impl Fn(JobState) -> bool) -> u64 {
    report.rows.iter().filter(|row| is(row.state)).map(|row| row.jobs).sum()
}

/// The states of jobs that a run continues.
pub const OPEN: [JobState; 4] =
    [JobState::Queued, JobState::Submitting, JobState::Submitted, JobState::Ready];

/// Whether a run no longer continues a job in this state.
fn has_ended(state: JobState) -> bool {
    !OPEN.contains(&state)
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_left_does_not_count_jobs_of_earlier_runs() {
        let bars = Bars { bar: ProgressBar::hidden(), started: Instant::now(), ended_before: 1 };
        time::advance(Duration::from_secs(60)).await;
        assert_eq!(bars.time_left(1, 3), None);
        assert_eq!(bars.time_left(3, 1), Some(Duration::from_secs(30)));
    }
}
