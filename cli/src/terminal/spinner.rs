//! The line on the terminal that shows the current step of the command.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use console::{Term, truncate_str};
use indicatif::{ProgressBar, ProgressState, ProgressStyle, WeakProgressBar};
use tokio::time::Instant;

use super::live;

/// The columns that the spinner and the elapsed time need.
const OTHER_COLUMNS: u16 = 12;

/// The display that is on the terminal now, if any.
static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

struct Current {
    bar: WeakProgressBar,
    /// The text of a spinner. `None` for the bars of a batch.
    line: Option<Weak<Mutex<Line>>>,
}

/// A spinner, or nothing without a terminal. Dropping it removes it.
pub struct Spinner(Option<Shown>);

struct Shown {
    bar: ProgressBar,
    line: Arc<Mutex<Line>>,
}

struct Line {
    text: String,
    /// The cause of a wait, which is shown in place of the text until the wait ends.
    wait: Option<(String, Instant)>,
}

impl Spinner {
    /// A spinner, if `is_shown`. Lines on standard error appear above it.
    pub fn start(is_shown: bool, text: String) -> Self {
        Self(is_shown.then(|| {
            let line = Arc::new(Mutex::new(Line { text, wait: None }));
            let bar = ProgressBar::with_draw_target(None, live::target(1));
            bar.set_style(style(Arc::clone(&line)));
            let current = Current { bar: bar.downgrade(), line: Some(Arc::downgrade(&line)) };
            *lock(&CURRENT) = Some(current);
            bar.enable_steady_tick(Duration::from_millis(100));
            Shown { bar, line }
        }))
    }

    /// Replaces the text, and ends the display of a wait.
    pub fn show(&self, text: impl Into<String>) {
        if let Some(shown) = &self.0 {
            *lock(&shown.line) = Line { text: text.into(), wait: None };
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(shown) = &self.0 {
            shown.bar.finish_and_clear();
        }
    }
}

impl Line {
    fn at(&self, now: Instant) -> String {
        let wait = self.wait.as_ref().filter(|(_, end)| *end > now);
        wait.map_or_else(|| self.text.clone(), |(cause, end)| counted_down(cause, *end - now))
    }
}

/// The cause of a wait, and its remaining time.
pub fn counted_down(text: &str, left: Duration) -> String {
    format!("{text} in {} s", left.as_secs_f64().ceil())
}

/// The text is computed at each tick, so that a wait counts down and fits a resized terminal.
fn style(line: Arc<Mutex<Line>>) -> ProgressStyle {
    let style = ProgressStyle::with_template("{spinner} {line} ({elapsed})")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.with_key("line", move |_: &ProgressState, out: &mut dyn Write| {
        let (_, columns) = Term::stderr().size();
        let room = columns.saturating_sub(OTHER_COLUMNS).max(1);
        // Writing to the line does not fail.
        let _ =
            write!(out, "{}", truncate_str(&lock(&line).at(Instant::now()), room.into(), "..."));
    })
}

/// Shows in the spinner for how long the command waits. Returns whether there is a spinner.
pub fn wait(text: &str, wait: Duration) -> bool {
    let line = lock(&CURRENT).as_ref().and_then(|current| current.line.as_ref()?.upgrade());
    let Some(line) = line else { return false };
    lock(&line).wait = Some((text.to_owned(), Instant::now() + wait));
    true
}

/// Lets lines on standard error appear above this bar.
pub fn write_above(bar: &ProgressBar) {
    *lock(&CURRENT) = Some(Current { bar: bar.downgrade(), line: None });
}

/// Writes to the terminal while the spinner or the bar is hidden.
pub fn hidden<T>(write: impl FnOnce() -> T) -> T {
    let bar = lock(&CURRENT).as_ref().and_then(|current| current.bar.upgrade());
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
