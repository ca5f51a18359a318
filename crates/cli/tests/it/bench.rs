//! A directory, a simulator, and the program running in them.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::Duration,
};

use image::{DynamicImage, ImageFormat};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use imagekiln_simulator::{Config, Simulator, TaskView};
use imagekiln_testbed::picture;

/// Long enough that no task is ready before a test advances the simulator's clock.
pub const AGES: Duration = Duration::from_secs(3600);

/// The variables that the programs keep of our environment: the paths of programs and temporary
/// files. Everything else could change what they print, also on a service for continuous
/// integration.
const KEPT: [&str; 2] = ["PATH", "TMPDIR"];

/// A temporary directory in which the program runs, without the settings of our environment, and
/// two others for its state and its settings.
pub struct Place {
    directory: TempDir,
    state: TempDir,
    config: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let [directory, state, config] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        Self { directory, state, config }
    }

    /// The directory of the history.
    pub fn history(&self) -> PathBuf {
        self.state("history")
    }

    /// A path in the directory of the state.
    pub fn state(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    /// A path in the directory of the settings.
    pub fn config(&self, name: &str) -> PathBuf {
        self.config.path().join(name)
    }

    /// Writes `config.toml`.
    pub fn configure(&self, text: &str) {
        std::fs::write(self.config("config.toml"), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files in the directory, sorted.
    pub fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn kiln<W: Words + ?Sized>(&self, words: &W) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_kiln"));
        command.args(words.words());
        command
    }

    /// Another program in the same directory and environment.
    #[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear();
        command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command.env("TERM", "xterm-256color");
        command.env("KILN_STATE_DIR", self.state.path());
        command.env("KILN_CONFIG_DIR", self.config.path());
        command
    }

    pub fn run<W: Words + ?Sized>(&self, words: &W) -> Outcome {
        Outcome::of_run(&mut self.kiln(words))
    }

    /// Runs the program with these variables in its environment.
    pub fn run_with<W: Words + ?Sized>(&self, variables: &[(&str, &str)], words: &W) -> Outcome {
        Outcome::of_run(self.kiln(words).envs(variables.iter().copied()))
    }

    /// Runs the program with this standard input.
    pub fn run_with_stdin<W: Words + ?Sized>(&self, words: &W, input: &[u8]) -> Outcome {
        with_stdin(&mut self.kiln(words), input)
    }

    /// A shell script in which `kiln` is the program.
    #[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
    pub fn shell_command(&self, line: &str) -> Command {
        let mut command = self.command("sh");
        let program = PathBuf::from(env!("CARGO_BIN_EXE_kiln"));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        command.args(["-euc", line]);
        command
    }
}

/// The words of a command line.
pub trait Words {
    fn words(&self) -> Vec<&str>;
}

/// As a person types them. Words with spaces are in single quotes.
impl Words for str {
    fn words(&self) -> Vec<&str> {
        let parts = self.split('\'').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        words.collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl Words for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const COUNT: usize> Words for [&str; COUNT] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

/// Runs a command with this standard input.
fn with_stdin(command: &mut Command, input: &[u8]) -> Outcome {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    // The pipe is closed if the program ends before it reads.
    let _ = child.stdin.take().unwrap().write_all(input);
    Outcome::of(child.wait_with_output().unwrap())
}

/// A directory whose environment points to a simulator.
pub struct Bench {
    pub place: Place,
    pub simulator: Simulator,
    _runtime: Runtime,
}

impl Bench {
    /// Tasks are ready at once.
    pub fn new() -> Self {
        Self::ready_after(Duration::ZERO)
    }

    pub fn ready_after(ready_after: Duration) -> Self {
        Self::with(Config { ready_after, ..Config::default() })
    }

    pub fn with(config: Config) -> Self {
        let runtime = Runtime::new().unwrap();
        let simulator = runtime.block_on(Simulator::start(config)).unwrap();
        Self { place: Place::new(), simulator, _runtime: runtime }
    }

    pub fn kiln<W: Words + ?Sized>(&self, words: &W) -> Command {
        let mut command = self.place.kiln(words);
        self.point(&mut command);
        command
    }

    /// Gives a command the settings of the simulator.
    pub fn point(&self, command: &mut Command) {
        command
            .env("IMAGEKILN_API_KEY", self.simulator.api_key())
            .env("IMAGEKILN_BASE_URL", self.simulator.base_url())
            .env("IMAGEKILN_REGIONAL_BASE_URL", self.simulator.regional_base_url());
    }

    pub fn run<W: Words + ?Sized>(&self, words: &W) -> Outcome {
        Outcome::of_run(&mut self.kiln(words))
    }

    /// Runs the program with these variables in its environment.
    pub fn run_with<W: Words + ?Sized>(&self, variables: &[(&str, &str)], words: &W) -> Outcome {
        Outcome::of_run(self.kiln(words).envs(variables.iter().copied()))
    }

    /// Runs the program with this standard input.
    pub fn run_with_stdin<W: Words + ?Sized>(&self, words: &W, input: &[u8]) -> Outcome {
        with_stdin(&mut self.kiln(words), input)
    }

    /// Runs a shell script in which `kiln` is the program.
    pub fn shell(&self, line: &str) -> Outcome {
        Outcome::of_run(&mut self.shell_command(line))
    }

    pub fn shell_command(&self, line: &str) -> Command {
        let mut command = self.place.shell_command(line);
        self.point(&mut command);
        command
    }

    /// The last task that the simulator accepted.
    pub fn last_task(&self) -> TaskView {
        let tasks = self.simulator.tasks();
        tasks.into_iter().max_by_key(|task| task.accepted_at).expect("no task was accepted")
    }

    /// The body of the last request that the simulator accepted.
    pub fn last_request(&self) -> Value {
        self.last_task().request
    }
}

/// The end of a process.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Outcome {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the process was killed by a signal"),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command to its end.
    pub fn of_run(command: &mut Command) -> Self {
        Self::of(command.output().unwrap())
    }

    /// Asserts success.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn fails(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.stderr, self.text());
        self
    }

    /// Asserts that standard error has this text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no `{text}` in: {}", self.stderr);
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Standard output as JSON, one value per line.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        json_lines(&self.text())
    }

    /// Standard error as JSON, one object per line.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        json_lines(&self.stderr)
    }

    /// The last event, which is the error if there was one.
    #[track_caller]
    pub fn error(&self) -> Value {
        self.events().pop().expect("no event")
    }
}

#[track_caller]
fn json_lines(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

/// These words, and those that make a picture small.
pub fn small<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [words, &["--width", "64", "--height", "64"]].concat()
}

/// The words that generate a small fox, and more.
pub fn fox<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let fox = ["generate", "a fox", "--width", "64", "--height", "64"];
    [&fox, more].concat()
}

/// An encoded image of this size.
pub fn encoded(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
    picture::encoded(picture::gradient(width, height), format)
}

/// A gray PNG, which may be a mask.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let gradient = DynamicImage::from(picture::gradient(width, height));
    picture::encoded(gradient.into_luma8(), ImageFormat::Png)
}

/// The format of a picture, detected independently of the program.
pub fn kind_of(bytes: &[u8]) -> ImageFormat {
    image::guess_format(bytes).unwrap()
}

/// Asserts a snapshot in which ports, task ids and the program's path are replaced.
#[macro_export]
macro_rules! assert_shown {
    ($name:expr, $text:expr) => {{
        let text = $text.replace(env!("CARGO_BIN_EXE_kiln"), "kiln");
        insta::with_settings!({
            omit_expression => true,
            filters => vec![
                // The last status depends on the machine's speed.
                (r"is still `\w+`", "is still `STATUS`"),
                // How many pauses share a line is random.
                (r"the (service is unreachable|download failed); attempt \d of \d in \d s\n", ""),
                (r"credits, \d+\.\d s", "credits, SECONDS s"),
                (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
                (r"127\.0\.0\.1, port \d+", "127.0.0.1, port PORT"),
                (r"\(os error \d+\)", "(os error N)"),
                (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "TASK-ID"),
            ],
        }, { insta::assert_snapshot!($name, text) });
    }};
}
