//! Pictures as streams, and pictures saved in a directory.

use futures_util::TryStreamExt;

use crate::{
    operations::{client_of, simulator},
    support::{
        reply::Reply,
        samples::{self, PNG, assert_kind, client, large_png, picture},
        scripted::ScriptedServer,
    },
};
use imagekiln::{ErrorKind, FileKind, TaskRef, types::Gen2Pro};

#[tokio::test(start_paused = true)]
async fn a_stream_has_the_bytes_of_the_picture() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
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
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
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
    assert_kind(&error, ErrorKind::Delivery);
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
async fn a_missing_directory_costs_no_download() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&client(&service), &service, &delivery).await;
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
    assert_eq!(saved.path, inner.join("picture-t1.png"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
