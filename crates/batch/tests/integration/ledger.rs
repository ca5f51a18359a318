//! The file of a ledger, and the jobs that it accepts.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use imagekiln::{Client, journal::Directory, types::Gen2Pro};
use imagekiln_batch::{Batch, Error, ErrorKind, Filter, Job, JobState, Ledger, Scope};
use imagekiln_testbed::{Trial, postgres::cluster};
use rusqlite::Connection;
use sqlx_core::{
    connection::{ConnectOptions as _, Connection as _},
    query::query,
};
use sqlx_postgres::PgConnectOptions;
use tokio::task::JoinSet;

use crate::support::{Backend, Fixture, all, both, chain, job, jobs, postgres, sqlite};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        sqlite(a_ledger_can_be_opened_only_once),
        sqlite(a_closed_ledger_can_be_opened_while_a_clone_exists),
        sqlite(a_batch_does_not_replace_the_journal_of_its_client),
        sqlite(a_process_that_has_the_ledger_for_a_moment_is_waited_for),
        #[cfg(unix)]
        sqlite(only_the_user_can_read_the_files),
        sqlite(a_file_that_is_not_a_ledger_is_not_changed),
        sqlite(a_url_or_a_connection_string_is_not_a_file),
        sqlite(secrets_are_not_in_the_ledger),
        both(a_ledger_of_a_later_version_is_refused),
        both(adding_the_same_jobs_again_changes_nothing),
        both(all_jobs_are_added_or_none),
        both(many_jobs_are_added_in_their_order),
        both(several_processes_add_the_same_jobs),
        both(several_processes_add_the_same_job_at_the_same_moment),
        postgres(many_jobs_are_added_again_in_a_moment),
        postgres(a_lock_that_does_not_become_free_is_an_error),
        postgres(several_processes_create_a_ledger_at_the_same_moment),
    ]
}

async fn new_ledger() -> (tempfile::TempDir, Ledger) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
    (directory, ledger)
}

#[track_caller]
fn assert_kind(result: Result<impl std::fmt::Debug, Error>, kind: ErrorKind, part: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let text = chain(&error);
    assert!(text.contains(part), "{text}");
}

async fn a_ledger_can_be_opened_only_once() {
    let (directory, ledger) = new_ledger().await;
    let path = directory.path().join("ledger.db");
    let part = "ledger.db is already open in this process; use a clone";
    assert_kind(Ledger::open(&path).await, ErrorKind::Locked, part);
    let clone = ledger.clone();
    drop(ledger);
    assert_kind(Ledger::open(&path).await, ErrorKind::Locked, "already open");
    drop(clone);
    Ledger::open(&path).await.unwrap();
}

async fn a_closed_ledger_can_be_opened_while_a_clone_exists() {
    let (directory, ledger) = new_ledger().await;
    let clone = ledger.clone();
    // What has begun to wait for its transaction fails, or ends before.
    let (added, ()) = tokio::join!(clone.jobs().add(jobs(1)), ledger.close());
    let opened = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
    assert_eq!(all(&opened).await.len(), usize::from(added.is_ok()));
    assert_kind(
        clone.jobs().list(&Filter::default()).await,
        ErrorKind::Ledger,
        "the ledger is closed",
    );
}

async fn a_batch_does_not_replace_the_journal_of_its_client() {
    let (directory, ledger) = new_ledger().await;
    let journal = Directory::open(directory.path().join("journal")).unwrap();
    let client = Client::builder().api_key("key").base_url("http://127.0.0.1:9").journal(journal);
    let opened = Batch::open(client, ledger).map(drop);
    assert_kind(opened, ErrorKind::Client, "the client of a batch has a journal");
}

async fn a_process_that_has_the_ledger_for_a_moment_is_waited_for() {
    let (directory, ledger) = new_ledger().await;
    let path = directory.path().join("ledger.db");
    let opening = tokio::spawn(Ledger::open(path));
    // The other task finds the lock before this one goes on.
    tokio::task::yield_now().await;
    assert!(!opening.is_finished());
    drop(ledger);
    opening.await.unwrap().unwrap();
}

#[cfg(unix)]
async fn only_the_user_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, ledger) = new_ledger().await;
    ledger.jobs().add([job("fox", "a red fox")]).await.unwrap();
    let mut names = Vec::new();
    for file in files(directory.path()) {
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
        names.push(file.strip_prefix(directory.path()).unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["ledger.db", "ledger.db-shm", "ledger.db-wal", "ledger.db.lock"]);
}

async fn a_file_that_is_not_a_ledger_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    fs::write(&text, "milk and bread\n".repeat(100)).unwrap();
    let other = directory.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE jobs (id)").unwrap();
    for (path, reason) in [(text, "file is not a database"), (other, "another program")] {
        let before = fs::read(&path).unwrap();
        assert_kind(Ledger::open(&path).await, ErrorKind::Ledger, reason);
        assert_kind(Ledger::open_read_only(&path).await, ErrorKind::Ledger, reason);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    assert_kind(Ledger::open(directory.path()).await, ErrorKind::Ledger, "could not open");
}

async fn a_ledger_of_a_later_version_is_refused(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    drop(fixture.ledger().await);
    fixture.execute("INSERT INTO imagekiln.schema_version (version) VALUES (9999)").await;
    let name = fixture.ledger_name();
    for refused in [Ledger::open(&name).await, Ledger::open_read_only(&name).await] {
        assert_kind(refused, ErrorKind::Ledger, "a later version of this program wrote it");
    }
}

/// Text that may contain a password is not quoted, and not the name of a new file.
async fn a_url_or_a_connection_string_is_not_a_file() {
    let url = "the URL of the ledger is not a postgres:// URL; use one, or a path";
    let parameters = "is given by parameters of a connection; use a postgres:// URL, or a path";
    for (place, expected) in [
        ("mysql://ann:SECRET@host/foxes", url),
        ("s3://ann:SECRET@foxes/ledger.db", url),
        ("\"postgres://ann:SECRET@host/foxes\"", url),
        ("\u{feff}postgres://ann:SECRET@host/foxes", url),
        ("DATABASE_URL=postgres://ann:SECRET@host/foxes", url),
        ("host=db user=ann password=SECRET", parameters),
        ("user=ann password=SECRET", parameters),
        ("host = db user = ann password = SECRET", parameters),
        ("Server=db;Username=ann;Password=SECRET", parameters),
        (" Postgres://ann:SECRET@host/foxes?sslmode=maybe\n", "could not parse the URL"),
    ] {
        let opened = [
            Ledger::open(place).await,
            Ledger::open_to_manage(place).await,
            Ledger::open_read_only(place).await,
        ];
        for error in opened.map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::Ledger);
            assert!(error.to_string().contains(expected), "{place:?}: {error}");
            assert!(!format!("{error} {error:#?}").contains("SECRET"), "{error:#?}");
        }
        assert!(!Path::new(place).exists(), "{place:?}");
    }
}

async fn several_processes_create_a_ledger_at_the_same_moment() {
    for _ in 0..5 {
        let url = cluster().create_database();
        let mut processes = JoinSet::new();
        for _ in 0..8 {
            let url = url.clone();
            processes.spawn(async move { Ledger::open(&url).await });
        }
        for ledger in processes.join_all().await {
            ledger.unwrap();
        }
    }
}

async fn adding_the_same_jobs_again_changes_nothing(backend: Backend) {
    let ledger = Fixture::new(backend).await.ledger().await;
    let jobs = || [job("one", "a red fox"), job("two", "a grey fox")];
    ledger.jobs().add(jobs()).await.unwrap();
    let before = all(&ledger).await;
    ledger.jobs().add(jobs()).await.unwrap();
    assert_eq!(all(&ledger).await, before);
    assert_eq!(before.len(), 2);
    assert!(before.iter().all(|job| job.state == JobState::Queued && job.operation == "gen-2-pro"));
}

async fn all_jobs_are_added_or_none(backend: Backend) {
    let ledger = Fixture::new(backend).await.ledger().await;
    ledger.jobs().add([job("one", "a red fox")]).await.unwrap();
    let conflicts = [
        (job("one", "a grey fox"), "another request"),
        (Job::new("three", "one.jpg", Gen2Pro::new("a fox")), "target of another job"),
        (Job::new("three", "../three.jpg", Gen2Pro::new("a fox")), "below the output directory"),
        (Job::new("three", "/tmp/three.jpg", Gen2Pro::new("a fox")), "below the output directory"),
        (Job::new("three", "", Gen2Pro::new("a fox")), "below the output directory"),
        (Job::new("", "three.jpg", Gen2Pro::new("a fox")), "name"),
        (job("two", "another fox"), "another request"),
        (Job::new("three", "two.jpg", Gen2Pro::new("a fox")), "target of another job"),
    ];
    for (conflict, part) in conflicts {
        let added = ledger.jobs().add([job("two", "a fox"), conflict]).await;
        assert_kind(added, ErrorKind::Job, part);
    }
    assert_eq!(all(&ledger).await.len(), 1);
}

async fn many_jobs_are_added_in_their_order(backend: Backend) {
    let ledger = Fixture::new(backend).await.ledger().await;
    let many = || (0..1200).map(|number| job(&number.to_string(), "a fox"));
    ledger.jobs().add(many().skip(700).take(2)).await.unwrap();
    let conflicts = [
        (job("701", "another fox"), "another request"),
        (Job::new("last", "700.jpg", Gen2Pro::new("a fox")), "target of another job"),
    ];
    for (conflict, part) in conflicts {
        // It is in the last chunk.
        let others = many().enumerate().filter(|(number, _)| *number != 701);
        let added = ledger.jobs().add(others.map(|(_, job)| job).chain([conflict])).await;
        assert_kind(added, ErrorKind::Job, part);
        assert_eq!(ledger.reports().jobs().await.unwrap().count(JobState::Queued), 2);
    }
    let (first, second) =
        tokio::join!(ledger.jobs().add(many()), ledger.jobs().add(many().take(900)));
    first.unwrap();
    second.unwrap();
    let added = all(&ledger).await;
    let names: Vec<_> = added.iter().map(|job| &*job.name).collect();
    let others = (0..1200).filter(|number| ![700, 701].contains(number));
    let others: Vec<_> = others.map(|number| number.to_string()).collect();
    assert_eq!(names, [&["700".to_owned(), "701".to_owned()], &others[..]].concat());
    assert!(added.iter().map(|job| job.number).eq(1..=1200));
}

/// The files in a directory and in those below it.
fn files(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

async fn secrets_are_not_in_the_ledger() {
    let (directory, ledger) = new_ledger().await;
    let request = Gen2Pro::new("a red fox").webhook_secret("whsec-0123456789");
    ledger.jobs().add([Job::new("fox", "fox.jpg", request)]).await.unwrap();
    for file in files(directory.path()) {
        let bytes = fs::read(file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("whsec-0123456789"));
    }
}

/// Between the check whether a job is there and its insertion, another process may insert it.
async fn several_processes_add_the_same_job_at_the_same_moment(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let mut ledgers = vec![ledger.clone()];
    for _ in 0..3 {
        ledgers.push(fixture.another(&ledger).await);
    }
    for round in 0..100 {
        let mut additions = JoinSet::new();
        for ledger in &ledgers {
            let ledger = ledger.clone();
            let name = round.to_string();
            additions.spawn(async move { ledger.jobs().add([job(&name, "a fox")]).await });
        }
        for added in additions.join_all().await {
            added.unwrap();
        }
    }
    assert_eq!(all(&ledger).await.len(), 100);
}

async fn several_processes_add_the_same_jobs(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let (other, third) = (fixture.another(&ledger).await, fixture.another(&ledger).await);
    let backward = jobs(1200).into_iter().rev();
    let few = jobs(1210).into_iter().skip(1190);
    let added = tokio::join!(
        ledger.jobs().add(jobs(1200)),
        other.jobs().add(backward),
        third.jobs().add(few)
    );
    assert!(matches!(added, (Ok(()), Ok(()), Ok(()))), "{added:?}");
    let numbers: HashSet<_> = all(&ledger).await.iter().map(|job| job.number).collect();
    assert_eq!(numbers.len(), 1210);
}

/// PostgreSQL knows nothing about the contents of tables that have just been created.
async fn many_jobs_are_added_again_in_a_moment() {
    let url = format!("{}?options[statement_timeout]=5s", cluster().create_database());
    let ledger = Ledger::open(&url).await.unwrap();
    for _ in 0..2 {
        ledger.jobs().add(jobs(10_000)).await.unwrap();
    }
    assert_eq!(all(&ledger).await.len(), 10_000);
}

/// A worker may be suspended, or a person may have an open transaction.
async fn a_lock_that_does_not_become_free_is_an_error() {
    let url = cluster().create_database();
    let locked = async || {
        let options: PgConnectOptions = url.parse().unwrap();
        let mut other = options.connect().await.unwrap();
        // The lock of all workers: "IKLB".
        query("SELECT pg_advisory_lock(1229671490)").execute(&mut other).await.unwrap();
        other
    };
    let other = locked().await;
    let impatient = format!("{url}?options=-c%20lock_timeout%3D100ms");
    let error = Ledger::open(&impatient).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ledger);
    assert!(error.to_string().contains("another process has kept it locked"), "{error}");

    other.close().await.unwrap();
    let impatient = Ledger::open(&impatient).await.unwrap();
    let other = locked().await;
    let error = impatient.limits().pause(Scope::Ledger).await.unwrap_err();
    assert!(error.to_string().contains("another process has kept it locked"), "{error}");
    other.close().await.unwrap();
    impatient.limits().pause(Scope::Ledger).await.unwrap();
}
