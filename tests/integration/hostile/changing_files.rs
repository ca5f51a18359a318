//! Files that change while they are sent: the upload stops before its last byte, and nothing is
//! billed.

use std::{fs, io::Write, path::Path};

use serde_json::json;
use tempfile::TempDir;

use super::uploads::{file_in, server_of_small_buffers};
use crate::support::{
    reply::Reply,
    samples::{PNG, assert_billing, assert_kind, client, fox, large_png, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, ErrorKind};

fn append(path: &Path) -> fs::File {
    fs::File::options().append(true).open(path).unwrap()
}

/// Changes the file between two attempts, because a test can control that moment.
#[tokio::test(start_paused = true)]
async fn files_that_change_before_a_retry_are_not_billed() {
    type Change = fn(&Path);
    let changes: &[(&str, Change)] = &[
        ("vanished", |path| fs::remove_file(path).unwrap()),
        ("shrunk", |path| fs::write(path, PNG).unwrap()),
        ("grown", |path| append(path).write_all(b"more").unwrap()),
        ("rewritten", |path| {
            let later = path.metadata().unwrap().modified().unwrap() + seconds(1);
            fs::write(path, large_png(1_000_000)).unwrap();
            append(path).set_modified(later).unwrap();
        }),
        #[cfg(unix)]
        ("replaced", |path| {
            let modified = path.metadata().unwrap().modified().unwrap();
            let other = path.with_extension("other");
            fs::write(&other, large_png(1_000_000)).unwrap();
            append(&other).set_modified(modified).unwrap();
            fs::rename(other, path).unwrap();
        }),
    ];
    for (change, apply) in changes {
        let directory = TempDir::new().unwrap();
        let path = file_in(&directory, &large_png(1_000_000));
        let service = ScriptedServer::start().await;
        let (busy, pieces) = Reply::nothing().in_pieces();
        service.reply(busy).otherwise(|_| Reply::silence());
        let client = client(&service);
        let request = fox().input_image(path.clone());
        let submission = tokio::spawn(async move { client.submit(request).await });
        service.wait_for_requests(1).await;

        apply(&path);
        pieces.send(Reply::json(429, &json!({})).header("Retry-After", "1").bytes());
        drop(pieces);
        let error = submission.await.unwrap().unwrap_err();

        assert_kind(&error, ErrorKind::File);
        assert_eq!(error.billing(), Billing::NotBilled, "{change}: {error:?}");
        assert!(error.to_string().contains("reference.png"), "{change}: {error}");
        let complete = service.posts().iter().filter(|post| post.complete).count();
        assert_eq!(complete, 1, "{change}: only the attempt with response 429 was complete");
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn files_that_change_during_the_upload_are_not_sent_completely() {
    let directory = TempDir::new().unwrap();
    let path = file_in(&directory, &large_png(32_000_000));
    let service = server_of_small_buffers().await;
    let (reply, pace) = Reply::silence().reading_slowly();
    service.reply(reply);
    let client = client(&service);
    let request = fox().input_image(path.clone());
    let submission = tokio::spawn(async move { client.submit(request).await });
    service.wait_for_heads(1).await;

    pace.read(1_000_000).await;
    append(&path).write_all(b"more").unwrap();
    drop(pace);
    let error = submission.await.unwrap().unwrap_err();

    assert_billing(&error, ErrorKind::File, Billing::NotBilled);
    assert!(error.to_string().contains("reference.png"), "{error}");
    assert!(!service.only_request().complete);
}
