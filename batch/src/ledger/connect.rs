//! Opens the database of a ledger: to write, which brings its tables up to date, or read-only, even
//! while other processes write to it.

#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::{io, path::Path};

#[cfg(feature = "postgres")]
use sqlx_postgres::PgConnectOptions;

#[cfg(feature = "postgres")]
use super::postgres;
#[cfg(feature = "sqlite")]
use super::sqlite::{self, LockedFile};
use super::{
    clocks::Clocks,
    database::{BoxError, Database},
};
use crate::Error;

/// The location of the database.
pub(super) enum Source {
    #[cfg(feature = "sqlite")]
    File(LockedFile),
    /// Another process has the lock.
    #[cfg(feature = "sqlite")]
    FileOfOther(PathBuf),
    #[cfg(feature = "sqlite")]
    FileToRead(PathBuf),
    /// Not `Debug`, because it contains the password.
    #[cfg(feature = "postgres")]
    Server(Box<PgConnectOptions>),
    #[cfg(feature = "postgres")]
    ServerToRead(Box<PgConnectOptions>),
}

impl Source {
    #[cfg_attr(not(feature = "sqlite"), expect(unused_variables, reason = "for SQLite"))]
    pub(super) async fn connect(&self, clocks: &Clocks) -> Result<Database, BoxError> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File(LockedFile { path, .. }) | Self::FileOfOther(path) => {
                sqlite::open_file(path, clocks.clone()).await
            }
            #[cfg(feature = "sqlite")]
            Self::FileToRead(path) => sqlite::read_file(path, clocks.clone()).await,
            #[cfg(feature = "postgres")]
            Self::Server(options) => postgres::open_server(options).await,
            #[cfg(feature = "postgres")]
            Self::ServerToRead(options) => postgres::read_server(options).await,
        }
    }

    /// Fails if the library of the database may damage ledgers.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File(_) | Self::FileOfOther(_) | Self::FileToRead(_) => {
                sqlite::check_version(rusqlite::version_number())
            }
            #[cfg(feature = "postgres")]
            Self::Server(_) | Self::ServerToRead(_) => Ok(()),
        }
    }

    /// Returns what to do if it cannot be opened.
    pub(super) fn advice(&self) -> &'static str {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File(_) | Self::FileOfOther(_) | Self::FileToRead(_) => {
                "move the file if it is not a ledger"
            }
            #[cfg(feature = "postgres")]
            Self::Server(_) | Self::ServerToRead(_) => "check the URL and the server",
        }
    }

    /// Returns the path of the file that this process has locked.
    pub(super) fn own_file(&self) -> Option<&Path> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File(file) => Some(&file.path),
            _ => None,
        }
    }

    /// Whether another process has locked the file.
    pub(super) fn is_of_other(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::FileOfOther(_) => true,
            _ => false,
        }
    }

    /// Whether several processes can write to it.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File(_) | Self::FileOfOther(_) | Self::FileToRead(_) => false,
            #[cfg(feature = "postgres")]
            Self::Server(_) | Self::ServerToRead(_) => true,
        }
    }

    /// Returns the place of the database, without secrets.
    pub(super) fn name(&self) -> String {
        match self {
            #[cfg(feature = "sqlite")]
            Self::File(LockedFile { path, .. })
            | Self::FileOfOther(path)
            | Self::FileToRead(path) => path.display().to_string(),
            #[cfg(feature = "postgres")]
            Self::Server(options) | Self::ServerToRead(options) => {
                let database = options.get_database().unwrap_or_else(|| options.get_username());
                format!("postgres://{}:{}/{database}", options.get_host(), options.get_port())
            }
        }
    }
}

/// Whether there is no ledger.
pub(super) fn is_missing(error: &BoxError) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}
