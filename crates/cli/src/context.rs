//! The context in which a command runs: its options, the settings, the output, and its deadline.

use std::{ffi::OsString, future, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    args::options::{Globals, Shared},
    failure::{Exit, Failure, Remedy},
    files::{directory, target::Target},
    history::{Entry, History, Kept},
    output::{Output, reference_json},
    process::Process,
    settings::{Settings, flag, names::Name},
    text::{one_line, quoted},
};
use imagekiln::{Error, ErrorKind, TaskRef, WaitOptions};

/// The value 1 has the effect of `--no-history`.
const NO_HISTORY_VARIABLE: &str = "KILN_NO_HISTORY";

/// How long a command without a deadline waits for each of its tasks.
const FOR_A_TASK: Duration = Duration::from_secs(600);

#[derive(Clone)]
pub struct Context {
    pub globals: Globals,
    pub shared: Shared,
    pub output: Output,
    pub settings: Settings,
    started: Instant,
    /// The name by which the user called this program, for the commands that messages suggest.
    program: String,
}

impl Context {
    pub fn new(
        process: Arc<Process>,
        (globals, shared): (Globals, Shared),
        settings: Settings,
        program: Option<&OsString>,
    ) -> Self {
        let output = Output::new(process, globals.json, globals.quiet, globals.verbose);
        let program =
            program.map_or("kiln".to_owned(), |program| program.to_string_lossy().into_owned());
        Self { globals, shared, output, settings, started: Instant::now(), program }
    }

    pub fn process(&self) -> &Arc<Process> {
        &self.output.process
    }

    /// Returns the same context without spinners, for a command that waits for several tasks at
    /// once.
    pub fn without_spinner(&self) -> Self {
        let mut context = self.clone();
        context.output.spins = false;
        context
    }

    /// Returns how long the command may take, if a flag or a setting limits it.
    fn deadline(&self) -> Option<Duration> {
        self.shared.deadline.or_else(|| self.settings.deadline())
    }

    /// Returns the time that is left for a submission or for a task. Without a deadline, each has
    /// the full [`FOR_A_TASK`].
    pub fn left(&self) -> Duration {
        let left = |deadline: Duration| deadline.saturating_sub(self.started.elapsed());
        self.deadline().map_or(FOR_A_TASK, left)
    }

    /// Returns when the deadline of the command has passed. Never returns if it has none.
    pub async fn deadline_passed(&self) {
        match self.deadline().and_then(|deadline| self.started.checked_add(deadline)) {
            Some(end) => sleep_until(end).await,
            None => future::pending().await,
        }
    }

    /// Waits for a request about a task, such as a poll. Fails at the deadline of the command.
    pub async fn within<T>(
        &self,
        task: &TaskRef,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            outcome = request => Ok(outcome?),
            () = self.deadline_passed() => {
                let failure = self.late(task, "no response", None);
                Err(failure.advise("nothing was changed; run the command again"))
            }
        }
    }

    pub fn wait_options(&self) -> WaitOptions {
        WaitOptions::default().deadline(self.left())
    }

    /// Returns the failure of a command that has reached its deadline. `state` says what is known
    /// about the task.
    pub fn late(&self, task: &TaskRef, state: &str, error: Option<&Error>) -> Failure {
        let seconds = self.deadline().unwrap_or(FOR_A_TASK).as_secs_f64();
        let id = one_line(task.id());
        let mut failure = error.map_or_else(|| Failure::late(task), Failure::from);
        failure.message = format!("the deadline of {seconds} s passed: {state} (task {id})");
        failure.advise("the task continues")
    }

    /// Returns the hosts that the flags allow. Without flags, those of the settings.
    pub fn hosts(&self, flags: &[String], name: &Name) -> Vec<String> {
        if flags.is_empty() { self.settings.list(name) } else { flags.to_vec() }
    }

    /// Opens the history for these submissions. Returns `None` if the command does not write to the
    /// history.
    pub fn history(&self, kept: Vec<Kept>) -> Result<Option<History>, Failure> {
        Ok(if self.records()? { Some(History::open(&self.output, kept)?) } else { None })
    }

    /// Whether this command writes to the history. With `--simulate` it does not, because the tasks
    /// end with the command, so no later command could continue them.
    pub fn records(&self) -> Result<bool, Failure> {
        let off = flag(self.process(), NO_HISTORY_VARIABLE)?;
        Ok(!off && !self.shared.no_history && !self.shared.simulate)
    }

    /// Adds to a failure the command that resumes its task. `target` is the target of the picture,
    /// and its options are a part of that command unless the history has the same target.
    pub fn with_resume_command(
        &self,
        mut failure: Failure,
        target: Option<&Target>,
        entry: Option<&Entry>,
    ) -> Failure {
        let entry = entry.filter(|entry| entry.record.task().is_some());
        let is_not_found = failure.is(ErrorKind::TaskNotFound);
        // If the service does not find an id that is not in the history either, the user may have
        // misspelled it, so there is nothing to resume.
        if !failure.leaves_a_picture_to_fetch() || is_not_found && entry.is_none() {
            return failure;
        }
        let Some(task) = failure.task.as_ref() else { return failure };
        if self.shared.simulate {
            return failure.advise("the task disappeared with the in-process simulator");
        }
        failure.resume_command = Some(self.resume_command(&failure, task, target, entry));
        // The picture is paid for, and running the same command again would pay for another one.
        // The exit code therefore says to continue, unless it is more specific.
        let keeps_its_code = is_not_found || failure.is(ErrorKind::Usage);
        if failure.exit != Exit::Interrupted && !keeps_its_code {
            failure.exit = Exit::Continues;
        }
        failure.number = entry.map(|entry| entry.number);
        if let Some(number) = failure.number.filter(|_| is_not_found) {
            return failure.advise(format!(
                "the service may find it later; `kiln task dismiss @{number}` gives it up"
            ));
        }
        if let Some(path) = &failure.kept {
            let kept = format!("what arrived is in {}", path.display());
            return failure.advise(match entry {
                Some(Entry { number, .. }) => format!(
                    "{kept}; `kiln task save @{number} --damaged` accepts it, and `kiln task \
                     dismiss @{number}` gives the picture up"
                ),
                None => kept,
            });
        }
        failure.remedy.and_then(Remedy::advice).into_iter().fold(failure, Failure::advise)
    }

    fn resume_command(
        &self,
        failure: &Failure,
        task: &TaskRef,
        target: Option<&Target>,
        entry: Option<&Entry>,
    ) -> String {
        let reference = match entry {
            Some(entry) => format!("@{}", entry.number),
            None => short_reference(task, task.submission()),
        };
        let directory = &self.process().directory;
        let is_known = |target: &&Target| {
            entry.is_some_and(|entry| entry.kept.destination.is_for(target, directory))
        };
        let options = target.filter(|target| !is_known(target)).map(Target::words);
        let options = options.unwrap_or_default();
        let options = match failure.remedy {
            Some(remedy) => remedied(remedy, options, self.process()),
            None => options,
        };
        let words = ["task", "save", &reference].into_iter();
        self.command_line(words.chain(options.iter().map(String::as_str)).collect())
    }

    /// Returns the command that waits for a task that is not in the history, and saves its picture.
    pub fn save_command(&self, task: &TaskRef) -> String {
        self.command_line(vec!["task", "save", &short_reference(task, None)])
    }

    /// Returns a command line for a message: the program, the words, and the global options that
    /// the new command needs, too, quoted for a POSIX shell.
    pub fn command_line<'a>(&'a self, mut words: Vec<&'a str>) -> String {
        if let Some(profile) = &self.globals.profile {
            words.extend(["--profile", profile]);
        }
        for host in &self.shared.allow_polling_host {
            words.extend(["--allow-polling-host", host]);
        }
        for host in &self.shared.allow_delivery_host {
            words.extend(["--allow-delivery-host", host]);
        }
        if self.shared.simulate {
            words.push("--simulate");
        }
        words.insert(0, &self.program);
        words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the options with which `kiln task save` can save the picture. `target` has the output
/// options with which saving failed, or nothing if the history has the same target.
fn remedied(remedy: Remedy, target: Vec<String>, process: &Process) -> Vec<String> {
    const MKDIR: &str = "--mkdir";
    match remedy {
        Remedy::Mkdir if !target.iter().any(|word| word == MKDIR) => {
            [target, vec![MKDIR.into()]].concat()
        }
        Remedy::Mkdir | Remedy::Space => target,
        Remedy::Elsewhere => match directory::writable(process) {
            Some(directory) => vec!["--output".into(), directory],
            None => target,
        },
    }
}

/// Returns the parts of a reference that are enough to resume the task, and short enough for a
/// command line.
fn short_reference(task: &TaskRef, submission: Option<&str>) -> String {
    let operation = task.operation().map(str::to_owned);
    let short = TaskRef::new(task.id(), task.polling_url().clone(), operation);
    reference_json(&submission.into_iter().fold(short, TaskRef::of_submission)).to_string()
}
