//! Reads ledgers that other processes write.

use std::fs;

use imagekiln_batch::{ErrorKind, Ledger};
use imagekiln_testbed::{Trial, postgres::cluster};

use crate::support::{Backend, Fixture, all, both, jobs, sqlite};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        sqlite(a_reader_does_not_change_other_files),
        both(a_reader_sees_what_others_write),
        both(a_reader_creates_nothing),
    ]
}

async fn a_reader_sees_what_others_write(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.jobs().add(jobs(2)).await.unwrap();
    let reader = Ledger::open_read_only(fixture.ledger_name()).await.unwrap();
    assert_eq!(all(&reader).await, all(&ledger).await);
    ledger.jobs().add(jobs(3)).await.unwrap();
    assert_eq!(reader.reports().jobs().await.unwrap(), ledger.reports().jobs().await.unwrap());
    assert_eq!(all(&reader).await.len(), 3);
    let error = reader.jobs().add(jobs(4)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ledger);
    assert_eq!(all(&ledger).await.len(), 3);
}

async fn a_reader_creates_nothing(backend: Backend) {
    let name = match backend {
        Backend::Sqlite => Fixture::new(backend).await.ledger_name(),
        Backend::Postgres => cluster().create_database(),
    };
    for _ in 0..2 {
        let error = Ledger::open_read_only(&name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
    }
}

async fn a_reader_does_not_change_other_files() {
    let directory = tempfile::tempdir().unwrap();
    for (content, kind) in [("", ErrorKind::Missing), ("not a database", ErrorKind::Ledger)] {
        let path = directory.path().join("file");
        fs::write(&path, content).unwrap();
        let error = Ledger::open_read_only(&path).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}
