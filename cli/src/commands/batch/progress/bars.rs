//! The progress on a terminal.

use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::counts::Counts;
use crate::terminal::spinner::write_above;

/// The number of lines of [`Bars`].
pub const HEIGHT: usize = 2;

/// A bar with the jobs that ended, and a line with the number of jobs in each state.
pub struct Bars(ProgressBar);

impl Bars {
    pub fn new(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:24} {msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Shows that the program is alive while no job changes, and lets its messages appear above.
    pub fn ticking(self) -> Self {
        write_above(&self.0);
        self.0.enable_steady_tick(Duration::from_millis(100));
        self
    }

    pub fn show(&self, counts: &Counts) {
        let (ended, jobs, credits) = (counts.ended(), counts.jobs(), counts.credits());
        let left = counts.time_left().map(|left| format!(", {:#} left", HumanDuration(left)));
        let left = left.unwrap_or_default();
        let states = counts.states().map(|(state, jobs)| format!("{state} {jobs}"));
        let states = states.collect::<Vec<_>>().join(", ");
        // Each of these calls draws.
        if self.0.length() != Some(jobs) {
            self.0.set_length(jobs);
        }
        self.0.set_position(ended);
        self.0.set_message(format!("{ended}/{jobs} jobs, {credits:.2} credits{left}\n  {states}"));
    }

    /// Prints a line above the bar.
    pub fn print(&self, line: String) {
        self.0.println(line);
    }

    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
