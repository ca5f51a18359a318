//! At most one payment for an idempotency key, in one process, in several, and after any crash.

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::join_all;
use tempfile::TempDir;

use crate::support::{
    reply::Reply,
    samples::{self, assert_billing, assert_kind, fox},
    scripted::ScriptedServer,
};
use imagekiln::{
    Billing, Client, Error, ErrorKind, ImageInput, Once, Task, Unfinished,
    journal::{Directory, Disk, Journal as _, Key, Memory, State},
    types::Gen2Pro,
};

const COVER: &str = "order-17/cover";

/// A client in a process of its own.
fn client(service: &ScriptedServer, journal: &Path) -> Client {
    samples::builder(service).journal(Directory::open(journal).unwrap()).build().unwrap()
}

/// A service, the directory of a journal, and a client with it.
async fn with_journal() -> (ScriptedServer, TempDir, Client) {
    let service = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let client = client(&service, folder.path());
    (service, folder, client)
}

async fn submit(client: &Client) -> Result<Once, Error> {
    client.submit_once(COVER, fox()).await
}

fn task(once: Once) -> Task {
    let Once::Task(task) = once else { panic!("{once:?}") };
    task
}

#[tokio::test]
async fn a_key_is_submitted_once_by_any_process_and_its_picture_is_found() {
    let service = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    service.reply(samples::accepted(&service, "t1"));
    let first = client(&service, folder.path());
    assert_eq!(task(submit(&first).await.unwrap()).id(), "t1");
    assert_eq!(task(submit(&first).await.unwrap()).id(), "t1");
    assert_eq!(task(submit(&client(&service, folder.path())).await.unwrap()).id(), "t1");
    drop(first);

    let second = client(&service, folder.path());
    let fetched = task(submit(&second).await.unwrap());
    service.reply(samples::ready(&service)).reply(Reply::png(samples::PNG));
    let fox = folder.path().join("fox.png");
    fetched.wait().await.unwrap().save(&fox).await.unwrap();
    let once = submit(&second).await.unwrap();
    let Once::Saved { path, task: saved, .. } = once else { panic!("{once:?}") };
    assert_eq!((&path, saved.id()), (&fox, "t1"));

    // The service still has the picture of a file that is gone.
    fs::write(&fox, "another file").unwrap();
    service.reply(samples::ready(&service));
    let again = task(submit(&second).await.unwrap());
    service.reply(samples::ready(&service)).reply(Reply::png(samples::PNG));
    let moved = folder.path().join("moved.png");
    again.wait().await.unwrap().save(&moved).await.unwrap();
    assert!(matches!(submit(&second).await.unwrap(), Once::Saved { path, .. } if path == moved));
    fs::remove_file(&moved).unwrap();
    service.reply(samples::status("Task not found"));
    let error = submit(&second).await.unwrap_err();
    assert_kind(&error, ErrorKind::Expired);
    assert!(error.to_string().contains("moved.png, which is gone"), "{error}");
    assert_eq!(error.task().map(|task| task.id()), Some("t1"));
    assert_eq!(service.posts().len(), 1);
}

/// Whoever is faster submits, and the others wait.
#[tokio::test]
async fn calls_at_the_same_time_share_one_submission() {
    let service = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let clients = [(); 4].map(|()| client(&service, folder.path()));
    service.reply(samples::accepted(&service, "t1"));
    let calls = clients.iter().chain(&clients).map(submit);
    for once in join_all(calls).await {
        assert_eq!(task(once.unwrap()).id(), "t1");
    }
    assert_eq!(service.posts().len(), 1);
    assert_eq!(Directory::list(folder.path()).unwrap().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_another_one_up_to_a_limit() {
    let service = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (client(&service, folder.path()), client(&service, folder.path()));
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    let sending = tokio::spawn(async move { submit(&first).await });
    service.wait_for_requests(1).await;
    let error = submit(&second).await.unwrap_err();
    assert_billing(&error, ErrorKind::InProgress, Billing::NotBilled);
    let listed = Directory::find(folder.path(), 1).unwrap().unwrap().unwrap();
    assert!(error.to_string().contains(listed.record.intent().id()), "{error}");
    rest.send(samples::accepted(&service, "t1").bytes());
    assert_eq!(task(sending.await.unwrap().unwrap()).id(), "t1");
    assert_eq!(task(submit(&second).await.unwrap()).id(), "t1");
    assert_eq!(service.posts().len(), 1);
}

#[tokio::test]
async fn a_lost_response_is_decided_by_a_person() {
    let (service, _folder, client) = with_journal().await;
    service.reply(Reply::reset());
    assert_eq!(submit(&client).await.unwrap_err().billing(), Billing::Unknown);
    let error = submit(&client).await.unwrap_err();
    assert_billing(&error, ErrorKind::Undecided, Billing::Unknown);
    let [record] = &client.attempts(COVER).await.unwrap()[..] else { panic!("not one attempt") };
    assert_eq!((record.state(), record.is_lost()), (&State::Unknown, true));
    let second = Key::new(COVER).attempt(2);
    let error = client.submit_once(second.clone(), fox()).await.unwrap_err();
    assert_kind(&error, ErrorKind::KeyConflict);

    client.dismiss(record).await.unwrap();
    let error = submit(&client).await.unwrap_err();
    assert_kind(&error, ErrorKind::Undecided);
    assert_ne!(error.billing(), Billing::Unknown, "{error}");
    assert_eq!(service.posts().len(), 1);
    service.reply(samples::accepted(&service, "t2"));
    assert_eq!(task(client.submit_once(second, fox()).await.unwrap()).id(), "t2");
    assert_eq!(client.attempts(COVER).await.unwrap().len(), 2);

    // A task proves that the first attempt was paid, too.
    service.reply(samples::status("Pending"));
    let _ = client.adopt(record, "t1").await.unwrap();
    assert_eq!(task(submit(&client).await.unwrap()).id(), "t1");
}

#[tokio::test]
async fn a_failed_task_is_paid_again_only_on_purpose() {
    let (service, _folder, client) = with_journal().await;
    service.reply(samples::accepted(&service, "t1")).reply(samples::status("Content Moderated"));
    task(submit(&client).await.unwrap()).wait().await.unwrap_err();
    for _ in 0..2 {
        let error = submit(&client).await.unwrap_err();
        assert_kind(&error, ErrorKind::Moderated);
        assert_eq!(error.task().map(|task| task.id()), Some("t1"));
    }
    assert_eq!(service.posts().len(), 1);
    service.reply(samples::accepted(&service, "t2"));
    let second = || Key::new(COVER).attempt(2);
    assert_eq!(task(client.submit_once(second(), fox()).await.unwrap()).id(), "t2");
    assert_eq!(task(client.submit_once(second(), fox()).await.unwrap()).id(), "t2");
    let third = client.submit_once(Key::new(COVER).attempt(3), fox()).await.unwrap_err();
    assert_kind(&third, ErrorKind::KeyConflict);
    assert!(third.to_string().contains("attempt 2 of the key `order-17/cover` may"), "{third}");
    let never = client.submit_once(Key::new("back").attempt(2), fox()).await.unwrap_err();
    assert!(never.to_string().contains("attempt 1 of the key `back` was never made"), "{never}");
    assert_eq!(service.posts().len(), 2);
}

#[tokio::test]
async fn what_was_not_billed_does_not_count() {
    let (service, _folder, client) = with_journal().await;
    for _ in 0..2 {
        service.reply(Reply::status(422));
        assert_kind(&submit(&client).await.unwrap_err(), ErrorKind::Validation);
    }
    service.reply(samples::accepted(&service, "t1"));
    assert_eq!(task(submit(&client).await.unwrap()).id(), "t1");
    assert_eq!(task(submit(&client).await.unwrap()).id(), "t1");
    assert_eq!(service.posts().len(), 3);
}

#[tokio::test]
async fn a_service_is_the_same_with_a_slash_after_its_base_url() {
    let (service, folder, _) = with_journal().await;
    service.reply(samples::accepted(&service, "t1"));
    for path in ["/api", "/api/", "/api//"] {
        let journal = Directory::open(folder.path()).unwrap();
        let client = samples::builder(&service).base_url(service.url(path)).journal(journal);
        assert_eq!(task(submit(&client.build().unwrap()).await.unwrap()).id(), "t1");
    }
    assert_eq!(service.received().len(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_one_request_one_service_and_one_journal() {
    let (service, other) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let folder = tempfile::tempdir().unwrap();
    let ours = client(&service, folder.path());
    service.reply(samples::accepted(&service, "t1"));
    let _ = submit(&ours).await.unwrap();
    let error = ours.submit_once(COVER, fox().seed(8)).await.unwrap_err();
    assert_kind(&error, ErrorKind::KeyConflict);
    for digest in [fox(), fox().seed(8)].map(|fox| imagekiln::Submit::into_request(fox).digest()) {
        assert!(error.to_string().contains(&digest.unwrap()), "{error}");
    }
    // The webhook is another one for each call.
    let webhook = fox().webhook_url("https://example.com/hooks/2");
    assert_eq!(task(ours.submit_once(COVER, webhook).await.unwrap()).id(), "t1");

    other.reply(samples::accepted(&other, "o1"));
    let theirs = client(&other, folder.path());
    assert_eq!(task(submit(&theirs).await.unwrap()).id(), "o1");
    assert_kind(&submit(&samples::client(&service)).await.unwrap_err(), ErrorKind::Settings);
    let memory = Memory::default();
    let forgetful = samples::builder(&service).journal(memory.clone()).build().unwrap();
    service.reply(samples::accepted(&service, "t2"));
    assert_eq!(task(submit(&forgetful).await.unwrap()).id(), "t2");
    assert_eq!(task(submit(&forgetful).await.unwrap()).id(), "t2");
    assert_eq!((memory.records().len(), service.posts().len()), (1, 2));
}

/// A request that cannot be told from another one is not sent.
#[tokio::test]
async fn a_request_without_a_stored_form_and_an_empty_key_are_refused() {
    let (service, _folder, client) = with_journal().await;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"fox-\xff.png"));
        let request = Gen2Pro::new("a fox").input_image(ImageInput::path(path));
        let error = client.submit_once(COVER, request).await.unwrap_err();
        assert_kind(&error, ErrorKind::Usage);
    }
    for empty in ["", " "] {
        let error = client.submit_once(empty, fox()).await.unwrap_err();
        assert_kind(&error, ErrorKind::Usage);
    }
    service.assert_received_nothing();
    assert!(client.attempts(COVER).await.unwrap().is_empty());
}

/// A disk that once fails to flush the names of keys.
#[derive(Default)]
struct Failing {
    has_failed: AtomicBool,
}

impl Disk for Failing {
    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        if directory.ends_with("keys") && !self.has_failed.swap(true, Ordering::Relaxed) {
            return Err(io::Error::other("the disk is broken"));
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_key_that_could_not_be_written_is_free() {
    let service = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let journal = Directory::open_on(folder.path(), Arc::new(Failing::default())).unwrap();
    let client = samples::builder(&service).journal(journal).build().unwrap();
    let error = submit(&client).await.unwrap_err();
    assert_billing(&error, ErrorKind::Journal, Billing::NotBilled);
    service.reply(samples::accepted(&service, "t1"));
    assert_eq!(task(submit(&client).await.unwrap()).id(), "t1");
    assert_eq!(service.posts().len(), 1);
}

/// Whatever happens to a file of a key or of its record, nothing is paid again.
#[tokio::test]
async fn damage_to_a_key_pays_nothing() {
    let service = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    service.reply(samples::accepted(&service, "t1"));
    let _ = submit(&client(&service, path)).await.unwrap();
    let key = fs::read_dir(path.join("keys")).unwrap().next().unwrap().unwrap().path();
    let record = path.join("open/1.json");
    let (of_key, of_record) = (fs::read(&key).unwrap(), fs::read(&record).unwrap());
    for (file, text) in [(&key, &of_key[..20]), (&key, &[]), (&record, &of_record[..20])] {
        fs::write(file, text).unwrap();
        let error = submit(&client(&service, path)).await.unwrap_err();
        assert_kind(&error, ErrorKind::Journal);
        fs::write(&key, &of_key).unwrap();
        fs::write(&record, &of_record).unwrap();
    }
    fs::remove_file(&record).unwrap();
    assert_kind(&submit(&client(&service, path)).await.unwrap_err(), ErrorKind::Journal);
    fs::write(&record, &of_record).unwrap();
    fs::remove_file(&key).unwrap();
    assert_eq!(task(submit(&client(&service, path)).await.unwrap()).id(), "t1");
    assert_eq!(service.posts().len(), 1);
}

/// Its process ended before it could remove the record, or the system crashed soon afterwards.
#[tokio::test]
async fn a_submission_that_lost_its_key_to_another_one_was_never_sent() {
    let service = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    service.reply(samples::accepted(&service, "t1"));
    let first = client(&service, folder.path());
    let _ = submit(&first).await.unwrap();
    let known = Directory::find(folder.path(), 1).unwrap().unwrap().unwrap().record;
    let journal = Directory::open(folder.path()).unwrap();
    for (id, name) in [("1".repeat(32), COVER), ("2".repeat(32), "back")] {
        let mut intent = serde_json::to_value(known.intent()).unwrap();
        intent["id"] = id.into();
        intent["key"]["name"] = name.into();
        journal.intend(&serde_json::from_value(intent).unwrap()).await.unwrap();
    }
    drop((first, journal));
    let unfinished = client(&service, folder.path()).resume().await.unwrap();
    let [Unfinished::Task(task, _), Unfinished::Unknown(record)] = &unfinished[..] else {
        panic!("{unfinished:?}");
    };
    // The other key belongs to nobody else.
    assert_eq!((task.id(), record.intent().key().unwrap().name()), ("t1", "back"));
    let rival = Directory::find(folder.path(), 2).unwrap().unwrap().unwrap().record;
    assert_eq!(rival.state(), &State::NotBilled);
}
