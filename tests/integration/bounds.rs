//! Auto traits of public types.

use std::error;

use imagekiln::{
    Address, Client, ClientBuilder, Error, FileKind, ImageInput, Picture, Request, SaveOptions,
    Saved, Task, TaskRef, TaskStatus, Unfinished, Update, Updates, WaitOptions,
    journal::{FileJournal, Intent},
    types::Gen2Pro,
    webhook::{Event, Receiver, Refusal, Verifier},
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
    is_send_and_sync::<(FileJournal, Intent)>();
    is_send_and_sync::<(Event, Receiver, Verifier)>();
    is_send::<Updates>();
    is_an_error::<Error>();
    is_an_error::<Refusal>();
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
