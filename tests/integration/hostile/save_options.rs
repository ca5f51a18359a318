//! The options of saving: existing files, permissions, links, and the files of killed processes.

use std::{
    fs::{self, File},
    path::Path,
};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::saving::names;
use crate::support::{
    reply::Reply,
    samples::{self, PNG, assert_kind, picture, ready_picture, served},
    scripted::ScriptedServer,
};
use imagekiln::{Client, Error, ErrorKind, FileKind, Picture, SaveOptions, Saved};

/// Saves a picture that downloads without errors.
async fn save(path: &Path, options: SaveOptions) -> Result<Saved, Error> {
    let service = ScriptedServer::start().await;
    save_by(&samples::client(&service), &service, path, options).await
}

async fn save_by(
    client: &Client,
    service: &ScriptedServer,
    path: &Path,
    options: SaveOptions,
) -> Result<Saved, Error> {
    let delivery = ScriptedServer::start().await;
    let picture: Picture = picture(client, service, &delivery).await;
    delivery.otherwise(|_| Reply::png(PNG));
    let saved = picture.save_with(path, options).await;
    if let Err(error) = &saved {
        assert_kind(error, ErrorKind::File);
        assert_eq!(error.task(), Some(picture.task()));
        delivery.assert_received_nothing();
    }
    saved
}

#[tokio::test(start_paused = true)]
async fn a_digest_is_computed_if_the_program_names_the_file_later() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("fox.png");
    assert_eq!(save(&path, SaveOptions::default()).await.unwrap().sha256, None);
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let picture = picture(&samples::client(&service), &service, &delivery).await;
    delivery.reply(Reply::png(PNG));
    let fox = picture.download_in(directory.path()).await.unwrap();
    let digest: String = Sha256::digest(PNG).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(fox.sha256, Some(digest));
}

#[tokio::test(start_paused = true)]
async fn without_a_check_any_content_is_saved() {
    for (body, kind) in
        [(&PNG[..40], Some(FileKind::Png)), (b"<html>".as_slice(), None), (b"", None)]
    {
        let directory = TempDir::new().unwrap();
        let (_service, delivery, picture) = ready_picture().await;
        delivery.reply(Reply::status(200).body(body));
        let path = directory.path().join("fox.png");

        let saved = picture.save_with(&path, SaveOptions::default().check(false)).await.unwrap();

        assert_eq!((saved.kind, saved.bytes), (kind, body.len() as u64));
        assert_eq!(fs::read(&path).unwrap(), body);
        assert_eq!(names(directory.path()), ["fox.png"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_existing_file_is_refused_before_the_download() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("fox.png");
    let options = SaveOptions::default().overwrite(false);
    save(&path, options.clone()).await.unwrap();
    fs::write(&path, "the old file").unwrap();

    let error = save(&path, options).await.unwrap_err();

    assert!(error.to_string().contains("overwrit"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"the old file");
    assert_eq!(names(directory.path()), ["fox.png"]);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_appears_during_the_download_is_not_overwritten() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("fox.png");
    let (_service, delivery, picture) = ready_picture().await;
    let (reply, pieces) = Reply::png(&PNG[..30]).declaring_length(PNG.len()).in_pieces();
    delivery.reply(reply);
    let saving = tokio::spawn({
        let path = path.clone();
        async move { picture.save_with(path, SaveOptions::default().overwrite(false)).await }
    });
    delivery.wait_for_requests(1).await;
    fs::write(&path, "another file").unwrap();

    pieces.send(&PNG[30..]);

    assert_kind(&saving.await.unwrap().unwrap_err(), ErrorKind::File);
    assert_eq!(fs::read(&path).unwrap(), b"another file");
    assert_eq!(names(directory.path()), ["fox.png"]);
}

#[tokio::test(start_paused = true)]
async fn a_path_without_a_file_name_is_refused() {
    for path in ["", "/", ".."] {
        save(Path::new(path), SaveOptions::default()).await.unwrap_err();
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[tokio::test(start_paused = true)]
    async fn permissions_are_kept_default_or_as_configured() {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("default"), "").unwrap();

        save(&at("new"), SaveOptions::default()).await.unwrap();
        assert_eq!(mode(&at("new")), mode(&at("default")));

        for kept in [0o600, 0o444, 0o664] {
            fs::set_permissions(at("new"), fs::Permissions::from_mode(kept)).unwrap();
            save(&at("new"), SaveOptions::default()).await.unwrap();
            assert_eq!(mode(&at("new")), kept);
        }
        for name in ["new", "another"] {
            let options = SaveOptions::default().permissions(fs::Permissions::from_mode(0o640));
            save(&at(name), options).await.unwrap();
            assert_eq!(mode(&at(name)), 0o640);
        }
    }

    /// Other users cannot read a private picture while it is downloaded.
    #[tokio::test(start_paused = true)]
    async fn a_temporary_file_is_private_if_permissions_are_set() {
        let directory = TempDir::new().unwrap();
        let (_service, delivery, picture) = ready_picture().await;
        let (reply, pieces) = Reply::png(&PNG[..30]).declaring_length(PNG.len()).in_pieces();
        delivery.reply(reply);
        let path = directory.path().join("fox.png");
        let options = SaveOptions::default().permissions(fs::Permissions::from_mode(0o600));
        let saving = tokio::spawn(async move { picture.save_with(path, options).await });
        delivery.wait_for_requests(1).await;

        let part = directory.path().join(&names(directory.path())[0]);
        assert_eq!(mode(&part), 0o600);

        pieces.send(&PNG[30..]);
        saving.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_target_of_links_is_replaced() {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("links")).unwrap();
        fs::create_dir_all(at("pictures")).unwrap();
        fs::write(at("pictures/fox.png"), "the old file").unwrap();
        symlink("../pictures/fox.png", at("links/relative")).unwrap();
        symlink(at("links/relative"), at("links/absolute")).unwrap();
        symlink("absolute", at("links/chain")).unwrap();
        symlink("../pictures/new.png", at("links/dangling")).unwrap();
        // A path through a linked directory: `..` is relative to its target.
        symlink(at("links"), at("pictures/linked")).unwrap();

        for link in ["links/relative", "links/absolute", "links/chain", "pictures/linked/relative"]
        {
            fs::write(at("pictures/fox.png"), "the old file").unwrap();
            save(&at(link), SaveOptions::default()).await.unwrap();
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
            assert_eq!(fs::read(at("pictures/fox.png")).unwrap(), PNG, "{link}");
        }
        save(&at("links/dangling"), SaveOptions::default().overwrite(false)).await.unwrap();
        assert_eq!(fs::read(at("pictures/new.png")).unwrap(), PNG);
        save(&at("links/dangling"), SaveOptions::default().overwrite(false)).await.unwrap_err();
        assert_eq!(names(&at("links")), ["absolute", "chain", "dangling", "relative"]);
        assert_eq!(names(&at("pictures")), ["fox.png", "linked", "new.png"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_is_replaced_if_links_are_not_followed() {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("fox.png"), "the old file").unwrap();
        for target in ["fox.png", "nowhere"] {
            let _ = fs::remove_file(at("link"));
            symlink(target, at("link")).unwrap();
            let options = SaveOptions::default().follow_symlinks(false);
            save(&at("link"), options.clone().overwrite(false)).await.unwrap_err();

            save(&at("link"), options).await.unwrap();

            assert!(fs::symlink_metadata(at("link")).unwrap().is_file());
            assert_eq!(fs::read(at("link")).unwrap(), PNG);
            assert_eq!(fs::read(at("fox.png")).unwrap(), b"the old file");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn invalid_links_are_refused() {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        symlink("two", at("one")).unwrap();
        symlink("one", at("two")).unwrap();
        symlink("/dev/null", at("device")).unwrap();
        symlink(".", at("directory")).unwrap();
        for link in ["one", "device", "directory"] {
            save(&at(link), SaveOptions::default()).await.unwrap_err();
        }
        assert_eq!(names(directory.path()), ["device", "directory", "one", "two"]);
    }

    #[tokio::test(start_paused = true)]
    async fn other_hard_links_keep_the_old_file() {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("fox.png"), "the old file").unwrap();
        fs::hard_link(at("fox.png"), at("copy.png")).unwrap();

        save(&at("fox.png"), SaveOptions::default()).await.unwrap();

        assert_eq!(fs::read(at("copy.png")).unwrap(), b"the old file");
        assert_eq!(fs::metadata(at("fox.png")).unwrap().nlink(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn temporary_files_of_killed_processes_are_deleted() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in [
        ".imagekiln-dead1.part",
        ".imagekiln-dead2.part",
        ".imagekiln-alive.part",
        "imagekiln-x.part",
    ] {
        fs::write(at(name), "half a picture").unwrap();
    }
    fs::create_dir(at(".imagekiln-directory.part")).unwrap();
    let alive = File::open(at(".imagekiln-alive.part")).unwrap();
    alive.lock().unwrap();

    save(&at("fox.png"), SaveOptions::default()).await.unwrap();

    assert_eq!(
        names(directory.path()),
        [".imagekiln-alive.part", ".imagekiln-directory.part", "fox.png", "imagekiln-x.part"]
    );
    drop(alive);
    save(&at("fox.png"), SaveOptions::default()).await.unwrap();
    assert_eq!(
        names(directory.path()),
        [".imagekiln-directory.part", "fox.png", "imagekiln-x.part"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_sweeps_a_directory_once() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (service, client) = served().await;
    let orphan = |directory: &TempDir| directory.path().join(".imagekiln-dead.part");
    let fox = one.path().join("fox.png");
    save_by(&client, &service, &fox, SaveOptions::default()).await.unwrap();
    fs::write(orphan(&one), "").unwrap();
    fs::write(orphan(&two), "").unwrap();

    save_by(&client.clone(), &service, &fox, SaveOptions::default()).await.unwrap();
    save_by(&client, &service, &two.path().join("fox.png"), SaveOptions::default()).await.unwrap();

    assert!(orphan(&one).exists(), "the directory was swept again");
    assert!(!orphan(&two).exists());
}

/// Another client, like one in another process, saves to the same directory during a download.
#[tokio::test(start_paused = true)]
async fn a_download_in_progress_is_not_swept() {
    let directory = TempDir::new().unwrap();
    let (_service, delivery, picture) = ready_picture().await;
    let (reply, pieces) = Reply::png(&PNG[..30]).declaring_length(PNG.len()).in_pieces();
    delivery.reply(reply);
    let slow = directory.path().join("slow.png");
    let saving = tokio::spawn(async move { picture.save(slow).await });
    delivery.wait_for_requests(1).await;

    save(&directory.path().join("fast.png"), SaveOptions::default()).await.unwrap();
    assert_eq!(names(directory.path()).len(), 2);
    pieces.send(&PNG[30..]);

    saving.await.unwrap().unwrap();
    assert_eq!(names(directory.path()), ["fast.png", "slow.png"]);
}
