//! Asks the terminal which protocols for pictures it supports.

use std::{os::fd::AsFd, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{read, write},
    process::{Signal, getpgrp, getpid, kill_process},
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};
use tokio::time::Instant;

use super::protocol::Answer;

/// Asks for a picture of one pixel in kitty's protocol, which is not shown, and then for the
/// attributes of the terminal. Every terminal responds to the latter, so that ends the response.
const QUESTION: &[u8] = b"\x1b_Gi=1,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c";

/// How long a terminal may take. One on a busy machine or over a slow connection is waited for,
/// because a shell takes a late response for typed text.
const LIMIT: Duration = Duration::from_secs(5);

/// The byte of Ctrl-C.
const INTERRUPT: u8 = 3;

/// `None` if the terminal can't be asked, or does not respond in time.
pub fn ask(terminal: impl AsFd) -> Option<Answer> {
    // A process in the background would be stopped.
    if tcgetpgrp(&terminal).is_ok_and(|foreground| foreground != getpgrp()) {
        return None;
    }
    let response = {
        let _raw = Raw::enter(&terminal)?;
        // Earlier input belongs to the next program.
        if is_readable(&terminal, Duration::ZERO) {
            return None;
        }
        write(&terminal, QUESTION).ok()?;
        response(&terminal)
    };
    if response.contains(&INTERRUPT) {
        // The terminal is as it was, so the process may end.
        let _ = kill_process(getpid(), Signal::INT);
    }
    parse(&response)
}

/// Reads until the end of the response.
fn response(terminal: impl AsFd) -> Vec<u8> {
    let until = Instant::now() + LIMIT;
    let mut response = Vec::new();
    let mut buffer = [0; 256];
    while parse(&response).is_none() && !response.contains(&INTERRUPT) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_readable(&terminal, left) {
            break;
        }
        match read(&terminal, &mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => response.extend(buffer.iter().take(length)),
        }
    }
    response
}

fn is_readable(terminal: impl AsFd, limit: Duration) -> bool {
    let mut polled = [PollFd::new(&terminal, PollFlags::IN)];
    let limit = Timespec::try_from(limit).ok();
    poll(&mut polled, limit.as_ref()).is_ok_and(|ready| ready > 0)
}

/// Reads a response that has its last part, the attributes: `ESC [ ? 6 2 ; 4 c`, in which 4 means
/// sixel. Typed characters may be between the parts.
fn parse(response: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(response);
    let (before, attributes) = text.split_once("\x1b[?")?;
    let (attributes, _) = attributes.split_once('c')?;
    let kitty = before.split_once("\x1b_G").is_some_and(|(_, said)| said.contains(";OK\x1b"));
    Some(Answer { kitty, sixel: attributes.split(';').any(|attribute| attribute == "4") })
}

/// A terminal that neither shows what it receives nor waits for the end of a line. Dropping it
/// restores the terminal.
struct Raw<'a, T: AsFd> {
    terminal: &'a T,
    before: Termios,
}

impl<'a, T: AsFd> Raw<'a, T> {
    fn enter(terminal: &'a T) -> Option<Self> {
        let before = tcgetattr(terminal).ok()?;
        let mut raw = before.clone();
        // Without signals, because Ctrl-C would end the process before it restores the terminal.
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(terminal, OptionalActions::Now, &raw).ok()?;
        Some(Self { terminal, before })
    }
}

impl<T: AsFd> Drop for Raw<'_, T> {
    fn drop(&mut self) {
        // There is nothing else to try.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_read() {
        let parsed =
            |text: &str| parse(text.as_bytes()).map(|Answer { kitty, sixel }| (kitty, sixel));
        assert_eq!(parsed("\x1b_Gi=1;OK\x1b\\\x1b[?62c"), Some((true, false)));
        assert_eq!(parsed("\x1b_Gi=1;ENOENT:no\x1b\\\x1b[?62;4;22c"), Some((false, true)));
        assert_eq!(parsed("\x1b[?1;2;4c"), Some((false, true)));
        assert_eq!(parsed("\x1b[?64;14;42c"), Some((false, false)));
        assert_eq!(parsed("ls\x1b[?62;4cls"), Some((false, true)));
        assert_eq!(parsed("\x1b_Gi=1;OK\x1b\\\x1b[?62;4"), None);
        assert_eq!(parsed("typed c"), None);
        assert_eq!(parsed(""), None);
    }
}
