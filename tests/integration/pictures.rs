//! Pictures as streams, and pictures saved in a directory.

use std::time::{Duration, UNIX_EPOCH};

use futures_util::TryStreamExt;
use serde_json::json;

use crate::{
    operations::{client_of, simulator},
    support::{
        events::Events,
        reply::Reply,
        samples::{self, PNG, assert_kind, client, fox, large_png, ready_picture},
        scripted::ScriptedServer,
    },
};
use imagekiln::{ErrorKind, FileKind, Picture, TaskRef, journal::Directory, types::Gen2Pro};

#[tokio::test(start_paused = true)]
async fn a_stream_has_the_bytes_of_the_picture() {
    let (_service, delivery, picture) = ready_picture().await;
    let png = large_png(1_000_000);
    delivery.reply(Reply::json(503, &serde_json::json!({}))).reply(Reply::png(&png));
    let stream = picture.stream().await.unwrap();
    assert_eq!(stream.kind(), Some(FileKind::Png));
    let chunks: Vec<_> = stream.try_collect().await.unwrap();
    assert!(chunks.concat() == png);
    assert_eq!(delivery.received().len(), 2, "the first attempt failed before its first byte");
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_an_incomplete_picture_ends_with_an_error() {
    let (_service, delivery, picture) = ready_picture().await;
    let png = large_png(1_000_000);
    delivery.reply(Reply::png(&png[..500_000]));
    let mut stream = picture.stream().await.unwrap();
    let mut received = 0;
    let error = loop {
        match stream.try_next().await {
            Ok(Some(chunk)) => received += chunk.len(),
            Ok(None) => panic!("the stream did not report that the picture is incomplete"),
            Err(error) => break error,
        }
    };
    assert_eq!(received, 500_000);
    assert_kind(&error, ErrorKind::Damaged);
    assert_eq!(error.task().map(TaskRef::id), Some("t1"));
    assert!(stream.try_next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_directory_gets_files_with_the_right_extension() {
    let simulator = simulator().await;
    let client = client_of(&simulator);
    let folder = tempfile::tempdir().unwrap();
    for (format, kind) in
        [("png", FileKind::Png), ("jpeg", FileKind::Jpeg), ("webp", FileKind::Webp)]
    {
        let request = Gen2Pro::new("a fox").width(64).height(64).output_format(format);
        let task = client.submit(request).await.unwrap();
        let picture = task.wait().await.unwrap();
        let saved = picture.save_in(folder.path()).await.unwrap();
        assert_eq!(saved.kind, Some(kind));
        let name = format!("gen-2-pro-{}.{}", task.id(), kind.extension());
        assert_eq!(saved.path, folder.path().join(name));
        let bytes = std::fs::read(&saved.path).unwrap();
        assert_eq!(bytes.len() as u64, saved.bytes);
        assert_eq!(picture.save_in(folder.path()).await.unwrap(), saved, "saved again");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_downloaded_picture_gets_its_name_later() {
    let (_service, delivery, picture) = ready_picture().await;
    delivery.reply(Reply::png(PNG)).reply(Reply::png(PNG));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fox.png");
    std::fs::write(&path, "another file").unwrap();
    let fox = picture.download_in(folder.path()).await.unwrap();
    assert_eq!((fox.kind, fox.bytes), (Some(FileKind::Png), PNG.len() as u64));
    let error = fox.save(&path).await.unwrap_err();
    assert_kind(&error, ErrorKind::File);
    assert_eq!(std::fs::read(&path).unwrap(), b"another file");
    let saved = fox.save(folder.path().join("fox-2.png")).await.unwrap();
    assert_eq!((saved.bytes, &saved.sha256), (fox.bytes, &fox.sha256));
    assert_eq!(std::fs::read(&saved.path).unwrap(), PNG);
    assert_kind(&fox.save(folder.path().join("fox-3.png")).await.unwrap_err(), ErrorKind::File);
    assert_eq!(delivery.received().len(), 1);
    drop(picture.download_in(folder.path()).await.unwrap());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "no temporary file is left");
}

#[tokio::test(start_paused = true)]
async fn a_downloaded_picture_replaces_a_file_and_keeps_its_permissions() {
    let (_service, delivery, picture) = ready_picture().await;
    delivery.reply(Reply::png(PNG));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fox.png");
    std::fs::write(&path, "another file").unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions.clone()).unwrap();
    let fox = picture.download_in(folder.path()).await.unwrap();
    assert_kind(&fox.replace(folder.path()).await.unwrap_err(), ErrorKind::File);
    assert_eq!(fox.replace(&path).await.unwrap().path, path);
    assert_eq!(std::fs::read(&path).unwrap(), PNG);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions(), permissions);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
}

#[tokio::test(start_paused = true)]
async fn a_missing_directory_costs_no_download() {
    let (_service, delivery, picture) = ready_picture().await;
    let error = picture.save_in("/nowhere/at/all").await.unwrap_err();
    assert_kind(&error, ErrorKind::File);
    delivery.assert_received_nothing();
}

/// The service chooses the id, which must not be able to name another directory.
#[tokio::test(start_paused = true)]
async fn an_id_cannot_name_another_directory() {
    let server = ScriptedServer::start().await;
    server.reply(samples::ready(&server)).reply(Reply::png(PNG));
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let reference = TaskRef::new("../../t1", samples::polling_url(&server, "t1"), None);
    let picture = client(&server).task(reference).wait().await.unwrap();
    let saved = picture.save_in(&inner).await.unwrap();
    let name = saved.path.file_name().unwrap().to_str().unwrap();
    assert_eq!(saved.path.parent(), Some(&*inner));
    assert!(name.starts_with("picture-t1-") && name.ends_with(".png"), "{name}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Returns a picture of a task with this id, at its own polling URL.
async fn picture_of(server: &ScriptedServer, id: &str, polling_path: &str) -> Picture {
    server.reply(samples::ready(server));
    let reference = TaskRef::new(id, server.url(polling_path), Some("gen-2-pro".to_owned()));
    client(server).task(reference).wait().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_picture_of_another_task_is_never_replaced() {
    let server = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let pictures = [
        picture_of(&server, "t1", "/global/poll?id=t1").await,
        // In another region.
        picture_of(&server, "t1", "/regional/poll?id=t1").await,
        picture_of(&server, "t/1", "/poll/1").await,
        picture_of(&server, "t?1", "/poll/2").await,
        picture_of(&server, &"t".repeat(150), "/poll/3").await,
        picture_of(&server, &"t".repeat(151), "/poll/4").await,
    ];
    let contents: Vec<_> = (0..pictures.len()).map(|index| large_png(1000 + index)).collect();
    let mut paths = Vec::new();
    for (picture, content) in pictures.iter().zip(&contents) {
        server.reply(Reply::png(content));
        paths.push(picture.save_in(folder.path()).await.unwrap().path);
    }
    // Saved again, each finds its own file, even if another picture has its first name.
    for ((picture, content), path) in pictures.iter().zip(&contents).zip(&paths) {
        server.reply(Reply::png(content));
        assert_eq!(picture.save_in(folder.path()).await.unwrap().path, *path);
        assert_eq!(std::fs::read(path).unwrap(), *content);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), pictures.len());
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_changed_is_kept() {
    let server = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let picture = picture_of(&server, "t1", "/poll/t1").await;
    let mut paths = Vec::new();
    for change in ["", "mine", "mine, too"] {
        server.reply(Reply::png(PNG));
        let path = picture.save_in(folder.path()).await.unwrap().path;
        assert_eq!(std::fs::read(&path).unwrap(), PNG);
        // The same length, so that the content decides.
        let mut changed = PNG.to_vec();
        changed.splice(..change.len(), change.bytes());
        std::fs::write(&path, changed).unwrap();
        paths.push(path);
    }
    // The first file is the picture.
    assert_eq!(paths[0], paths[1]);
    server.reply(Reply::png(PNG));
    paths.push(picture.save_in(folder.path()).await.unwrap().path);
    let names: Vec<_> = paths[1..].iter().map(|path| path.file_stem().unwrap().len()).collect();
    assert_eq!(names, ["gen-2-pro-t1".len(), "gen-2-pro-t1-".len() + 16, names[1] + 2]);
}

/// Both must not write the same file.
#[tokio::test]
async fn pictures_that_are_saved_at_once_get_different_files() {
    let server = ScriptedServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (large_png(50_000), large_png(60_000));
    for _ in 0..20 {
        let global = picture_of(&server, "t1", "/global/poll?id=t1").await;
        let regional = picture_of(&server, "t1", "/regional/poll?id=t1").await;
        server.reply(Reply::png(&first)).reply(Reply::png(&second));
        let (one, other) =
            tokio::join!(global.save_in(folder.path()), regional.save_in(folder.path()));
        let (one, other) = (one.unwrap().path, other.unwrap().path);
        let mut saved = [std::fs::read(&one).unwrap(), std::fs::read(&other).unwrap()];
        saved.sort_by_key(Vec::len);
        assert!(saved == [first.clone(), second.clone()], "{one:?} {other:?}");
        std::fs::remove_file(one).unwrap();
        std::fs::remove_file(other).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_picture_with_the_extension_of_another_format_is_reported() {
    let events = Events::capture();
    let directory = tempfile::tempdir().unwrap();
    let (_service, delivery, picture) = ready_picture().await;
    for (name, expected) in [("fox.PNG", 0), ("fox", 0), ("fox.v2", 0), ("fox.jpeg", 1)] {
        delivery.reply(Reply::png(PNG));
        picture.save(directory.path().join(name)).await.unwrap();
        let warnings = events.with_message("the picture has another format than its file name");
        assert_eq!(warnings.len(), expected, "{name}: {warnings:?}");
    }
}

/// A clock in the far future is wrong, but loses nothing.
#[tokio::test(start_paused = true)]
async fn a_wall_clock_in_the_far_future_is_survived() {
    let directory = tempfile::tempdir().unwrap();
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let latest = UNIX_EPOCH + Duration::from_secs(i64::MAX as u64);
    let client = samples::builder(&service)
        .wall_clock(move || latest)
        .journal(Directory::open(directory.path().join("journal")).unwrap())
        .build()
        .unwrap();
    let late = "Fri, 31 Dec 9999 23:59:59 GMT";
    service
        .reply(Reply::json(429, &json!({})).header("Retry-After", late))
        .reply(samples::accepted(&service, "t1"))
        .reply(Reply::json(503, &json!({})).header("Retry-After", late));
    let task = client.submit(fox()).await.unwrap();
    let delivered = samples::delivery_url(&delivery);
    service.otherwise(move |_| Reply::json(200, &samples::ready_body(&delivered)));
    let picture = task.wait().await.unwrap();
    assert_eq!(picture.expires_at(), latest);
    delivery.otherwise(|_| Reply::status(403));
    picture.bytes().await.unwrap_err();
    delivery.otherwise(|_| Reply::png(PNG));
    picture.save(directory.path().join("fox.png")).await.unwrap();
    assert!(client.resume().await.unwrap().is_empty());
}
