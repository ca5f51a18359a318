//! Auto traits of public types.

use std::error;

use imagekiln::{
    Address, Client, ClientBuilder, Error, FileKind, ImageInput, Picture, PictureStream, Request,
    RetryPolicy, SaveOptions, Saved, SubmissionResponse, Task, TaskRef, TaskStatus, Unfinished,
    Update, Updates, WaitOptions,
    journal::{Directory, Intent, Record},
    middleware::{Outcome, Purpose},
    types::{
        AsyncResponse, Gen2Klein4b, Gen2Pro, Gen3VideoMode, GenDev, GenToolsVtoV2, OutputFormat,
        PollResult,
    },
    webhook::{Event, Receiver, Rejection, Verifier},
};

/// Can be moved and shared between threads.
fn is_send_and_sync<T: Send + Sync + 'static>() {}

/// Can be moved between threads.
fn is_send<T: Send + 'static>() {}

fn is_an_error<T: error::Error + Send + Sync + 'static>() {}

fn is_clone<T: Clone>() {}

#[test]
fn public_types_have_the_expected_auto_traits() {
    is_send_and_sync::<Client>();
    is_send_and_sync::<ClientBuilder>();
    is_send_and_sync::<(Task, TaskRef, TaskStatus, Update, Unfinished)>();
    is_send_and_sync::<(Picture, Saved, SaveOptions, WaitOptions, FileKind)>();
    is_send_and_sync::<(Request, Gen2Pro, ImageInput, Address)>();
    is_send_and_sync::<(Directory, Intent, Record)>();
    is_send_and_sync::<(Event, Receiver, Verifier)>();
    is_send_and_sync::<(SubmissionResponse, AsyncResponse, PollResult)>();
    is_send_and_sync::<(OutputFormat, Gen3VideoMode)>();
    is_send_and_sync::<(RetryPolicy, Purpose, Outcome)>();
    is_send::<(Updates, PictureStream)>();
    is_an_error::<Error>();
    is_an_error::<Rejection>();
    is_clone::<(Client, ClientBuilder, Task, Picture, Update, Request, Verifier, Event)>();
}

#[test]
fn every_file_kind_has_an_extension_and_a_media_type() {
    for (kind, extension, media_type) in [
        (FileKind::Jpeg, "jpg", "image/jpeg"),
        (FileKind::Png, "png", "image/png"),
        (FileKind::Webp, "webp", "image/webp"),
        (FileKind::Avif, "avif", "image/avif"),
        (FileKind::Heif, "heif", "image/heif"),
        (FileKind::Mp4, "mp4", "video/mp4"),
        (FileKind::Webm, "webm", "video/webm"),
        (FileKind::Gif, "gif", "image/gif"),
    ] {
        assert_eq!((kind.extension(), kind.media_type()), (extension, media_type));
    }
}

/// A type without required fields has a default, and keeps its shape when the contract shows its
/// first field.
#[test]
fn requests_without_required_fields_have_a_default() {
    assert_eq!(GenDev::default(), GenDev::new());
    assert_eq!(Gen2Klein4b::default().extra, Gen2Klein4b::new().extra);
    assert!(GenToolsVtoV2::default().extra.is_empty());
}

#[test]
fn choices_keep_values_that_this_version_does_not_know() {
    let known: Gen3VideoMode = "draft_enhance".into();
    assert_eq!(known, Gen3VideoMode::DraftEnhance);
    let unknown = Gen3VideoMode::from("t3v");
    assert_eq!((unknown.as_str(), unknown.to_string()), ("t3v", "t3v".to_owned()));
    let text = serde_json::to_string(&unknown).unwrap();
    assert_eq!(serde_json::from_str::<Gen3VideoMode>(&text).unwrap(), unknown);
}
