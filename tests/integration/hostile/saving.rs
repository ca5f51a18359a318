//! Saving: at the target stands a whole picture, or what stood there before; and nothing beside it.

use std::{fs, path::Path};

use imagekiln::{ErrorKind, FileKind};
use tempfile::TempDir;
use tokio::runtime;

use crate::support::{
    answer::Answer,
    samples::{PNG, assert_kind, client, large_png, picture},
    scripted::ScriptedServer,
};

/// The names in a directory, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn a_truncated_download_is_repeated_and_saved_whole() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("fox.png");
    let png = large_png(700_000);
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery
        .answer(Answer::png(&png[..400_000]).declaring_length(png.len()).then_close())
        .answer(Answer::cut_chunks(&png[..400_000]))
        .answer(Answer::png(&png));

    let saved = picture.save(&target).await.unwrap();

    assert_eq!((saved.path.as_path(), saved.kind, saved.bytes), (target.as_path(), FileKind::Png, 700_000));
    assert!(fs::read(&target).unwrap() == png);
    assert_eq!(names(directory.path()), ["fox.png"]);
    assert_eq!(delivery.received().len(), 3);
    delivery.assert_no_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn what_is_no_picture_leaves_everything_as_it_was() {
    type Make = fn() -> Answer;
    let cases: [Make; 6] = [
        || Answer::html(200),
        || Answer::status(200),
        || Answer::png(&PNG[..40]).until_close(),
        || Answer::png(PNG).declaring_length(1000).then_close(),
        || Answer::cut_chunks(PNG),
        || Answer::status(500),
    ];
    for answer in cases {
        let directory = TempDir::new().unwrap();
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        delivery.otherwise(move |_| answer());

        let error = picture.save(directory.path().join("new.png")).await.unwrap_err();
        assert_kind(&error, ErrorKind::Delivery);
        assert_eq!(names(directory.path()), Vec::<String>::new());

        let old = directory.path().join("old.png");
        fs::write(&old, "what stood there").unwrap();
        let error = picture.save(&old).await.unwrap_err();
        assert_kind(&error, ErrorKind::Delivery);
        assert_eq!(error.task(), Some(picture.task()));
        assert_eq!(fs::read(&old).unwrap(), b"what stood there");
        assert_eq!(names(directory.path()), ["old.png"]);
        delivery.assert_no_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_at_the_target_is_replaced_only_at_the_end() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("fox.png");
    fs::write(&target, "what stood there").unwrap();
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    let (answer, pieces) = Answer::png(&PNG[..30]).declaring_length(PNG.len()).in_pieces();
    delivery.answer(answer);
    let saving = tokio::spawn({
        let target = target.clone();
        async move { picture.save(target).await }
    });
    delivery.wait_for_requests(1).await;
    assert_eq!(fs::read(&target).unwrap(), b"what stood there");

    pieces.send(&PNG[30..]);
    saving.await.unwrap().unwrap();

    assert_eq!(fs::read(&target).unwrap(), PNG);
    assert_eq!(names(directory.path()), ["fox.png"]);
}

#[tokio::test(start_paused = true)]
async fn where_nothing_can_be_written_is_an_error_of_the_file() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    fs::create_dir_all(directory.path().join("taken/inside")).unwrap();
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    let png = large_png(3_000_000);
    delivery.otherwise(move |_| Answer::png(&png));
    for target in ["missing/fox.png", "file/fox.png", "taken"] {
        let error = picture.save(directory.path().join(target)).await.unwrap_err();

        assert_kind(&error, ErrorKind::File);
        assert_eq!(error.task(), Some(picture.task()));
        assert!(error.to_string().contains(target), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    assert_eq!(names(directory.path()), ["file", "taken"]);
    assert_eq!(delivery.received().len(), 3, "a file that can't be written is not fetched again");
    assert_eq!(picture.bytes().await.unwrap().len(), 3_000_000);
    delivery.assert_no_request_has_the_key();
}

/// Dropping the runtime waits for its blocking threads, so what the saving leaves is there to be seen.
#[test]
fn that_is_cancelled_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("fox.png");
    let runtime = runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
        let picture = picture(&client(&service), &service, &delivery).await;
        let png = large_png(700_000);
        let (answer, pieces) = Answer::png(&png[..500_000]).declaring_length(png.len()).in_pieces();
        delivery.answer(answer);
        let saving = tokio::spawn({
            let target = target.clone();
            async move { picture.save(target).await }
        });
        while names(directory.path()).is_empty() {
            tokio::task::yield_now().await;
        }

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
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
    delivery.otherwise(|_| Answer::png(PNG));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();

    let error = picture.save(&socket).await.unwrap_err();

    assert_kind(&error, ErrorKind::File);
    assert!(!std::fs::metadata(&socket).unwrap().is_file(), "the picture was put in the socket's place");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
