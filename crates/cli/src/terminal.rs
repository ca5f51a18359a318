//! What a terminal shows in addition to lines of text: colours, and below the last line the current
//! step of the command or the bars of a batch.

use std::{
    fmt::{Display, Write},
    io, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use clap::builder::StyledStr;
use console::{Term, is_dumb, truncate_str};
use indicatif::{
    ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike, WeakProgressBar,
};
use tokio::time::Instant;

pub const ERROR: Style = AnsiColor::Red.on_default().bold();
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The label of advice.
pub const ADVICE: Style = AnsiColor::Cyan.on_default().bold();
pub const PATH: Style = AnsiColor::Green.on_default();
pub const HEADING: Style = Style::new().bold();

/// Whether a stream shows colours. The variables `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` have
/// the same effect as on the help and the errors of the parser. Output for programs is never
/// coloured.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    pub fn new(is_on: bool) -> Self {
        Self(is_on)
    }

    pub fn text(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// Renders a help text or an error of the parser.
    pub fn styled(self, text: &StyledStr) -> String {
        if self.0 { text.ansi().to_string() } else { text.to_string() }
    }

    /// Emphasizes the first line of a table, which is its heading.
    pub fn table(self, table: &str) -> String {
        match table.split_once('\n') {
            Some((heading, rows)) => format!("{}\n{rows}", self.text(HEADING, heading)),
            None => self.text(HEADING, table),
        }
    }
}

/// The columns that the spinner and the elapsed time need.
const OTHER_COLUMNS: u16 = 12;

/// The display that is on the terminal now, if any.
static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

struct Current {
    bar: WeakProgressBar,
    /// The text of a spinner. `None` for the bars of a batch.
    line: Option<Weak<Mutex<Line>>>,
}

/// A spinner, which is hidden if progress is not shown. Dropping it removes it from the terminal.
pub struct Spinner {
    bar: ProgressBar,
    line: Arc<Mutex<Line>>,
}

struct Line {
    text: String,
    /// The cause of a pause and its end. Until then, the spinner shows the cause in place of the
    /// text.
    wait: Option<(String, Instant)>,
}

impl Spinner {
    /// Starts a spinner, which is visible if `is_shown`. Lines on standard error appear above it.
    pub fn start(is_shown: bool, text: String) -> Self {
        let line = Arc::new(Mutex::new(Line { text, wait: None }));
        if !is_shown {
            return Self { bar: ProgressBar::hidden(), line };
        }
        let bar = ProgressBar::with_draw_target(None, target(1));
        bar.set_style(style(Arc::clone(&line)));
        let current = Current { bar: bar.downgrade(), line: Some(Arc::downgrade(&line)) };
        *lock(&CURRENT) = Some(current);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, line }
    }

    /// Replaces the text, and no longer shows a pause.
    pub fn show(&self, text: impl Into<String>) {
        *lock(&self.line) = Line { text: text.into(), wait: None };
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Line {
    fn at(&self, now: Instant) -> String {
        let wait = self.wait.as_ref().filter(|(_, end)| *end > now);
        wait.map_or_else(|| self.text.clone(), |(cause, end)| counted_down(cause, *end - now))
    }
}

/// Returns the cause of a pause with the remaining time.
pub fn counted_down(text: &str, left: Duration) -> String {
    format!("{text} in {} s", left.as_secs_f64().ceil())
}

/// Returns the style of the spinner. It computes the text at each tick, so that a pause counts down
/// and the text fits a terminal that was resized.
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

/// Shows in the spinner why and for how long the command pauses. Returns whether there is a
/// spinner.
pub fn wait(text: &str, wait: Duration) -> bool {
    let line = lock(&CURRENT).as_ref().and_then(|current| current.line.as_ref()?.upgrade());
    let Some(line) = line else { return false };
    lock(&line).wait = Some((text.to_owned(), Instant::now() + wait));
    true
}

/// Makes lines on standard error appear above this bar.
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

/// Locks a mutex, even if a thread has panicked that had locked it.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The maximum frequency at which the progress is drawn, in hertz.
const RATE: u8 = 20;

/// Makes a terminal that has just become narrower truncate the lines. If it wrapped them, the
/// cursor would not return to their start.
const WRAP_OFF: &str = if cfg!(unix) { "\x1b[?7l" } else { "" };
const WRAP_ON: &str = if cfg!(unix) { "\x1b[?7h" } else { "" };

/// Returns standard error as the target of a bar with this number of lines. A terminal that cannot
/// move its cursor shows no bar.
pub fn target(height: usize) -> ProgressDrawTarget {
    if is_dumb() {
        return ProgressDrawTarget::hidden();
    }
    let live = Live { terminal: Term::buffered_stderr(), height, frame: Mutex::default() };
    ProgressDrawTarget::term_like_with_hz(Box::new(live), RATE)
}

/// The last lines of the terminal, in which the progress is drawn.
///
/// The cursor stays at the start of these lines. indicatif alone would leave it at their end, with
/// two effects: the `^C` that a terminal shows would begin another line, and a terminal that
/// becomes narrower would wrap the lines into more lines than indicatif removes.
#[derive(Debug)]
struct Live {
    terminal: Term,
    /// The number of lines that change. Lines before them stay.
    height: usize,
    /// The lines that were written since the last flush.
    frame: Mutex<Vec<String>>,
}

impl Live {
    /// Replaces the lines on the terminal.
    fn draw(&self, lines: &[String]) -> io::Result<()> {
        let (staying, changing) = lines.split_at(lines.len().saturating_sub(self.height));
        self.terminal.clear_line()?;
        self.terminal.clear_to_end_of_screen()?;
        for line in staying {
            self.terminal.write_line(line)?;
        }
        // Some terminals wrap a line that only just fits.
        let width = usize::from(self.width()).saturating_sub(1);
        let changing: Vec<_> = changing.iter().map(|line| truncate_str(line, width, "…")).collect();
        self.terminal.write_str(WRAP_OFF)?;
        self.terminal.write_str(&changing.join("\n"))?;
        self.terminal.write_str(WRAP_ON)?;
        self.terminal.move_cursor_up(changing.len().saturating_sub(1))?;
        self.terminal.write_str("\r")?;
        self.terminal.flush()
    }
}

impl TermLike for Live {
    fn width(&self) -> u16 {
        self.terminal.size().1
    }

    fn height(&self) -> u16 {
        self.terminal.size().0
    }

    // Before indicatif clears lines, it moves the cursor to them from the end, where it expects the
    // cursor. The cursor is at the start already, so these methods do nothing.

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.write_str(line)
    }

    fn write_str(&self, line: &str) -> io::Result<()> {
        // indicatif also writes blanks, to fill each line up to its end.
        if !line.trim().is_empty() {
            lock(&self.frame).push(line.to_owned());
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let lines = mem::take(&mut *lock(&self.frame));
        self.draw(&lines)
    }
}
