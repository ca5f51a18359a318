//! Deliveries that stay damaged: what arrived is kept, and no other file changes.

use std::fs;

use super::saving::names;
use crate::support::{
    reply::Reply,
    samples::{self, PNG, assert_kind, large_png, ready_picture},
    scripted::ScriptedServer,
};
use imagekiln::{
    ErrorKind, FileKind,
    journal::{Directory, Journal as _, State},
};

#[tokio::test(start_paused = true)]
async fn what_arrived_is_kept_beside_the_target() {
    type Make = fn() -> Reply;
    let cases: [(Make, &[u8]); 5] = [
        (|| Reply::png(&PNG[..40]), &PNG[..40]),
        (|| Reply::png(&PNG[..40]).until_close(), &PNG[..40]),
        (|| Reply::png(&PNG[..40]).declaring_length(PNG.len()).then_close(), &PNG[..40]),
        (|| Reply::cut_chunks(&PNG[..40]), &PNG[..40]),
        (|| Reply::status(200).body("<p>the picture is being prepared</p>"), b"<p>the picture is"),
    ];
    for (reply, expected) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for (name, content) in [("fox.png", "the old file"), ("fox.png.damaged", "another file")] {
            fs::write(path(name), content).unwrap();
        }
        let (_service, delivery, picture) = ready_picture().await;
        delivery.otherwise(move |_| reply());

        // The second one has the same content, so there is one file.
        for _ in 0..2 {
            let error = picture.save(path("fox.png")).await.unwrap_err();
            assert_kind(&error, ErrorKind::Damaged);
            assert_eq!(error.task(), Some(picture.task()));
            assert!(!error.is_transient());
            let damaged = error.damaged().unwrap();
            assert_eq!(damaged.path(), Some(path("fox.png.2.damaged")));
            let kept = fs::read(path("fox.png.2.damaged")).unwrap();
            assert!(kept.starts_with(expected) && kept.len() as u64 == damaged.bytes());
        }
        assert_eq!(names(directory.path()), ["fox.png", "fox.png.2.damaged", "fox.png.damaged"]);
        assert_eq!(fs::read(path("fox.png")).unwrap(), b"the old file");
        assert_eq!(fs::read(path("fox.png.damaged")).unwrap(), b"another file");
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_may_choose_the_name_or_drop_the_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (_service, delivery, picture) = ready_picture().await;
    delivery.otherwise(|_| Reply::png(&large_png(3000)[..2000]));

    let error = picture.download_in(directory.path()).await.unwrap_err();
    assert_eq!(error.damaged().unwrap().path(), None);
    drop(error);
    assert!(names(directory.path()).is_empty());

    let error = picture.download_in(directory.path()).await.unwrap_err();
    let damaged = error.damaged().unwrap();
    assert_eq!((damaged.kind(), damaged.bytes()), (Some(FileKind::Png), 2000));
    damaged.keep(directory.path().join("a.png")).unwrap();
    assert_eq!(names(directory.path()), ["a.png.damaged"]);

    let error = picture.save_in(directory.path()).await.unwrap_err();
    assert!(error.damaged().unwrap().path().unwrap().ends_with("gen-2-pro-t1.png.damaged"));
}

/// A connection that breaks anywhere says nothing about the picture.
#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_at_different_bytes_is_not_a_damaged_picture() {
    let directory = tempfile::tempdir().unwrap();
    let (_service, delivery, picture) = ready_picture().await;
    for length in [20, 30, 20, 40] {
        let broken = Reply::png(&PNG[..length]).declaring_length(PNG.len()).then_close();
        delivery.reply(broken);
    }

    let error = picture.save(directory.path().join("fox.png")).await.unwrap_err();

    assert_kind(&error, ErrorKind::Download);
    assert!(error.damaged().is_none());
    assert!(names(directory.path()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_journal_knows_the_damaged_file_until_the_picture_is_saved() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Directory::open(directory.path().join("journal")).unwrap();
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).journal(journal.clone()).build().unwrap();
    service.reply(samples::accepted(&service, "t1")).reply(samples::ready(&delivery));
    let picture = client.submit(samples::fox()).await.unwrap().wait().await.unwrap();
    for _ in 0..4 {
        delivery.reply(Reply::png(&PNG[..50]));
    }
    picture.save(directory.path().join("fox.png")).await.unwrap_err();

    let record = journal.open_records().await.unwrap().pop().unwrap().unwrap();
    assert_eq!(record.state(), &State::Ready);
    assert_eq!(record.damaged(), Some(&*directory.path().join("fox.png.damaged")));

    delivery.reply(Reply::png(PNG));
    picture.save(directory.path().join("fox.png")).await.unwrap();
    let listed = Directory::list(journal.path()).unwrap().next().unwrap().unwrap();
    assert!(matches!(listed.record.state(), State::Saved { .. }));
    assert_eq!(listed.record.damaged(), None);
}
