//! `--ledger`: the place of the ledger of a batch.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use clap::{Args, ValueHint};
use reqwest::Url;

#[cfg(feature = "postgres")]
use crate::files::directory;
use crate::{context::Context, failure::Failure, process::Process};
use imagekiln_batch::Ledger;

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

/// What a command does with a ledger.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Runs its jobs, and creates it if it does not exist.
    Create,
    /// Changes its jobs while no run has opened it.
    Run,
    /// Changes it, even while a run has opened it.
    Manage,
    /// Reads it, even while a run has opened it.
    ///
    /// If no process has opened the file, this opens it to write: jobs that an earlier process was
    /// submitting when it ended become unknown.
    Read,
}

#[derive(Args)]
pub struct LedgerOption {
    #[arg(long, value_name = "PLACE", value_hint = ValueHint::AnyPath, help = help(HERE))]
    #[arg(help_heading = "Ledger")]
    ledger: Option<String>,
}

/// The default of `--ledger`, and that of commands with `--output`.
const HERE: &str = "the working directory";
pub const IN_OUTPUT: &str = "in the directory of --output; required for a bucket";

pub fn help(default: &str) -> String {
    format!(
        "The ledger: a SQLite file, a directory that contains {FILE_NAME}, or a postgres:// URL; \
         PGPASSWORD sets its password [default: {default}]"
    )
}

impl LedgerOption {
    /// The given place, or the one in the working directory.
    pub fn place(&self) -> Result<Place, Failure> {
        let given = self.ledger.as_deref().map(Place::parse).transpose()?;
        Ok(given.unwrap_or_else(|| Place::in_directory(Path::new(""))))
    }

    /// Opens the ledger at this place. It must exist.
    pub async fn open(&self, context: &Context, access: Access) -> Result<Ledger, Failure> {
        self.place()?.open(context.process(), access).await
    }
}

/// The given place, or the one in the directory of the output, if that is not a bucket.
pub fn given_or_in(ledger: Option<&str>, output: &str) -> Result<Option<Place>, Failure> {
    let in_output = || (!output.contains("://")).then(|| Place::in_directory(Path::new(output)));
    Ok(ledger.map(Place::parse).transpose()?.or_else(in_output))
}

pub fn missing() -> Failure {
    Failure::usage("no ledger given")
        .advise("nothing was sent; pass a file or a postgres:// URL to --ledger")
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

    fn in_directory(directory: &Path) -> Self {
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

    pub async fn open(&self, process: &Process, access: Access) -> Result<Ledger, Failure> {
        self.find(process, access).await?.ok_or_else(|| {
            Failure::usage(format!("there is no ledger at {self}"))
                .advise("pass the output directory of a batch, or its ledger, to --ledger")
        })
    }

    /// Opens the ledger if it exists.
    pub async fn find(&self, process: &Process, access: Access) -> Result<Option<Ledger>, Failure> {
        let path = match self {
            Self::File(path) if access == Access::Create || path.exists() => path,
            Self::File(_) => return Ok(None),
            Self::Server(url) => return connect(process, &url.0, access).await,
        };
        let opened = match access {
            Access::Create | Access::Run => Ledger::open(path).await,
            Access::Manage | Access::Read => Ledger::open_to_manage(path).await,
        };
        Ok(Some(opened?))
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
async fn connect(process: &Process, url: &str, access: Access) -> Result<Option<Ledger>, Failure> {
    if access != Access::Create
        && let Err(error) = Ledger::connect_read_only(url).await
    {
        let is_missing = error.kind() == ErrorKind::Missing;
        return if is_missing { Ok(None) } else { Err(error.into()) };
    }
    let ledger = Ledger::connect(url).await?;
    // Without a home directory, only the server has the tasks.
    Ok(Some(match directory::state(process) {
        Some(state) => ledger.with_acceptance_log(state.join("acceptances")).await?,
        None => ledger,
    }))
}

#[cfg(not(feature = "postgres"))]
async fn connect(_: &Process, _: &str, _: Access) -> Result<Option<Ledger>, Failure> {
    Err(Failure::usage("this build of kiln cannot use ledgers in PostgreSQL").advise(
        "turn on the Cargo feature `postgres` of imagekiln-cli, or pass a file to --ledger",
    ))
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
