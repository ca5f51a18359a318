//! Files that change while they are sent: the upload stops before its last byte, and nothing is
//! paid.

use std::{fs, io::Write, path::PathBuf};

use imagekiln::ErrorKind;
use serde_json::json;
use tempfile::TempDir;

use super::uploads::{file_in, server_of_small_buffers};
use crate::support::{
    answer::Answer,
    samples::{PNG, assert_kind, client, fox, large_png, seconds},
    scripted::ScriptedServer,
};

/// The file changes between two attempts, which is the moment that a test can hold.
async fn assert_cut_off_after(change: impl FnOnce(&PathBuf)) {
    let directory = TempDir::new().unwrap();
    let path = file_in(&directory, &large_png(1_000_000));
    let service = ScriptedServer::start().await;
    let (busy, pieces) = Answer::nothing().in_pieces();
    service.answer(busy).otherwise(|_| Answer::silence());
    let client = client(&service);
    let request = fox().input_image(path.clone());
    let submission = tokio::spawn(async move { client.submit(request).await });
    service.wait_for_requests(1).await;

    change(&path);
    pieces.send(Answer::json(429, &json!({})).header("Retry-After", "1").bytes());
    drop(pieces);
    let error = submission.await.unwrap().unwrap_err();

    assert_kind(&error, ErrorKind::File);
    assert!(!error.may_have_been_billed(), "{error:?}");
    assert!(error.to_string().contains("reference.png"), "{error}");
    let whole = service.posts().iter().filter(|post| post.complete).count();
    assert_eq!(whole, 1, "only the attempt that was answered with 429 came to its end");
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn that_vanish_are_not_billed() {
    assert_cut_off_after(|path| fs::remove_file(path).unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn that_become_shorter_are_not_billed() {
    assert_cut_off_after(|path| fs::write(path, PNG).unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn that_grow_are_not_billed() {
    assert_cut_off_after(|path| {
        let mut file = fs::File::options().append(true).open(path).unwrap();
        file.write_all(b"more").unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn that_are_written_again_are_not_billed() {
    assert_cut_off_after(|path| {
        let later = path.metadata().unwrap().modified().unwrap() + seconds(1);
        fs::write(path, large_png(1_000_000)).unwrap();
        fs::File::options().append(true).open(path).unwrap().set_modified(later).unwrap();
    })
    .await;
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn that_are_replaced_are_not_billed() {
    assert_cut_off_after(|path| {
        let modified = path.metadata().unwrap().modified().unwrap();
        let other = path.with_extension("other");
        fs::write(&other, large_png(1_000_000)).unwrap();
        fs::File::options().append(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(other, path).unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn that_change_halfway_are_never_sent_whole() {
    let directory = TempDir::new().unwrap();
    let path = file_in(&directory, &large_png(32_000_000));
    let service = server_of_small_buffers().await;
    let (answer, pace) = Answer::silence().reading_slowly();
    service.answer(answer);
    let client = client(&service);
    let request = fox().input_image(path.clone());
    let submission = tokio::spawn(async move { client.submit(request).await });
    service.wait_for_heads(1).await;

    pace.read(1_000_000).await;
    fs::File::options().append(true).open(&path).unwrap().write_all(b"more").unwrap();
    drop(pace);
    let error = submission.await.unwrap().unwrap_err();

    assert_kind(&error, ErrorKind::File);
    assert!(!error.may_have_been_billed(), "{error:?}");
    assert!(error.to_string().contains("reference.png"), "{error}");
    assert!(!service.only_request().complete);
}
