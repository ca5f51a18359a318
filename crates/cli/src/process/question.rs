//! Asks questions on the terminal. The answer can be hidden while the person types it.

use std::{
    io::{self, Write},
    thread,
};

use console::Term;
#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;

use super::{Process, interrupt::Interrupts};
use crate::failure::Failure;

/// Whether this command can ask questions: standard input and standard error are terminals.
pub fn can_ask(process: &Process) -> bool {
    process.stdin.is_terminal && process.stderr.is_terminal
}

/// Writes a question to standard error, and reads a line from the terminal. With `is_hidden`, the
/// terminal does not show what the person types. Afterwards it shows typed text again, even if the
/// person pressed Ctrl-C.
pub async fn ask(
    process: &Process,
    interrupts: &Interrupts,
    question: &str,
    is_hidden: bool,
) -> Result<String, Failure> {
    let failed = |error| Failure::file("could not read from the terminal", error);
    let line = {
        #[cfg(unix)]
        let _hidden = is_hidden.then(Hidden::start).transpose().map_err(failed)?;
        let _ = write!(process.stderr.clone(), "{question}: ");
        let (sender, line) = oneshot::channel();
        // A thread of its own, because this one may never end: at its end, the runtime would wait
        // for a thread that it started.
        thread::spawn(move || sender.send(read_line(is_hidden)));
        tokio::select! {
            biased;
            () = interrupts.first() => None,
            line = line => line.ok(),
        }
    };
    line.map_or_else(
        || {
            let _ = writeln!(process.stderr.clone());
            Err(Failure::interrupted_input())
        },
        |line| line.map_err(failed),
    )
}

/// Asks a question that the person answers with yes or no. Enter alone means no.
pub async fn confirm(
    process: &Process,
    interrupts: &Interrupts,
    question: &str,
) -> Result<bool, Failure> {
    let answer = ask(process, interrupts, &format!("{question} [y/N]"), false).await?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Asks whether to make pictures. Fails unless the person says yes.
pub async fn agree(
    process: &Process,
    interrupts: &Interrupts,
    question: &str,
) -> Result<(), Failure> {
    let agrees = confirm(process, interrupts, question).await?;
    if agrees { Ok(()) } else { Err(Failure::not_submitted()) }
}

/// Reads a line from the terminal. On Unix, [`Hidden`] hides the typed text.
#[expect(clippy::disallowed_methods, reason = "the terminal that is standard input")]
fn read_line(is_hidden: bool) -> io::Result<String> {
    if is_hidden && cfg!(not(unix)) {
        return Term::stderr().read_secure_line();
    }
    let mut line = String::new();
    match io::stdin().read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

/// Hides typed text until it is dropped.
#[cfg(unix)]
struct Hidden(Termios);

#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the terminal that is standard input")]
impl Hidden {
    fn start() -> io::Result<Self> {
        let original = tcgetattr(io::stdin())?;
        let mut modes = original.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        // Still show the end of the line, so that the next output begins on a new line.
        modes.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &modes)?;
        Ok(Self(original))
    }
}

#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the terminal that is standard input")]
impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}
