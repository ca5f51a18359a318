//! The next process resumes the tasks in the journal, and the journal forgets finished tasks.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{
    done,
    reply::Reply,
    samples::{self, KEY, WEBHOOK_SECRET, fox},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Client, TaskRef, Unfinished, journal::FileJournal};

struct Fixture {
    service: ScriptedServer,
    directory: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self { service: ScriptedServer::start().await, directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("tasks.jsonl")
    }

    /// A client in a new process. The previous client must be dropped.
    fn client(&self) -> Client {
        let journal = FileJournal::open(self.path()).unwrap();
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
            Unfinished::Task(task) => task.id().to_owned(),
            _ => "unknown".to_owned(),
        };
        unfinished.into_iter().map(name).collect()
    }
}

#[tokio::test]
async fn tasks_are_resumed_until_their_pictures_are_saved() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    for id in ["t1", "t2", "t3"] {
        fixture.submit(&client, id).await;
    }
    drop(client);

    let client = fixture.client();
    let resumed = client.resume().await.unwrap();
    let [Unfinished::Task(first), Unfinished::Task(second), Unfinished::Task(_)] =
        resumed.as_slice()
    else {
        panic!("{resumed:?}");
    };
    assert_eq!(first.reference(), &samples::submitted(&fixture.service));
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

#[tokio::test(start_paused = true)]
async fn a_submission_of_unknown_billing_is_reported_and_never_sent_again() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    fixture.service.reply(Reply::reset());
    client.submit(fox()).await.unwrap_err();
    drop(client);

    let client = fixture.client();
    let resumed = client.resume().await.unwrap();
    let [Unfinished::Unknown(intent)] = resumed.as_slice() else { panic!("{resumed:?}") };
    assert_eq!(intent.operation(), "gen-2-pro");
    assert_eq!(fixture.service.posts().len(), 1);
    client.dismiss(intent).await.unwrap();
    assert_eq!(fixture.unfinished(&client).await, [""; 0]);
}

#[tokio::test]
async fn failed_tasks_are_not_resumed_but_tasks_not_found_are() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
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
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let (response, rest) = Reply::nothing().in_pieces();
    fixture.service.reply(response);
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox()).await }
    });
    fixture.service.wait_for_requests(1).await;
    assert_eq!(fixture.unfinished(&client).await, [""; 0]);
    rest.send(samples::accepted(&fixture.service, "t1").bytes());
    let _ = done(submission).await.unwrap().unwrap();
    assert_eq!(fixture.unfinished(&client).await, ["t1"]);
    settle().await;
}

#[tokio::test]
async fn a_client_without_a_journal_has_nothing_to_resume() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    assert!(client.resume().await.unwrap().is_empty());
    client.settle(&samples::reference(&service)).await.unwrap();
}

#[tokio::test]
async fn the_file_contains_no_secret_and_no_prompt() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    fixture.service.reply(samples::accepted(&fixture.service, "t1"));
    let request =
        fox().webhook_url("https://example.com/?token=hidden").webhook_secret(WEBHOOK_SECRET);
    let _ = client.submit(request).await.unwrap();
    let text = read(&fixture.path());
    for hidden in [KEY, WEBHOOK_SECRET, "hidden", "red fox"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["intent"]["operation"], "gen-2-pro");
    assert_eq!(lines[1]["accepted"]["intent"], lines[0]["intent"]["id"]);
    assert_eq!(lines[1]["accepted"]["task"], json!(samples::submitted(&fixture.service)));
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn a_label_is_kept_in_the_journal_and_not_sent() {
    let fixture = Fixture::new().await;
    // Written by a version that had no labels.
    let intent = json!({"id": "0123456789abcdef", "operation": "gen-2-pro", "at": 1});
    std::fs::write(fixture.path(), format!("{}\n", json!({"intent": intent}))).unwrap();
    let client = fixture.client();
    fixture.service.reply(Reply::reset());
    client.submit_labelled(fox(), "row 17").await.unwrap_err();
    fixture.service.reply(Reply::reset());
    client.submit(fox()).await.unwrap_err();
    for post in fixture.service.posts() {
        let text = format!("{:?} {}", post.headers, String::from_utf8_lossy(&post.body));
        assert!(!text.contains("row 17"), "{text}");
    }
    drop(client);
    let unfinished = fixture.client().resume().await.unwrap();
    let label = |unfinished: &Unfinished| match unfinished {
        Unfinished::Unknown(intent) => intent.label().map(str::to_owned),
        other => panic!("{other:?}"),
    };
    let labels: Vec<_> = unfinished.iter().map(label).collect();
    assert_eq!(labels, [None, Some("row 17".to_owned()), None]);
}
