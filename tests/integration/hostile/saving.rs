//! Saving: the file at the path is either a complete picture or the previous file, and no other
//! file is left.

use std::{fs, path::Path};

use tempfile::TempDir;
use tokio::runtime;

use crate::support::{
    reply::Reply,
    samples::{PNG, assert_kind, large_png, ready_picture},
};
use imagekiln::{ErrorKind, FileKind};

/// Returns the sorted names in a directory.
pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn a_truncated_download_is_retried_and_saved_completely() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("fox.png");
    let png = large_png(700_000);
    let (_service, delivery, picture) = ready_picture().await;
    delivery
        .reply(Reply::png(&png[..400_000]).declaring_length(png.len()).then_close())
        .reply(Reply::cut_chunks(&png[..400_000]))
        .reply(Reply::png(&png[..400_000]))
        .reply(Reply::png(&png));

    let saved = picture.save(&target).await.unwrap();

    assert_eq!(
        (saved.path.as_path(), saved.kind, saved.bytes),
        (target.as_path(), Some(FileKind::Png), 700_000)
    );
    assert!(fs::read(&target).unwrap() == png);
    assert_eq!(names(directory.path()), ["fox.png"]);
    assert_eq!(delivery.received().len(), 4);
    delivery.assert_no_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_picture_that_does_not_arrive_changes_nothing() {
    type Make = fn() -> Reply;
    let cases: [(Make, ErrorKind); 4] = [
        // Nothing arrives that could be kept.
        (|| Reply::status(200), ErrorKind::Damaged),
        (|| Reply::png(b"").declaring_length(PNG.len()).then_close(), ErrorKind::Download),
        (|| Reply::close(), ErrorKind::Download),
        (|| Reply::status(500), ErrorKind::Download),
    ];
    for (reply, kind) in cases {
        let directory = TempDir::new().unwrap();
        let (_service, delivery, picture) = ready_picture().await;
        delivery.otherwise(move |_| reply());

        let error = picture.save(directory.path().join("new.png")).await.unwrap_err();
        assert_kind(&error, kind);
        assert_eq!(names(directory.path()), Vec::<String>::new());

        let old = directory.path().join("old.png");
        fs::write(&old, "the old file").unwrap();
        let error = picture.save(&old).await.unwrap_err();
        assert_kind(&error, kind);
        assert_eq!(error.task(), Some(picture.task()));
        assert_eq!(fs::read(&old).unwrap(), b"the old file");
        assert_eq!(names(directory.path()), ["old.png"]);
        delivery.assert_no_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn an_existing_file_is_replaced_only_at_the_end() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("fox.png");
    fs::write(&target, "the old file").unwrap();
    let (_service, delivery, picture) = ready_picture().await;
    let (reply, pieces) = Reply::png(&PNG[..30]).declaring_length(PNG.len()).in_pieces();
    delivery.reply(reply);
    let saving = tokio::spawn({
        let target = target.clone();
        async move { picture.save(target).await }
    });
    delivery.wait_for_requests(1).await;
    assert_eq!(fs::read(&target).unwrap(), b"the old file");

    pieces.send(&PNG[30..]);
    saving.await.unwrap().unwrap();

    assert_eq!(fs::read(&target).unwrap(), PNG);
    assert_eq!(names(directory.path()), ["fox.png"]);
}

#[tokio::test(start_paused = true)]
async fn an_unwritable_path_is_an_error_before_the_download() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    fs::create_dir_all(directory.path().join("taken/inside")).unwrap();
    let (_service, delivery, picture) = ready_picture().await;
    let png = large_png(3_000_000);
    delivery.otherwise(move |_| Reply::png(&png));
    for target in ["missing/fox.png", "file/fox.png", "taken"] {
        let error = picture.save(directory.path().join(target)).await.unwrap_err();

        assert_kind(&error, ErrorKind::File);
        assert_eq!(error.task(), Some(picture.task()));
        assert!(error.to_string().contains(target), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    assert_eq!(names(directory.path()), ["file", "taken"]);
    delivery.assert_received_nothing();
    assert_eq!(picture.bytes().await.unwrap().len(), 3_000_000);
    delivery.assert_no_request_has_the_key();
}

/// Dropping the runtime waits for its blocking threads, so the check finds files that are left
/// behind.
#[test]
fn a_cancelled_save_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("fox.png");
    let runtime =
        runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (_service, delivery, picture) = ready_picture().await;
        let png = large_png(70_000);
        let (reply, pieces) = Reply::png(&png[..40_000]).declaring_length(png.len()).in_pieces();
        delivery.reply(reply);
        let saving = tokio::spawn({
            let target = target.clone();
            async move { picture.save(target).await }
        });
        delivery.wait_for_requests(1).await;
        assert_eq!(names(directory.path()).len(), 1);

        saving.abort();

        assert!(saving.await.unwrap_err().is_cancelled());
        drop(pieces);
    });
    drop(runtime);
    assert_eq!(names(directory.path()), Vec::<String>::new());
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_device_or_a_pipe_is_not_replaced() {
    let (_service, delivery, picture) = ready_picture().await;
    delivery.otherwise(|_| Reply::png(PNG));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();

    for follow in [true, false] {
        let options = imagekiln::SaveOptions::default().follow_symlinks(follow);
        let error = picture.save_with(&socket, options).await.unwrap_err();
        assert_kind(&error, ErrorKind::File);
    }

    assert!(!std::fs::metadata(&socket).unwrap().is_file(), "the picture replaced the socket");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
