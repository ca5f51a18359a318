//! Ledgers in SQLite files: private, and locked by one process.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    hash::{BuildHasher as _, RandomState},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    sync::LazyLock,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    APPLICATION_ID, BoxError, Database,
    clocks::Clocks,
    migrations::{self, no_ledger},
};
use crate::{Error, ErrorKind};

/// How long a process waits for the transactions of another process that has opened the same file.
const LONGEST_TURN: Duration = Duration::from_secs(60);

/// The number of prepared statements that a connection keeps.
const STATEMENTS: usize = 100;

/// The first version of SQLite without a bug that loses pages of a file if two connections write or
/// checkpoint at the same moment: <https://sqlite.org/wal.html#walresetbug>. The bundled version is
/// later, but a program can link another one.
const OLDEST_SQLITE: i32 = 3_051_003;

/// The lock of a ledger in a file. While this value exists, no other process can open the file to
/// run batches.
///
/// The lock is a separate file, because SQLite manages the locks of its own files. It contains the
/// number of the process that holds it, for the error message of other processes.
pub(in crate::ledger) struct Lock(File);

/// Creates a file if it does not exist, and locks it. The file is created here and not by SQLite,
/// so that only this user can read it; SQLite gives the files beside it the same mode. Returns the
/// path without links, so that two links to one ledger use the same lock.
pub(in crate::ledger) fn lock(path: &Path) -> Result<(PathBuf, Lock), Error> {
    let failed = |error: io::Error| {
        let path = path.display();
        let message =
            format!("could not open the ledger {path}; check the path and its permissions");
        Error::new(ErrorKind::Ledger, message).with_source(error)
    };
    private().read(true).append(true).create(true).open(path).map_err(failed)?;
    let path = fs::canonicalize(path).map_err(failed)?;
    let mut lock_path = path.clone().into_os_string();
    lock_path.push(".lock");
    let lock = private().read(true).write(true).create(true).truncate(false).open(lock_path);
    let lock = lock.map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {
            // If this fails, the error message of another process does not contain the number of
            // this one.
            let _ = lock.set_len(0).and_then(|()| write!(&lock, "{}", this_process()));
            Ok((path, Lock(lock)))
        }
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            let _ = (&lock).read_to_string(&mut owner);
            let advice = "wait for it, or give each process its own ledger";
            let (who, advice) = match owner.split_once(' ') {
                Some(_) if owner == this_process() => {
                    ("this process".to_owned(), "use a clone of the ledger, or close it")
                }
                Some((number, _)) => (format!("process {number}"), advice),
                None => ("another process".to_owned(), advice),
            };
            let path = path.display();
            let message = format!("the ledger {path} is already open in {who}; {advice}");
            Err(Error::new(ErrorKind::Locked, message))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

impl Lock {
    /// Lets another process open the file.
    pub(in crate::ledger) fn unlock(&self) {
        // If this fails, the operating system unlocks the file when it is closed.
        let _ = self.0.unlock();
    }
}

/// The number of this process, and a random number that distinguishes it from a process with the
/// same number in another container.
fn this_process() -> &'static str {
    static THIS: LazyLock<String> = LazyLock::new(|| {
        let start = RandomState::new().hash_one(process::id());
        format!("{} {start:016x}", process::id())
    });
    &THIS
}

/// Options for files that other users cannot read, because polling URLs may be signed.
fn private() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Fails if this version of SQLite can damage ledgers.
pub(in crate::ledger) fn check_version(version: i32) -> Result<(), Error> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    let message = format!(
        "SQLite {} can damage a ledger that two processes write; build this program with SQLite \
         {} or later",
        dotted(version),
        dotted(OLDEST_SQLITE)
    );
    Err(Error::new(ErrorKind::Ledger, message))
}

fn dotted(version: i32) -> String {
    format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000)
}

/// Opens the file. Fails, without writing, if it is another program's database.
pub(in crate::ledger) fn open(
    path: &Path,
    reads: bool,
    clocks: Clocks,
) -> Result<Database, BoxError> {
    if reads && !path.try_exists()? {
        return Err(no_ledger());
    }
    let access =
        if reads { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LONGEST_TURN)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    check_program(&connection)?;
    if !reads {
        let wal = "PRAGMA journal_mode = WAL";
        let mode: String = connection.query_row(wal, [], |row| row.get(0))?;
        if mode != "wal" {
            return Err("SQLite could not turn on its write-ahead log for this file".into());
        }
        // A negative size of the cache is in KiB. A transaction on a large ledger changes pages in
        // all parts of the indices.
        let settings = "PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;
            PRAGMA foreign_keys = ON";
        connection.execute_batch(settings)?;
    }
    let mut database = Database::Sqlite(connection, clocks);
    migrations::open(&mut database, reads)?;
    Ok(database)
}

/// Fails if the file is the database of another program. An empty one becomes a ledger.
fn check_program(connection: &Connection) -> Result<(), BoxError> {
    // In one statement, because another process may create the tables at the same time.
    let find = "SELECT application_id, (SELECT COUNT(*) FROM sqlite_schema)
        FROM pragma_application_id";
    let found = connection.query_row(find, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match found {
        (APPLICATION_ID, _) | (0, 0_i64) => Ok(()),
        _ => Err("the file is the database of another program".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_that_damages_ledgers_is_refused() {
        check_version(rusqlite::version_number()).unwrap();
        check_version(OLDEST_SQLITE).unwrap();
        let error = check_version(3_046_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Ledger);
        assert!(error.to_string().starts_with("SQLite 3.46.0 can damage"), "{error}");
        assert!(error.to_string().ends_with("SQLite 3.51.3 or later"), "{error}");
    }
}
