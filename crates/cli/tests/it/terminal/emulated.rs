//! A program on a pseudo-terminal, and the screen of a terminal emulator.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::AsFd as _,
    process::{Child, Command, Stdio},
    str,
    sync::mpsc,
    thread,
    time::Duration,
};

use avt::Pen;
use pty_process::{
    Size,
    blocking::{self, Pty},
};
use rustix::termios::{LocalModes, tcgetattr};
use tokio::time::Instant;

use crate::bench::Outcome;

/// A test fails if the screen does not show what it waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the program, and reports its exit code between two marks. Linux discards what is on its way
/// to a terminal if the first process of its session ends, so this one ends after the test has read
/// everything.
const LEADER: &str = r#"trap : INT; "$@"; printf '\001%d\001' $? > /dev/tty; read _ < /dev/tty"#;
const MARK: u8 = 1;

/// The size of the terminal, and which stream does not go to it.
pub struct Setup {
    pub columns: u16,
    pub rows: u16,
    pub piped: Piped,
}

impl Default for Setup {
    fn default() -> Self {
        Self { columns: 80, rows: 24, piped: Piped::Nothing }
    }
}

/// The stream that is a pipe, as in `kiln ... | less`. The others are the terminal.
#[derive(Clone, Copy, PartialEq)]
pub enum Piped {
    Nothing,
    Stdout,
    Stderr,
}

/// A program that runs in the foreground of a terminal, so a typed Ctrl-C interrupts it.
pub struct Terminal {
    pty: Pty,
    leader: Child,
    output: mpsc::Receiver<Vec<u8>>,
    /// The beginning of a character, or of the exit code.
    incomplete: Vec<u8>,
    code: Option<i32>,
    raw: String,
    emulator: avt::Terminal,
}

impl Terminal {
    pub fn start(command: Command) -> Self {
        Self::start_with(command, Setup::default())
    }

    pub fn start_with(command: Command, setup: Setup) -> Self {
        let (pty, pts) = blocking::open().unwrap();
        pty.resize(Size::new(setup.rows, setup.columns)).unwrap();
        let command = blocking::Command::from(led(&command));
        let command = match setup.piped {
            Piped::Nothing => command,
            Piped::Stdout => command.stdout(Stdio::piped()),
            Piped::Stderr => command.stderr(Stdio::piped()),
        };
        // Closes our end of the terminal, so that reading ends with the program.
        let leader = command.spawn(pts).unwrap();
        let output = read_from(File::from(pty.as_fd().try_clone_to_owned().unwrap()));
        let (columns, rows) = (setup.columns.into(), setup.rows.into());
        let emulator = avt::Terminal::with_scrollback(columns, rows, None).unwrap();
        let (incomplete, raw) = (Vec::new(), String::new());
        Self { pty, leader, output, incomplete, code: None, raw, emulator }
    }

    /// Types a text. Enter is `\r`.
    pub fn press(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).unwrap();
    }

    /// Types Ctrl-C.
    pub fn interrupt(&mut self) {
        self.press("\x03");
    }

    /// Changes the size of the terminal, which tells the program.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        while let Ok(bytes) = self.output.try_recv() {
            self.show(bytes);
        }
        self.emulator.resize(columns.into(), rows.into());
        self.pty.resize(Size::new(rows, columns)).unwrap();
    }

    /// Waits until the terminal shows this text.
    #[track_caller]
    pub fn until(&mut self, text: &str) {
        self.until_it(text, |terminal| terminal.text().contains(text));
    }

    /// Waits until this is true of the terminal. It is asked each time the program has written.
    #[track_caller]
    pub fn until_it(&mut self, name: &str, is_true: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_true(self) {
            assert_eq!(self.code, None, "ended without `{name}`: {}", self.screen());
            self.read(deadline, name);
        }
    }

    /// Waits until the program has ended. Afterwards, the terminal shows what is left.
    #[track_caller]
    pub fn end(&mut self) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        let code = loop {
            match self.code {
                Some(code) => break code,
                None => self.read(deadline, "the end"),
            }
        };
        // Closes the pipes. The terminal stays as the program left it, if there are none.
        if self.leader.stdout.is_some() || self.leader.stderr.is_some() {
            self.leader.kill().unwrap();
        }
        let (mut stdout, mut stderr) = (Vec::new(), String::new());
        if let Some(mut pipe) = self.leader.stdout.take() {
            pipe.read_to_end(&mut stdout).unwrap();
        }
        if let Some(mut pipe) = self.leader.stderr.take() {
            pipe.read_to_string(&mut stderr).unwrap();
        }
        Outcome { code, stdout, stderr }
    }

    /// Shows what the program wrote next.
    #[track_caller]
    fn read(&mut self, deadline: Instant, name: &str) {
        match self.output.recv_timeout(deadline.duration_since(Instant::now())) {
            Ok(bytes) => self.show(bytes),
            Err(error) => panic!("waiting for `{name}`: {error}: {}", self.screen()),
        }
    }

    /// The rows of the screen and those above it, as a person sees them.
    pub fn screen(&self) -> String {
        let rows = self.emulator.screen().all_lines().map(|row| row.text());
        joined(rows.collect())
    }

    /// Like [`screen`](Self::screen), but rows that continue the one above are joined to it, and
    /// without `^C`. The terminal shows `^C` after it has sent the signal, so the program may have
    /// removed its last lines already.
    pub fn text(&self) -> String {
        joined(self.emulator.screen().text()).replace("^C", "")
    }

    /// The colours and the weight of the first occurrence of this text on the terminal.
    #[track_caller]
    pub fn pen(&self, text: &str) -> Pen {
        let mut rows = self.emulator.screen().all_lines();
        let found = rows.find_map(|row| {
            let (before, _) = row.text().split_once(text).map(|(a, b)| (a.to_owned(), b.len()))?;
            // A wide character has a second cell, which has no character.
            row.cells().iter().filter(|cell| cell.width() > 0).nth(before.chars().count()).cloned()
        });
        *found.unwrap_or_else(|| panic!("no `{text}`: {}", self.screen())).pen()
    }

    /// Everything that the program wrote to the terminal, with its control sequences.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    pub fn shows_cursor(&self) -> bool {
        self.emulator.cursor().visible
    }

    /// The row and the column of the cursor, from 0. The row is one of [`screen`](Self::screen).
    pub fn cursor(&self) -> (usize, usize) {
        let (_, rows) = self.emulator.size();
        let above = self.emulator.screen().all_lines().count() - rows;
        (above + self.emulator.cursor().row, self.emulator.cursor().col)
    }

    /// Whether the terminal shows what is typed.
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.pty).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    fn show(&mut self, bytes: Vec<u8>) {
        self.incomplete.extend(bytes);
        let mut parts = self.incomplete.split(|byte| *byte == MARK);
        let text = parts.next().unwrap_or_default();
        // The exit code is complete if it is followed by another part.
        if let (Some(code), Some(_)) = (parts.next(), parts.next()) {
            self.code = Some(str::from_utf8(code).unwrap().parse().unwrap());
        }
        let complete = match str::from_utf8(text) {
            Ok(text) => text.len(),
            Err(error) => {
                assert_eq!(error.error_len(), None, "not UTF-8: {:?}", self.incomplete);
                error.valid_up_to()
            }
        };
        let text = String::from_utf8(self.incomplete.drain(..complete).collect()).unwrap();
        self.emulator.feed(text.as_str());
        self.raw.push_str(&text);
    }
}

impl Drop for Terminal {
    /// Ends the program if the test failed.
    fn drop(&mut self) {
        let _ = self.leader.kill();
        let _ = self.leader.wait();
    }
}

/// A shell that runs this command. A command of the bench names its whole environment.
fn led(command: &Command) -> Command {
    let mut leader = Command::new("env");
    // If SIGINT was ignored when the tests started, a shell can't change that for the program.
    if cfg!(target_os = "linux") {
        leader.arg("--default-signal=INT");
    }
    leader.args(["sh", "-c", LEADER, "sh"]).arg(command.get_program()).args(command.get_args());
    leader.env_clear();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => leader.env(name, value),
            None => leader.env_remove(name),
        };
    }
    command.get_current_dir().map(|directory| leader.current_dir(directory));
    leader
}

/// Reads in a separate thread, so that a test can wait with a limit.
fn read_from(mut pty: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, output) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        // Linux reports the end as an error.
        while let Ok(read @ 1..) = pty.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    output
}

/// Joins rows without the blank space after and below the text.
fn joined(rows: Vec<String>) -> String {
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    rows.join("\n").trim_end().to_owned()
}
