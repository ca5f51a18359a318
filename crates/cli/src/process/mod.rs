//! The parts of its process that a command uses: the environment, the working directory, the
//! standard streams, signals, and settings of clients that the user can't set.
//!
//! The rest of the program does not access them directly, so that several commands can run in one
//! process, each with its own surroundings. The only exception is code that draws on a real
//! terminal, or reads from it, after this module has said that a stream is a terminal.

pub(crate) mod interrupt;
pub(crate) mod question;

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use console::Term;

pub(crate) use self::interrupt::Interrupts;
pub(crate) use crate::terminal::lock;
use crate::{
    terminal::{Paint, hidden},
    text::Table,
};
use imagekiln::{ClientBuilder, Error, journal::Directory};

/// Looks up an environment variable.
pub type Variables = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// Opens the journal in a directory.
pub type OpenJournal = Arc<dyn Fn(&Path) -> Result<Directory, Error> + Send + Sync>;

/// Draws a random seed from the range that a model accepts.
pub type DrawSeed = Arc<dyn Fn(RangeInclusive<i64>) -> i64 + Send + Sync>;

/// The surroundings of a command.
#[derive(Clone)]
pub struct Process {
    /// The environment.
    pub variable: Variables,
    /// The working directory of the real process. If it is empty, all paths of the command must be
    /// absolute.
    pub directory: PathBuf,
    /// The home directory of the user.
    pub home: Option<PathBuf>,
    /// The directory of temporary files.
    pub temporary: PathBuf,
    /// Standard input.
    pub stdin: Input,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// Whether this command handles Ctrl-C and SIGTERM.
    pub has_signals: bool,
    /// Changes the settings of each client, for example its clock.
    pub client: Arc<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>,
    /// Opens the history.
    pub journal: OpenJournal,
    /// Draws the seed if the user does not choose one.
    pub seed: DrawSeed,
}

/// A stream that a command reads. All clones read the same stream.
#[derive(Clone)]
pub struct Input {
    reader: Arc<Mutex<dyn Read + Send>>,
    /// Whether the stream is a terminal, so that a person types the input.
    pub is_terminal: bool,
}

/// A stream that a command writes to. All clones write to the same stream.
#[derive(Clone)]
pub struct Stream {
    writer: Arc<Mutex<dyn Write + Send>>,
    /// Whether the stream is a terminal, so that a person reads the output.
    pub is_terminal: bool,
    /// Whether the stream shows colours.
    pub has_colours: bool,
    /// Returns the current width of the terminal, or `None` if the stream is not a terminal.
    pub columns: fn() -> Option<usize>,
}

impl Process {
    /// The real surroundings of this process.
    #[expect(clippy::disallowed_methods, reason = "this is where the process is read")]
    pub(crate) fn current() -> Self {
        use std::{env, io::IsTerminal};

        use anstream::{AutoStream, ColorChoice};

        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        Self {
            variable: Arc::new(|name| env::var_os(name)),
            directory: env::current_dir().unwrap_or_default(),
            home: env::home_dir(),
            temporary: env::temp_dir(),
            stdin: Input { is_terminal: stdin.is_terminal(), ..Input::new(stdin) },
            stdout: Stream {
                is_terminal: stdout.is_terminal(),
                has_colours: AutoStream::choice(&stdout) != ColorChoice::Never,
                columns: || columns(&Term::stdout()),
                ..Stream::new(stdout)
            },
            stderr: Stream {
                is_terminal: stderr.is_terminal(),
                has_colours: AutoStream::choice(&stderr) != ColorChoice::Never,
                columns: || columns(&Term::stderr()),
                ..Stream::new(stderr)
            },
            has_signals: true,
            client: Arc::new(|client| client),
            journal: Arc::new(|path| Directory::open(path)),
            seed: Arc::new(fastrand::i64),
        }
    }

    /// Returns an environment variable, or `None` if it is empty.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// If standard input is a terminal, tells the person what to type, and how to end the input.
    pub(crate) fn note_typing(&self, what: &str) {
        if self.stdin.is_terminal {
            let end = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };
            self.line_on_stderr(&format!("type {what}, and then {end} on an empty line"));
        }
    }

    /// Writes a line to standard error. An error is ignored, because there is no other place to
    /// report it.
    pub(crate) fn line_on_stderr(&self, line: &str) {
        hidden(|| {
            let _ = writeln!(lock(&self.stderr.writer), "{line}");
        });
    }

    /// Writes a line to standard output. Fails if the reader has closed it.
    pub(crate) fn line_on_stdout(&self, text: &str) -> io::Result<()> {
        self.write_on_stdout(&format!("{text}\n"))
    }

    /// Writes a part of a line to standard output. Fails if the reader has closed it.
    pub(crate) fn write_on_stdout(&self, text: &str) -> io::Result<()> {
        let write = || {
            let mut stdout = lock(&self.stdout.writer);
            stdout.write_all(text.as_bytes())?;
            stdout.flush()
        };
        // Hide the spinner only for a terminal. Output to a pipe does not disturb it, and must not
        // hide it for long: the reader of the pipe may block.
        if self.stdout.is_terminal { hidden(write) } else { write() }
    }
}

impl Input {
    /// A stream that is not a terminal.
    pub fn new(reader: impl Read + Send + 'static) -> Self {
        Self { reader: Arc::new(Mutex::new(reader)), is_terminal: false }
    }
}

impl Read for &Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        lock(&self.reader).read(buffer)
    }
}

impl Stream {
    /// A stream that is not a terminal.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        let writer = Arc::new(Mutex::new(writer));
        Self { writer, is_terminal: false, has_colours: false, columns: || None }
    }

    pub(crate) fn paint(&self) -> Paint {
        Paint::new(self.has_colours)
    }

    /// The lines of a table with a heading, for the width and the colours of the stream.
    pub(crate) fn table<const N: usize>(&self, table: &Table<N>) -> String {
        self.paint().table(&table.text((self.columns)()))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.writer).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&self.writer).flush()
    }
}

/// The width of a terminal. `None` if `term` is not a terminal.
fn columns(term: &Term) -> Option<usize> {
    term.size_checked().map(|(_, columns)| columns.into())
}
