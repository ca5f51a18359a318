//! The progress on a terminal.

use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::terminal::write_above;
use imagekiln_batch::{JobState, ReportRow};

/// The number of lines of [`Bars`].
pub const HEIGHT: usize = 2;

/// A bar with the jobs that ended, and a line with the number of jobs in each state.
pub struct Bars {
    bar: ProgressBar,
    started: Instant,
    /// The number of jobs that had ended at the start.
    ended_before: u64,
}

impl Bars {
    pub fn new(target: ProgressDrawTarget, rows: &[ReportRow]) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:24} {msg}") {
            bar.set_style(style);
        }
        let bars = Self { bar, started: Instant::now(), ended_before: count(rows, has_ended) };
        bars.update(rows);
        bars
    }

    /// Shows that the program is alive while no job changes, and lets its messages appear above.
    pub fn ticking(self) -> Self {
        write_above(&self.bar);
        self.bar.enable_steady_tick(Duration::from_millis(100));
        self
    }

    /// Shows the number of jobs in each state, their cost, and the time that the rest takes.
    pub fn update(&self, rows: &[ReportRow]) {
        let (jobs, ended) = (count(rows, |_| true), count(rows, has_ended));
        let credits = rows.iter().map(|row| row.credits).sum::<f64>();
        let left = self.time_left(ended, jobs - ended);
        let left = left.map(|left| format!(", {:#} left", HumanDuration(left))).unwrap_or_default();
        // In the order of a job's life.
        let states = JobState::ALL.into_iter().filter_map(|state| {
            let jobs = count(rows, |other| other == state);
            (jobs > 0).then(|| format!("{state} {jobs}"))
        });
        let states = states.collect::<Vec<_>>().join(", ");
        // Each of these calls draws.
        if self.bar.length() != Some(jobs) {
            self.bar.set_length(jobs);
        }
        self.bar.set_position(ended);
        self.bar
            .set_message(format!("{ended}/{jobs} jobs, {credits:.2} credits{left}\n  {states}"));
    }

    /// The estimated time that the rest takes, once a job has ended.
    fn time_left(&self, ended: u64, rest: u64) -> Option<Duration> {
        let ended = ended.saturating_sub(self.ended_before);
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = (ended > 0).then(|| elapsed / ended as f64 * rest as f64)?;
        Duration::try_from_secs_f64(left).ok()
    }

    /// Prints a line above the bar.
    pub fn print(&self, line: String) {
        self.bar.println(line);
    }

    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn count(rows: &[ReportRow], is: impl Fn(JobState) -> bool) -> u64 {
    rows.iter().filter(|row| is(row.state)).map(|row| row.jobs).sum()
}

/// Whether this run does not continue a job in this state.
pub fn has_ended(state: JobState) -> bool {
    !matches!(
        state,
        JobState::Queued | JobState::Submitting | JobState::Submitted | JobState::Ready
    )
}
