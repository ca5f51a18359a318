//! The last lines of the terminal, in which the progress is drawn.
//!
//! The cursor stays at the start of these lines. indicatif alone leaves it at their end. The `^C`
//! that a terminal shows then begins another line, and a terminal that becomes narrower wraps the
//! lines into more lines than indicatif removes.

use std::{
    io, mem,
    sync::{Mutex, PoisonError},
};

use console::{Term, is_dumb, truncate_str};
use indicatif::{ProgressDrawTarget, TermLike};

/// The maximum frequency at which the progress is drawn, in hertz.
const RATE: u8 = 20;

/// Makes a terminal that has just become narrower truncate the lines. If it wrapped them, the
/// cursor would not return to their start.
const WRAP_OFF: &str = if cfg!(unix) { "\x1b[?7l" } else { "" };
const WRAP_ON: &str = if cfg!(unix) { "\x1b[?7h" } else { "" };

/// Standard error, for a bar of this number of lines.
pub fn target(height: usize) -> ProgressDrawTarget {
    if is_dumb() {
        return ProgressDrawTarget::hidden();
    }
    let live = Live { terminal: Term::buffered_stderr(), height, frame: Mutex::default() };
    ProgressDrawTarget::term_like_with_hz(Box::new(live), RATE)
}

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

    // indicatif moves from where it leaves the cursor to the lines that it clears.

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
        // indicatif fills each line with blanks.
        if !line.trim().is_empty() {
            let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
            frame.push(line.to_owned());
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let lines = mem::take(&mut *self.frame.lock().unwrap_or_else(PoisonError::into_inner));
        self.draw(&lines)
    }
}
