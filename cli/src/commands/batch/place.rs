//! `--ledger`: the place of the ledger of a batch.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, ValueHint};
use reqwest::Url;

#[cfg(feature = "postgres")]
use crate::files::directory;
use crate::{failure::Failure, process::Process};
use imagekiln_batch::{Error, ErrorKind, Ledger};

/// The name of the ledger in a directory. It is hidden, because the directory contains pictures.
const FILE_NAME: &str = ".kiln-batch.db";

/// The place of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    File(PathBuf),
    Server(ServerUrl),
}

/// A URL that may contain a password, which is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

pub fn arg(default: &str) -> Arg {
    Arg::new("ledger")
        .long("ledger")
        .value_name("PLACE")
        .value_hint(ValueHint::AnyPath)
        .help_heading("Ledger")
        .help(format!(
            "The ledger: a SQLite file, a directory that contains {FILE_NAME}, or a postgres:// \
             URL; PGPASSWORD sets its password [default: {default}]"
        ))
}

/// The default of `--ledger` for commands with `--output`.
pub const IN_OUTPUT: &str = "in the directory of --output; required for a bucket";

/// `--output`.
pub fn output_arg(help: &'static str) -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("DIR-OR-URL")
        .value_hint(ValueHint::DirPath)
        .required(true)
        .help(help)
        .help_heading("Output")
}

/// The place that `--ledger` names, or the one in the directory of the output.
pub fn given_or_in(matches: &ArgMatches, output: &str) -> Result<Option<Place>, Failure> {
    let in_output = || (!output.contains("://")).then(|| Place::in_directory(Path::new(output)));
    Ok(given(matches)?.or_else(in_output))
}

pub fn missing() -> Failure {
    Failure::usage("no ledger given")
        .advise("nothing was sent; pass a file or a postgres:// URL to --ledger")
}

/// The place that `--ledger` names.
pub fn given(matches: &ArgMatches) -> Result<Option<Place>, Failure> {
    matches.get_one::<String>("ledger").map(|text| Place::parse(text)).transpose()
}

/// Opens the ledger that `--ledger` names, or the one in the working directory, to change it, even
/// while a run has opened it. It must exist.
pub async fn open(process: &Process, matches: &ArgMatches) -> Result<(Place, Ledger), Failure> {
    let place = given_or_here(matches)?;
    let ledger = match &place {
        Place::File(path) if path.exists() => Some(Ledger::open_to_manage(path).await?),
        place => place.open_existing(process).await?,
    };
    existing(place, ledger)
}

/// Opens the same ledger read-only, even while a run has opened it.
pub async fn open_to_read(
    process: &Process,
    matches: &ArgMatches,
) -> Result<(Place, Ledger), Failure> {
    let place = given_or_here(matches)?;
    let ledger = place.open_to_read(process).await?;
    existing(place, ledger)
}

fn given_or_here(matches: &ArgMatches) -> Result<Place, Failure> {
    Ok(given(matches)?.unwrap_or_else(|| Place::in_directory(Path::new(""))))
}

pub fn existing(place: Place, ledger: Option<Ledger>) -> Result<(Place, Ledger), Failure> {
    match ledger {
        Some(ledger) => Ok((place, ledger)),
        None => Err(Failure::usage(format!("there is no ledger at {place}"))
            .advise("pass the output directory of a batch, or its ledger, to --ledger")),
    }
}

impl Place {
    fn parse(text: &str) -> Result<Self, Failure> {
        match text.split_once("://").map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => Ok(Self::Server(ServerUrl(text.to_owned()))),
            // The URL is not printed, because it may contain a password.
            Some(_) => Err(Failure::usage("the URL of the ledger is not a postgres:// URL")
                .advise("pass a file, a directory, or a postgres:// URL to --ledger")),
            None if Path::new(text).is_dir() => Ok(Self::in_directory(Path::new(text))),
            None => Ok(Self::File(text.into())),
        }
    }

    pub fn in_directory(directory: &Path) -> Self {
        Self::File(directory.join(FILE_NAME))
    }

    /// The directory of the ledger, or the working directory.
    pub fn directory(&self) -> &Path {
        match self {
            Self::File(path) => path.parent().filter(|parent| *parent != Path::new("")),
            Self::Server(_) => None,
        }
        .unwrap_or(Path::new("."))
    }

    /// Whether the ledger exists, as far as the name tells.
    pub fn may_exist(&self) -> bool {
        match self {
            Self::File(path) => path.exists(),
            Self::Server(_) => true,
        }
    }

    /// Opens the ledger, or creates it.
    pub async fn open(&self, process: &Process) -> Result<Ledger, Failure> {
        match self {
            Self::File(path) => Ok(Ledger::open(path).await?),
            Self::Server(url) => connect(process, &url.0).await,
        }
    }

    /// Opens the ledger if it exists.
    pub async fn open_existing(&self, process: &Process) -> Result<Option<Ledger>, Failure> {
        let exists = match self {
            Self::File(path) => path.exists(),
            Self::Server(url) => connect_read_only(&url.0).await?.is_some(),
        };
        if exists { self.open(process).await.map(Some) } else { Ok(None) }
    }

    /// Opens the ledger to read it, if it exists.
    ///
    /// If no process has opened the file, this opens it to write: jobs that an earlier process was
    /// submitting when it ended become unknown.
    pub async fn open_to_read(&self, process: &Process) -> Result<Option<Ledger>, Failure> {
        match self {
            Self::File(path) if path.exists() => match Ledger::open(path).await {
                Err(error) if error.kind() == ErrorKind::Locked => {
                    found(Ledger::open_read_only(path).await)
                }
                opened => Ok(Some(opened?)),
            },
            Self::File(_) => Ok(None),
            Self::Server(_) => self.open_existing(process).await,
        }
    }
}

/// The value for `--ledger`, without the password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(mut url) = Url::parse(&self.0) else { return f.write_str("postgres://...") };
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
        f.write_str(url.as_str())
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "postgres")]
async fn connect(process: &Process, url: &str) -> Result<Ledger, Failure> {
    let ledger = Ledger::connect(url).await?;
    // Without a home directory, only the server has the tasks.
    match directory::state(process) {
        Some(state) => Ok(ledger.with_acceptance_log(state.join("acceptances")).await?),
        None => Ok(ledger),
    }
}

#[cfg(feature = "postgres")]
async fn connect_read_only(url: &str) -> Result<Option<Ledger>, Failure> {
    found(Ledger::connect_read_only(url).await)
}

#[cfg(not(feature = "postgres"))]
async fn connect(_: &Process, _: &str) -> Result<Ledger, Failure> {
    Err(without_postgres())
}

#[cfg(not(feature = "postgres"))]
async fn connect_read_only(_: &str) -> Result<Option<Ledger>, Failure> {
    Err(without_postgres())
}

#[cfg(not(feature = "postgres"))]
fn without_postgres() -> Failure {
    Failure::usage("this build of kiln cannot use ledgers in PostgreSQL")
        .advise("turn on the Cargo feature `postgres` of imagekiln-cli, or pass a file to --ledger")
}

fn found(ledger: Result<Ledger, Error>) -> Result<Option<Ledger>, Failure> {
    match ledger {
        Err(error) if error.kind() == ErrorKind::Missing => Ok(None),
        opened => Ok(Some(opened?)),
    }
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
            let place = Place::parse(url).unwrap();
            assert_eq!(place.to_string(), shown);
            assert!(!format!("{place:?}").contains("SECRET"));
        }
        let failure = Place::parse("mysql://ann:SECRET@host").unwrap_err();
        assert!(!format!("{failure:?}").contains("SECRET"));
    }

    #[test]
    fn a_directory_contains_its_ledger() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let ledger = directory.path().join(FILE_NAME);
        assert_eq!(Place::parse(path).unwrap(), Place::File(ledger));
        assert_eq!(Place::parse("a.db").unwrap(), Place::File("a.db".into()));
    }
}
