//! `--ledger`: the place of the ledger of a batch. Also has the parsers of options whose values are
//! states or models of jobs.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use clap::{
    Arg, Args, Command, ValueHint,
    builder::{PossibleValuesParser, TypedValueParser},
};
use reqwest::Url;

use crate::{
    args::model::model_names, failure::Failure, files::directory, models, process::Process,
};
use imagekiln_batch::{ErrorKind, JobState, Ledger};

/// The name of the ledger in a directory. The leading dot hides the file among the pictures.
const FILE_NAME: &str = ".kiln-batch.db";

/// The suffix of the directory beside a ledger file, in which `--upright` keeps the turned copies
/// of images.
const UPRIGHT: &str = ".upright";

/// The directory in the output in which `--upright` keeps the copies for a ledger in PostgreSQL.
const UPRIGHT_OF_SERVER: &str = ".kiln-batch.upright";

/// The place of a ledger.
#[derive(Clone)]
pub enum Place {
    File(PathBuf),
    /// A URL, whose password is never printed.
    Server(String),
}

/// What a command does with a ledger, which decides how it is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Runs the jobs of the ledger. Creates the ledger if it does not exist.
    Create,
    /// Runs or adopts jobs of an existing ledger. Fails if another process has a ledger file open.
    Run,
    /// Reads or changes the ledger, even while a run has it open.
    ///
    /// If no other process has the file open, this takes over the work of processes that have
    /// ended: the jobs that they were submitting become unknown.
    Manage,
}

/// The id of `--ledger`.
pub const LEDGER: &str = "ledger";

/// The default of `--ledger`, and the default for commands with `--output`, as help describes them.
const HERE: &str = "the working directory";
pub const IN_OUTPUT: &str = "in the directory of --output; required for a bucket";

pub fn help(default: &str) -> String {
    format!(
        "The ledger: a SQLite file, a directory that contains {FILE_NAME}, or a postgres:// URL; \
         PGPASSWORD sets its password [default: {default}]"
    )
}

/// Adds `--ledger` to a command, unless it has one of its own. The default is the ledger in the
/// working directory.
pub fn with_ledger(command: Command) -> Command {
    if command.get_arguments().any(|arg| arg.get_id() == LEDGER) {
        return command;
    }
    let option = Arg::new(LEDGER)
        .long(LEDGER)
        .value_name("PLACE")
        .value_hint(ValueHint::AnyPath)
        .help_heading(None::<&str>)
        .help(help(HERE));
    command.arg(option)
}

/// The output, and the ledger, which is in it by default.
#[derive(Args)]
pub struct Places {
    /// Where to save the pictures: a directory, or the URL of a bucket
    #[arg(long, short, value_name = "DIR-OR-URL", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = None::<&str>)]
    pub output: String,
    #[arg(long, value_name = "PLACE", value_hint = ValueHint::AnyPath)]
    #[arg(help = help(IN_OUTPUT), help_heading = None::<&str>)]
    pub ledger: Option<String>,
}

impl Places {
    /// Returns the given ledger, or else the one in the output directory. Returns `None` if no
    /// ledger is given and the output is a bucket, which cannot contain one.
    pub fn ledger(&self) -> Result<Option<Place>, Failure> {
        let in_output =
            || (!self.output.contains("://")).then(|| Place::in_directory(Path::new(&self.output)));
        Ok(self.ledger.as_deref().map(Place::parse).transpose()?.or_else(in_output))
    }
}

pub fn missing() -> Failure {
    Failure::usage("no ledger given")
        .advise("nothing was sent; pass a file or a postgres:// URL to --ledger")
}

impl Place {
    /// Returns the given ledger, or else the one in the working directory.
    pub fn given(ledger: Option<&str>) -> Result<Self, Failure> {
        ledger.map_or_else(|| Ok(Self::in_directory(Path::new(""))), Self::parse)
    }

    pub fn parse(text: &str) -> Result<Self, Failure> {
        match text.split_once("://").map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => Ok(Self::Server(text.to_owned())),
            // The message does not quote the URL, which may contain a password.
            Some(_) => Err(Failure::usage("the URL of the ledger is not a postgres:// URL")
                .advise("pass a file, a directory, or a postgres:// URL to --ledger")),
            None if Path::new(text).is_dir() => Ok(Self::in_directory(Path::new(text))),
            // The messages of `kiln` quote a path. Connection parameters are none.
            None => match Ledger::check_place(text) {
                Ok(()) => Ok(Self::File(text.into())),
                Err(error) => Err(Failure::usage(error.to_string())),
            },
        }
    }

    fn in_directory(directory: &Path) -> Self {
        Self::File(directory.join(FILE_NAME))
    }

    /// Returns the directory of a ledger file. For a ledger in PostgreSQL, this is the working
    /// directory.
    pub fn directory(&self) -> &Path {
        match self {
            Self::File(path) => directory::parent(path),
            Self::Server(_) => Path::new("."),
        }
    }

    /// Returns the name of that directory, as the title of the batch.
    pub fn title(&self) -> String {
        let directory = fs::canonicalize(self.directory()).ok();
        let name = directory.as_deref().and_then(Path::file_name);
        name.map_or("Batch".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Returns the directory with the turned copies of images that jobs send. For a ledger in
    /// PostgreSQL, this directory is in the output, or in the working directory if the output is a
    /// bucket.
    pub fn upright_copies(&self, output: &str) -> PathBuf {
        match self {
            Self::File(path) => {
                let mut name = path.clone().into_os_string();
                name.push(UPRIGHT);
                name.into()
            }
            Self::Server(_) if output.contains("://") => UPRIGHT_OF_SERVER.into(),
            Self::Server(_) => Path::new(output).join(UPRIGHT_OF_SERVER),
        }
    }

    /// Whether the ledger may exist. Does not connect to a server, so a ledger in PostgreSQL always
    /// may.
    pub fn may_exist(&self) -> bool {
        match self {
            Self::File(path) => path.exists(),
            Self::Server(_) => true,
        }
    }

    pub async fn open(&self, process: &Process, access: Access) -> Result<Ledger, Failure> {
        self.find(process, access).await?.ok_or_else(|| {
            Failure::usage(format!("there is no ledger at {self}"))
                .advise("pass the output directory of a batch, or its ledger, to --ledger")
        })
    }

    /// Opens the ledger read-only, which changes nothing.
    pub async fn read(&self) -> Result<Ledger, Failure> {
        Ok(Ledger::open_read_only(self.path_or_url()?).await?)
    }

    /// Opens the ledger if it exists.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "for PostgreSQL"))]
    pub async fn find(&self, process: &Process, access: Access) -> Result<Option<Ledger>, Failure> {
        let place = self.path_or_url()?;
        if access != Access::Create && self.is_missing().await? {
            return Ok(None);
        }
        let ledger = match access {
            Access::Create | Access::Run => Ledger::open(place).await?,
            Access::Manage => Ledger::open_to_manage(place).await?,
        };
        // The acceptance log keeps accepted tasks on this machine, in case the server loses them.
        // Without a home directory there is no place for the log, so only the server has the tasks.
        #[cfg(feature = "postgres")]
        if let (Self::Server(_), Some(state)) = (self, directory::state(process)) {
            return Ok(Some(ledger.with_acceptance_log(state.join("acceptances")).await?));
        }
        Ok(Some(ledger))
    }

    async fn is_missing(&self) -> Result<bool, Failure> {
        let Self::Server(url) = self else { return Ok(!self.may_exist()) };
        match Ledger::open_read_only(url).await {
            Err(error) if error.kind() == ErrorKind::Missing => Ok(true),
            opened => Ok(opened.map(|_| false)?),
        }
    }

    fn path_or_url(&self) -> Result<&Path, Failure> {
        match self {
            Self::File(path) => Ok(path),
            Self::Server(url) if cfg!(feature = "postgres") => Ok(Path::new(url)),
            Self::Server(_) => {
                Err(Failure::usage("this build of kiln cannot use ledgers in PostgreSQL").advise(
                    "turn on the Cargo feature `postgres` of imagekiln-cli, or pass a file to \
                     --ledger",
                ))
            }
        }
    }
}

/// Prints the place as a value for `--ledger`, without the password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(url) => f.write_str(&without_password(url)),
        }
    }
}

fn without_password(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "postgres://...".to_owned() };
    let query: Vec<_> =
        url.query_pairs().into_owned().filter(|(name, _)| name != "password").collect();
    if query.is_empty() {
        url.set_query(None);
    } else {
        url.query_pairs_mut().clear().extend_pairs(query);
    }
    url.set_fragment(None);
    // Fails only for URLs without a host, which have no password either.
    let _ = url.set_password(None);
    url.into()
}

/// Parses one of these states.
pub fn state(of: &'static [JobState]) -> impl TypedValueParser<Value = JobState> {
    let names = PossibleValuesParser::new(of.iter().map(|state| state.as_str()));
    names.try_map(|name| {
        let found = JobState::ALL.into_iter().find(|state| state.as_str() == name);
        found.ok_or("it is not a state")
    })
}

/// Parses the name, the path or the id of a model. The value is its name, which the ledger stores.
pub fn model() -> impl TypedValueParser<Value = String> {
    model_names(models::models())
        .map(|name| models::find(&name).map_or(name, |model| model.name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_printed() {
        for (url, shown) in [
            ("postgres://ann:SECRET@host:5432/foxes", "postgres://ann@host:5432/foxes"),
            (
                "postgresql://host/foxes?user=ann&password=SECRET&host=%2Ftmp",
                "postgresql://host/foxes?user=ann&host=%2Ftmp",
            ),
            ("postgres://ann:SECRET@ho st/foxes", "postgres://..."),
            ("postgres://ann:SECRET@h/foxes?password=SECRET#SECRET", "postgres://ann@h/foxes"),
        ] {
            assert_eq!(Place::parse(url).map(|place| place.to_string()).unwrap(), shown);
        }
        let failure = Place::parse("mysql://ann:SECRET@host").err().unwrap();
        assert!(!format!("{failure:?}").contains("SECRET"));
    }
}
