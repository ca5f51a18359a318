//! What the types of the public interface can be used for in every program.

use std::error;

use imagekiln::{
    Address, Client, ClientBuilder, Error, FileKind, ImageInput, Picture, Request, SaveOptions,
    Saved, Task, TaskRef, TaskStatus, Unfinished, Update, Updates, WaitOptions,
    journal::{FileJournal, Intent},
    types::Gen2Pro,
    webhook::{Event, Receiver, Refusal, Verifier},
};

/// To be moved to another thread, shared between threads, and kept.
fn lives_anywhere<T: Send + Sync + 'static>() {}

/// To be moved to another thread and kept.
fn moves_anywhere<T: Send + 'static>() {}

fn is_an_error<T: error::Error + Send + Sync + 'static>() {}

fn is_copied_freely<T: Clone>() {}

#[test]
fn types_live_anywhere() {
    lives_anywhere::<Client>();
    lives_anywhere::<ClientBuilder>();
    lives_anywhere::<(Task, TaskRef, TaskStatus, Update, Unfinished)>();
    lives_anywhere::<(Picture, Saved, SaveOptions, WaitOptions, FileKind)>();
    lives_anywhere::<(Request, Gen2Pro, ImageInput, Address)>();
    lives_anywhere::<(FileJournal, Intent)>();
    lives_anywhere::<(Event, Receiver, Verifier)>();
    moves_anywhere::<Updates>();
    is_an_error::<Error>();
    is_an_error::<Refusal>();
    is_copied_freely::<(Client, ClientBuilder, Task, Picture, Update, Request, Verifier, Event)>();
}

#[test]
fn every_kind_of_file_has_an_extension_and_a_media_type() {
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
