//! The next process resumes the tasks in the journal, and the journal forgets finished tasks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::support::{
    done,
    reply::Reply,
    samples::{self, KEY, WEBHOOK_SECRET, fox, served, submit_in_background},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{
    Client, ErrorKind, Region, RetryPolicy, Submit as _, SubmitOptions, TaskRef, Unfinished,
    journal::{Directory, Origin, State},
    types::Gen2Pro,
};

struct Fixture {
    service: ScriptedServer,
    directory: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self { service: ScriptedServer::start().await, directory: tempfile::tempdir().unwrap() }
    }

    /// A fixture and the client of its first process.
    async fn with_client() -> (Self, Client) {
        let fixture = Self::new().await;
        let client = fixture.client();
        (fixture, client)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    /// A client in a new process. The previous client must be dropped.
    fn client(&self) -> Client {
        let journal = Directory::open(self.path()).unwrap();
        samples::builder(&self.service).journal(journal).build().unwrap()
    }

    async fn submit(&self, client: &Client, id: &str) -> TaskRef {
        self.service.reply(samples::accepted(&self.service, id));
        client.submit(fox()).await.unwrap().reference().clone()
    }

    /// Returns the ids of unfinished tasks, and `unknown` for each submission with unknown billing.
    async fn unfinished(&self, client: &Client) -> Vec<String> {
        let unfinished = client.resume().await.unwrap();
        let name = |unfinished: Unfinished| match unfinished {
            Unfinished::Task(task, _) => task.id().to_owned(),
            _ => "unknown".to_owned(),
        };
        unfinished.into_iter().map(name).collect()
    }
}

#[tokio::test]
async fn tasks_are_resumed_until_their_pictures_are_saved() {
    let (fixture, client) = Fixture::with_client().await;
    for id in ["t1", "t2", "t3"] {
        fixture.submit(&client, id).await;
    }
    drop(client);

    let client = fixture.client();
    let resumed = client.resume().await.unwrap();
    let [Unfinished::Task(first, _), Unfinished::Task(second, _), Unfinished::Task(..)] =
        resumed.as_slice()
    else {
        panic!("{resumed:?}");
    };
    assert_eq!((first.id(), first.cost()), ("t1", Some(4.0)));
    fixture.service.reply(samples::ready(&fixture.service)).reply(Reply::png(samples::PNG));
    first.wait().await.unwrap().save(fixture.directory.path().join("fox.png")).await.unwrap();
    // The picture is only in memory, so the program must settle the task.
    fixture.service.reply(samples::ready(&fixture.service)).reply(Reply::png(samples::PNG));
    second.wait().await.unwrap().bytes().await.unwrap();
    assert_eq!(fixture.unfinished(&client).await, ["t2", "t3"]);
    client.settle(second.reference()).await.unwrap();
    client.settle(second.reference()).await.unwrap();
    drop((client, resumed));
    assert_eq!(fixture.unfinished(&fixture.client()).await, ["t3"]);
}

#[tokio::test]
async fn a_record_has_the_digests_of_its_request_and_of_its_file() {
    let (fixture, client) = Fixture::with_client().await;
    fixture.service.reply(samples::accepted(&fixture.service, "t1"));
    let url = "https://example.com/hooks/1";
    let task = client.submit(fox().webhook_url(url)).await.unwrap();
    fixture.service.reply(samples::ready(&fixture.service)).reply(Reply::png(samples::PNG));
    let path = fixture.directory.path().join("fox.png");
    let saved = task.wait().await.unwrap().save(&path).await.unwrap();
    let listed = Directory::find(fixture.path(), 1).unwrap().unwrap().unwrap();
    // Each submission may have its own webhook URL.
    assert_eq!(listed.record.intent().request_sha256(), Some(&*sha256(fox().to_json().unwrap())));
    let digest = |request: Gen2Pro| request.into_request().digest().unwrap();
    assert_ne!(digest(fox()), digest(fox().seed(9)));
    let State::Saved { sha256: of_file, bytes, .. } = listed.record.state() else {
        panic!("{listed:?}");
    };
    let file = fs::read(&path).unwrap();
    assert_eq!((of_file, *bytes), (&Some(sha256(&file)), file.len() as u64));
    assert_eq!(saved.sha256, Some(sha256(&file)));
}

fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_submission_of_unknown_billing_is_reported_and_never_sent_again() {
    let (fixture, client) = Fixture::with_client().await;
    fixture.service.reply(Reply::reset());
    client.submit(fox()).await.unwrap_err();
    drop(client);

    let client = fixture.client();
    let resumed = client.resume().await.unwrap();
    let [Unfinished::Unknown(record)] = resumed.as_slice() else { panic!("{resumed:?}") };
    assert_eq!(record.intent().operation(), "gen-2-pro");
    assert_eq!(fixture.service.posts().len(), 1);
    client.dismiss(record).await.unwrap();
    assert_eq!(fixture.unfinished(&client).await, [""; 0]);
}

#[tokio::test]
async fn failed_tasks_are_not_resumed_but_tasks_not_found_are() {
    let (fixture, client) = Fixture::with_client().await;
    for (id, status) in [
        ("t1", "Error"),
        ("t2", "Request Moderated"),
        ("t3", "Content Moderated"),
        ("t4", "Task not found"),
        ("t5", "Pending"),
    ] {
        let task = fixture.submit(&client, id).await;
        fixture.service.reply(samples::status(status));
        client.task(task).poll().await.unwrap();
    }
    assert_eq!(fixture.unfinished(&client).await, ["t4", "t5"]);
}

#[tokio::test]
async fn a_submission_in_flight_is_not_unknown() {
    let (fixture, client) = Fixture::with_client().await;
    let (response, rest) = Reply::nothing().in_pieces();
    fixture.service.reply(response);
    let submission = submit_in_background(&client);
    fixture.service.wait_for_requests(1).await;
    assert_eq!(fixture.unfinished(&client).await, [""; 0]);
    rest.send(samples::accepted(&fixture.service, "t1").bytes());
    let _ = done(submission).await.unwrap().unwrap();
    assert_eq!(fixture.unfinished(&client).await, ["t1"]);
    settle().await;
}

#[tokio::test]
async fn a_picture_under_a_temporary_name_leaves_its_record_open() {
    let (fixture, client) = Fixture::with_client().await;
    let task = client.task(fixture.submit(&client, "t1").await);
    fixture.service.reply(samples::ready(&fixture.service)).reply(Reply::png(samples::PNG));
    let picture = task.wait().await.unwrap();
    let fox = picture.download_in(fixture.directory.path()).await.unwrap();
    fox.save(fixture.directory.path().join("fox.part")).await.unwrap();
    assert_eq!(fixture.unfinished(&client).await, ["t1"]);
}

#[tokio::test]
async fn a_client_without_a_journal_has_nothing_to_resume() {
    let (service, client) = served().await;
    assert!(client.resume().await.unwrap().is_empty());
    client.settle(&samples::reference(&service)).await.unwrap();
}

#[tokio::test]
async fn the_files_contain_no_secret_and_no_prompt() {
    let (fixture, client) = Fixture::with_client().await;
    fixture.service.reply(samples::accepted(&fixture.service, "t1"));
    let request =
        fox().webhook_url("https://example.com/?token=hidden").webhook_secret(WEBHOOK_SECRET);
    let task = client.submit(request).await.unwrap();
    let text = fs::read_to_string(fixture.path().join("open/1.json")).unwrap();
    for hidden in [KEY, WEBHOOK_SECRET, "hidden", "red fox"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let lines: Vec<serde_json::Value> = text
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["state"], "unknown");
    assert_eq!(lines[0]["intent"]["operation"], "gen-2-pro");
    assert_eq!(lines[2]["task"], json!(task.reference()));
}

#[tokio::test]
async fn the_purpose_is_kept_in_the_journal_and_not_sent() {
    let (fixture, client) = Fixture::with_client().await;
    let origin = Origin::new("row 17").target("foxes/17.png").context(&json!({"row": 17}));
    fixture.service.reply(samples::accepted(&fixture.service, "t1"));
    let options = SubmitOptions::default().origin(origin);
    let _ = client.submit_with(fox(), options).await.unwrap();
    fixture.service.reply(Reply::reset());
    client.submit_with(fox(), SubmitOptions::default().origin("row 18")).await.unwrap_err();
    for post in fixture.service.posts() {
        let text = format!("{:?} {}", post.headers, String::from_utf8_lossy(&post.body));
        assert!(!text.contains("row 1"), "{text}");
    }
    drop(client);
    let unfinished = fixture.client().resume().await.unwrap();
    let [Unfinished::Task(_, task), Unfinished::Unknown(unknown)] = &unfinished[..] else {
        panic!("{unfinished:?}");
    };
    assert_eq!(task.intent().label(), Some("row 17"));
    assert_eq!(task.intent().target(), Some(Path::new("foxes/17.png")));
    assert_eq!(task.intent().context(), Some(json!({"row": 17})));
    assert_eq!(unknown.intent().label(), Some("row 18"));
    assert_eq!(unknown.intent().context::<u64>(), None);
}

/// `Task not found` is a failure at once for the wait, and for the record if it is repeated. Only
/// the clock of the service says when.
#[tokio::test(start_paused = true)]
async fn a_task_is_given_up_if_it_is_not_found_twice_in_ten_minutes() {
    let fixture = Fixture::new().await;
    let year = Arc::new(AtomicU64::new(0));
    let jumping = Arc::clone(&year);
    let wall = move || UNIX_EPOCH + samples::seconds(31_536_000 * jumping.load(Ordering::Relaxed));
    let journal = Directory::open(fixture.path()).unwrap();
    let believes = RetryPolicy::default().longest_doubt(Duration::ZERO);
    let client = samples::builder(&fixture.service).journal(journal).wall_clock(wall);
    let client = client.retry(believes).build().unwrap();
    fixture.service.reply(samples::accepted(&fixture.service, "t1"));
    let task = client.submit(fox()).await.unwrap();
    let dates = ["", "10:00:00", "", "10:09:59", "09:00:00", "10:00:00"];
    for (index, time) in dates.into_iter().enumerate() {
        // A year forward, and back again.
        year.store(50 + index as u64 % 2, Ordering::Relaxed);
        let reply = samples::status("Task not found");
        let date = format!("Sat, 28 Nov 2026 {time} GMT");
        fixture.service.reply(if time.is_empty() { reply } else { reply.header("Date", &date) });
        assert_eq!(task.wait().await.unwrap_err().kind(), ErrorKind::TaskNotFound);
        let expected = usize::from(index + 1 < dates.len());
        assert_eq!(client.resume().await.unwrap().len(), expected, "after {time}");
    }
    let listed = Directory::find(fixture.path(), 1).unwrap().unwrap().unwrap();
    assert!(matches!(listed.record.state(), State::Failed(_)));
}

#[tokio::test]
async fn the_record_has_what_the_service_said_about_a_failure() {
    let known = json!({"reason": "no memory", "code": 7});
    for (details, expected) in [
        (known.clone(), Some(json!({"details": known}))),
        (
            json!([format!("the key {KEY} is fine")]),
            Some(json!({"details": ["the key [redacted] is fine"]})),
        ),
        // Shortened.
        (json!("x".repeat(5000)), None),
    ] {
        let (fixture, client) = Fixture::with_client().await;
        let task = client.task(fixture.submit(&client, "t1").await);
        let body = json!({"id": "t1", "status": "Error", "result": null, "details": details});
        fixture.service.reply(Reply::json(200, &body));

        let error = task.wait().await.unwrap_err();

        samples::assert_kind(&error, ErrorKind::TaskFailed);
        let end = "the task ended with status `Error`: ";
        let end = if expected.is_some() { format!("{end}{{\"details\":") } else { end.to_owned() };
        assert!(error.message().contains(&end), "{error}");
        let listed = Directory::find(fixture.path(), 1).unwrap().unwrap().unwrap();
        match expected {
            Some(expected) => assert_eq!(listed.record.details(), Some(&expected)),
            None => assert!(listed.record.details().unwrap().as_str().unwrap().len() < 2100),
        }
    }
}

#[tokio::test]
async fn a_task_that_a_person_found_continues() {
    let (fixture, client) = Fixture::with_client().await;
    fixture.submit(&client, "t1").await;
    fixture.service.reply(Reply::reset());
    client.submit_with(fox(), SubmitOptions::default().origin("row 18")).await.unwrap_err();
    let resumed = client.resume().await.unwrap();
    let [_, Unfinished::Unknown(record)] = &resumed[..] else { panic!("{resumed:?}") };

    fixture.service.reply(samples::status("Task not found"));
    let error = client.adopt(record, "t2").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    fixture.service.reply(samples::status("Pending"));
    let error = client.adopt(record, "t1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Journal, "the task of another submission");
    assert_eq!(fixture.unfinished(&client).await, ["t1", "unknown"]);

    fixture.service.reply(samples::status("Pending"));
    assert_eq!(client.adopt(record, "t2").await.unwrap().id(), "t2");
    assert_eq!(fixture.unfinished(&client).await, ["t1", "t2"]);
}

/// A client of another service with the same journal can neither poll the task nor find it.
#[tokio::test]
async fn a_submission_to_another_service_is_left_to_its_client() {
    let (fixture, client) = Fixture::with_client().await;
    fixture.submit(&client, "t1").await;
    drop(client);
    let other = ScriptedServer::start().await;
    let journal = Directory::open(fixture.path()).unwrap();
    let elsewhere = samples::builder(&other).journal(journal).build().unwrap();
    let unfinished = elsewhere.resume().await.unwrap();
    let [Unfinished::Elsewhere(record)] = &unfinished[..] else { panic!("{unfinished:?}") };
    let service = record.intent().service().unwrap();
    assert!(service.contains(&fixture.service.authority()), "{service}");
    assert_eq!(elsewhere.adopt(record, "t2").await.unwrap_err().kind(), ErrorKind::Usage);
    assert!(other.received().is_empty());

    // It leaves the submission to others while it runs.
    let believes = RetryPolicy::default().longest_doubt(Duration::ZERO);
    let rotated = samples::builder(&fixture.service).api_key("a new key").retry(believes);
    let journal = Directory::open(fixture.path()).unwrap();
    let rotated = rotated.journal(journal).build().unwrap();
    let unfinished = rotated.resume().await.unwrap();
    let [Unfinished::Task(task, record)] = &unfinished[..] else { panic!("{unfinished:?}") };
    assert_eq!(rotated.has_key_of(record), Some(false));
    assert_eq!(task.id(), "t1");
    // The key may be that of another account, which does not find the task.
    for time in ["10:00:00", "11:00:00"] {
        let date = format!("Sat, 28 Nov 2026 {time} GMT");
        fixture.service.reply(samples::status("Task not found").header("Date", &date));
        assert_eq!(task.wait().await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    }
    assert_eq!(rotated.resume().await.unwrap().len(), 1);
    // Now somebody works on it.
    assert!(elsewhere.resume().await.unwrap().is_empty());
}

/// A reference that was made from an id does not name the submission.
#[tokio::test]
async fn a_task_is_settled_by_its_id() {
    let (fixture, client) = Fixture::with_client().await;
    fixture.submit(&client, "t1").await;
    let by_id = |id: &str| client.task_in(Region::Global, id).unwrap().reference().clone();
    let error = client.settle(&by_id("t2")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Journal);
    assert_eq!(fixture.unfinished(&client).await, ["t1"]);
    client.settle(&by_id("t1")).await.unwrap();
    assert!(fixture.unfinished(&client).await.is_empty());
}
