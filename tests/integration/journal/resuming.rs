//! What a journal kept is resumed by the next process, and forgotten when nothing more is to be
//! done.

use std::path::{Path, PathBuf};

use imagekiln::{Client, TaskRef, Unfinished, journal::FileJournal};
use serde_json::json;

use crate::support::{
    answer::Answer,
    done,
    samples::{self, KEY, WEBHOOK_SECRET, fox},
    scripted::ScriptedServer,
    settle,
};

struct Setting {
    service: ScriptedServer,
    directory: tempfile::TempDir,
}

impl Setting {
    async fn new() -> Self {
        Self { service: ScriptedServer::start().await, directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("tasks.jsonl")
    }

    /// A client of the next process: the one before must be dropped.
    fn client(&self) -> Client {
        let journal = FileJournal::open(self.path()).unwrap();
        samples::builder(&self.service).journal(journal).build().unwrap()
    }

    async fn submit(&self, client: &Client, id: &str) -> TaskRef {
        self.service.answer(samples::accepted(&self.service, id));
        client.submit(fox()).await.unwrap().reference().clone()
    }

    /// The ids of the tasks that the next process resumes, and `unknown` for each submission of
    /// which that is unknown.
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
    let setting = Setting::new().await;
    let client = setting.client();
    for id in ["t1", "t2", "t3"] {
        setting.submit(&client, id).await;
    }
    drop(client);

    let client = setting.client();
    let resumed = client.resume().await.unwrap();
    let [Unfinished::Task(first), Unfinished::Task(second), Unfinished::Task(_)] =
        resumed.as_slice()
    else {
        panic!("{resumed:?}");
    };
    assert_eq!(first.reference(), &samples::submitted(&setting.service));
    setting.service.answer(samples::ready(&setting.service)).answer(Answer::png(samples::PNG));
    first.wait().await.unwrap().save(setting.directory.path().join("fox.png")).await.unwrap();
    // In memory only: the program says when it has what it wants.
    setting.service.answer(samples::ready(&setting.service)).answer(Answer::png(samples::PNG));
    second.wait().await.unwrap().bytes().await.unwrap();
    assert_eq!(setting.unfinished(&client).await, ["t2", "t3"]);
    client.settle(second.reference()).await.unwrap();
    client.settle(second.reference()).await.unwrap();
    drop((client, resumed));
    assert_eq!(setting.unfinished(&setting.client()).await, ["t3"]);
}

#[tokio::test(start_paused = true)]
async fn a_submission_of_unknown_billing_is_reported_and_never_sent_again() {
    let setting = Setting::new().await;
    let client = setting.client();
    setting.service.answer(Answer::reset());
    client.submit(fox()).await.unwrap_err();
    drop(client);

    let client = setting.client();
    let resumed = client.resume().await.unwrap();
    let [Unfinished::Unknown(intent)] = resumed.as_slice() else { panic!("{resumed:?}") };
    assert_eq!(intent.operation(), "gen-2-pro");
    assert_eq!(setting.service.posts().len(), 1);
    client.dismiss(intent).await.unwrap();
    assert_eq!(setting.unfinished(&client).await, [""; 0]);
}

#[tokio::test]
async fn a_task_that_failed_is_not_resumed_and_one_that_was_not_found_is() {
    let setting = Setting::new().await;
    let client = setting.client();
    for (id, status) in [
        ("t1", "Error"),
        ("t2", "Request Moderated"),
        ("t3", "Content Moderated"),
        ("t4", "Task not found"),
        ("t5", "Pending"),
    ] {
        let task = setting.submit(&client, id).await;
        setting.service.answer(samples::status(status));
        client.task(task).poll().await.unwrap();
    }
    assert_eq!(setting.unfinished(&client).await, ["t4", "t5"]);
}

#[tokio::test]
async fn what_is_under_way_is_not_called_unknown() {
    let setting = Setting::new().await;
    let client = setting.client();
    let (response, rest) = Answer::nothing().in_pieces();
    setting.service.answer(response);
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox()).await }
    });
    setting.service.wait_for_requests(1).await;
    assert_eq!(setting.unfinished(&client).await, [""; 0]);
    rest.send(samples::accepted(&setting.service, "t1").bytes());
    let _ = done(submission).await.unwrap().unwrap();
    assert_eq!(setting.unfinished(&client).await, ["t1"]);
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
async fn the_file_holds_no_secret_and_no_prompt() {
    let setting = Setting::new().await;
    let client = setting.client();
    setting.service.answer(samples::accepted(&setting.service, "t1"));
    let request =
        fox().webhook_url("https://example.com/?token=hidden").webhook_secret(WEBHOOK_SECRET);
    let _ = client.submit(request).await.unwrap();
    let text = read(&setting.path());
    for hidden in [KEY, WEBHOOK_SECRET, "hidden", "red fox"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["intent"]["operation"], "gen-2-pro");
    assert_eq!(lines[1]["accepted"]["intent"], lines[0]["intent"]["id"]);
    assert_eq!(lines[1]["accepted"]["task"], json!(samples::submitted(&setting.service)));
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
