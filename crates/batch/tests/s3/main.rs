//! Batches that save to a bucket, over real HTTP: a simulator, and a server with the interface of
//! S3. The settings of buckets come from the environment, so each batch runs in a process.

mod child;
mod server;

use std::fs;

use imagekiln_batch::{JobState, JobStatus};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    child::{Fixture, SECRET},
    server::{Fault, MARKER},
};
use imagekiln_testbed::ClosedPort;

const KEY: &str = "foxes/red.jpg";

fn is_picture(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff")
}

fn path(status: &JobStatus) -> &str {
    status.location.as_ref().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_and_its_description_are_saved() {
    let fixture = Fixture::new().await;
    let outcome = fixture.run("s3://pictures/new", KEY).await;
    assert_eq!(outcome, "1 saved");
    let status = fixture.status().await;
    assert_eq!((status.state, path(&status)), (JobState::Saved, "s3://pictures/new/foxes/red.jpg"));
    assert!(fixture.server.object(&format!("new/{MARKER}")).is_some());
    let picture = fixture.server.object("new/foxes/red.jpg").unwrap();
    assert!(is_picture(&picture));
    let json = fixture.server.object("new/foxes/red.jpg.json").unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    let digest: String =
        Sha256::digest(&picture).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(json["picture"]["sha256"], digest);
    assert_eq!(json["picture"]["bytes"], picture.len());
    assert_eq!(json["picture"]["media_type"], "image/jpeg");
    assert_eq!(json["task_id"], status.task_id.unwrap());
    assert_eq!(json["request"]["fields"]["prompt"], "a red fox");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_template_names_the_object() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.run("s3://pictures", "{model}/{slug}-{seed}.{ext}").await, "1 saved");
    assert!(is_picture(&fixture.server.object("gen-2-pro/a-red-fox-7.jpg").unwrap()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_exists_is_not_paid_for() {
    let fixture = Fixture::new().await;
    fixture.server.put(KEY, "mine");
    assert_eq!(fixture.run("s3://pictures", KEY).await, "0 saved");
    assert!(fixture.status().await.reason.unwrap().contains("the target exists"));
    assert_eq!(fixture.server.object(KEY).unwrap(), b"mine");
    assert_eq!(fixture.accepted(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_appears_during_the_upload_is_not_overwritten() {
    let fixture = Fixture::new().await;
    fixture.server.inject([Fault::Overtake]);
    assert_eq!(fixture.run("s3://pictures", KEY).await, "1 saved");
    assert_eq!(fixture.server.object(KEY).unwrap(), b"mine");
    let status = fixture.status().await;
    let key = path(&status).strip_prefix("s3://pictures/").unwrap();
    assert_eq!(key, format!("foxes/red-{}.jpg", status.task_id.as_ref().unwrap()));
    assert!(is_picture(&fixture.server.object(key).unwrap()));
    assert_eq!(fixture.accepted(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_is_retried() {
    let fixture = Fixture::new().await;
    fixture.server.inject([Fault::Refuse, Fault::Refuse]);
    assert_eq!(fixture.run("s3://pictures", KEY).await, "1 saved");
    assert!(is_picture(&fixture.server.object(KEY).unwrap()));
    assert_eq!(fixture.server.puts(KEY), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_whose_response_was_lost_is_not_repeated_under_another_name() {
    for fault in [Fault::LoseResponse, Fault::Disconnect] {
        let fixture = Fixture::new().await;
        fixture.server.inject([fault]);
        assert_eq!(fixture.run("s3://pictures", KEY).await, "1 saved");
        let status = fixture.status().await;
        assert_eq!(path(&status), "s3://pictures/foxes/red.jpg");
        assert_eq!(fixture.server.objects("foxes"), ["red.jpg", "red.jpg.json"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_was_not_recorded_is_resumed() {
    let fixture = Fixture::new().await;
    fixture.server.inject([Fault::HoldResponse]);
    let mut child = fixture.start("s3://pictures", KEY);
    fixture.server.held().await;
    child.kill().unwrap();
    child.wait().unwrap();
    let status = fixture.status().await;
    assert_eq!((status.state, path(&status)), (JobState::Ready, "s3://pictures/foxes/red.jpg"));
    assert!(is_picture(&fixture.server.object(KEY).unwrap()));

    assert_eq!(fixture.run("s3://pictures", KEY).await, "1 saved");
    assert_eq!((fixture.server.puts(KEY), fixture.accepted()), (1, 1));
    assert_eq!(fixture.server.objects("foxes"), ["red.jpg", "red.jpg.json"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_credentials_are_named_before_anything_is_paid_for() {
    let fixture = Fixture::new().await;
    let wrong = "WRONG-SECRET";
    let outcome = fixture.run_with("s3://pictures", KEY, &[("AWS_SECRET_ACCESS_KEY", wrong)]).await;
    assert!(outcome.contains("could not list s3://pictures/: the credentials were refused"));
    assert!(outcome.contains("status code 403, SignatureDoesNotMatch"), "{outcome}");
    assert!(outcome.contains("AWS_SECRET_ACCESS_KEY"), "{outcome}");
    assert!(!outcome.contains(wrong) && !outcome.contains(SECRET), "{outcome}");
    assert_eq!(fixture.accepted(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_checked_before_anything_is_paid_for() {
    let fixture = Fixture::new().await;
    let closed = ClosedPort::reserve();
    for (output, variable, expected) in [
        ("s3://missing", ("A", ""), "the bucket does not exist (status code 404, NoSuchBucket)"),
        ("s3://pictures", ("AWS_ALLOW_HTTP", "false"), "the request failed"),
        (
            "s3://pictures",
            ("AWS_ENDPOINT", &closed.url()),
            "the request failed (connection refused)",
        ),
        ("s3://pictures", ("AWS_ENDPOINT", "nonsense"), "AWS_ENDPOINT is not an http or https URL"),
        ("s3://pictures", ("AWS_ENDPOINT", ""), "AWS_ENDPOINT is not an http or https URL"),
        ("s3://pictures", ("AWS_SESSION_TOKEN", "a\nb"), "AWS_SESSION_TOKEN is not printable"),
        ("s3://pictures", ("AWS_CONDITIONAL_PUT", "maybe"), "a setting is invalid"),
    ] {
        let outcome = fixture.run_with(output, KEY, &[variable]).await;
        assert!(outcome.contains(expected), "{outcome}");
        assert_eq!(fixture.accepted(), 0);
    }
    #[cfg(not(feature = "gcs"))]
    {
        let outcome = fixture.run("gs://pictures", KEY).await;
        assert!(outcome.contains("gs URLs need the Cargo feature `gcs`"), "{outcome}");
    }
    assert!(fs::read_dir(fixture.server.root().join("pictures")).unwrap().next().is_none());
}
