//! Eight pictures of 8 MB saved at once, against programs that save the same pictures otherwise.
//!
//! The first comparison is in memory, so that it measures the client and not the disk. The others
//! show what it costs that the client flushes each file to the disk, and whether that delays the
//! other downloads.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use futures_util::future::join_all;
use imagekiln::{Client, Picture, TaskRef};
use tokio::{io::AsyncWriteExt, runtime::Runtime};

use super::{
    images::{PICTURE, png},
    measure::{Candidate, Plan, compare},
    server::Server,
};

const PICTURES: usize = 8;

/// A directory in memory, on Linux.
const MEMORY: &str = "/dev/shm";

pub fn run(runtime: &Runtime, server: &Server) {
    let picture = runtime.block_on(picture(server));
    let programs = &Programs {
        picture,
        content: png(PICTURE),
        http: reqwest::Client::new(),
        url: format!("{}/picture.png", server.url),
    };
    let plan = Plan::new(9, 2);
    if Path::new(MEMORY).is_dir() {
        let folder = tempfile::tempdir_in(MEMORY).unwrap();
        let folder = folder.path();
        let candidates = [
            Candidate::repeated("imagekiln", 1, || programs.save_at_once(folder)),
            Candidate::repeated("discard_then_write", 1, || programs.discard_then_write(folder)),
            Candidate::repeated("tokio_fs", 1, || programs.tokio_fs(folder)),
        ];
        compare(runtime, "download.memory", plan, &candidates);
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path();
    let candidates = [
        Candidate::repeated("imagekiln", 1, || programs.save_at_once(folder)),
        Candidate::repeated("one_at_a_time", 1, || programs.save_in_turn(folder)),
        Candidate::repeated("without_fsync", 1, || programs.tokio_fs(folder)),
        Candidate::repeated("only_fsync", 1, || programs.only_fsync(folder)),
    ];
    compare(runtime, "download.disk", plan, &candidates);
}

async fn picture(server: &Server) -> Picture {
    let client = Client::builder().api_key("key").base_url(&*server.url).build().unwrap();
    let poll = format!("{}/v1/get_result?id=ready", server.url);
    client.task(TaskRef::new("ready", poll, None)).wait().await.unwrap()
}

struct Programs {
    picture: Picture,
    content: Vec<u8>,
    http: reqwest::Client,
    url: String,
}

impl Programs {
    async fn save_at_once(&self, folder: &Path) {
        let save = |number| self.picture.save(folder.join(format!("{number}.png")));
        join_all((0..PICTURES).map(save)).await.into_iter().for_each(|saved| {
            saved.unwrap();
        });
    }

    async fn save_in_turn(&self, folder: &Path) {
        for number in 0..PICTURES {
            self.picture.save(folder.join(format!("{number}.png"))).await.unwrap();
        }
    }

    /// Downloads all pictures without keeping them, and then writes the same bytes.
    async fn discard_then_write(&self, folder: &Path) {
        let download = async || {
            let mut response = self.http.get(&self.url).send().await.unwrap();
            while response.chunk().await.unwrap().is_some() {}
        };
        join_all((0..PICTURES).map(|_| download())).await;
        for number in 0..PICTURES {
            fs::write(folder.join(format!("{number}.png")), &self.content).unwrap();
        }
    }

    /// Downloads to files with the file interface of tokio, and flushes nothing to the disk.
    async fn tokio_fs(&self, folder: &Path) {
        let save = async |number: usize| {
            let path = folder.join(format!("{number}.png"));
            let mut file = tokio::fs::File::create(path).await.unwrap();
            let mut response = self.http.get(&self.url).send().await.unwrap();
            while let Some(chunk) = response.chunk().await.unwrap() {
                file.write_all(&chunk).await.unwrap();
            }
            file.flush().await.unwrap();
        };
        join_all((0..PICTURES).map(save)).await;
    }

    /// Writes and flushes the same bytes, without a download.
    async fn only_fsync(&self, folder: &Path) {
        for number in 0..PICTURES {
            let mut file = File::create(folder.join(format!("{number}.png"))).unwrap();
            file.write_all(&self.content).unwrap();
            file.sync_all().unwrap();
        }
    }
}
