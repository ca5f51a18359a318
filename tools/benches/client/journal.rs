//! A journal with 100,000 closed records, each with a key: how long it takes to open it, to list
//! the newest records, and to find one.

use std::{fs::File, io, path::Path, sync::Arc};

use imagekiln::journal::{Directory, Disk, Intent, Journal as _, Key, Step};
use serde_json::json;
use tokio::{runtime::Runtime, time::Instant};

use super::server::Server;

const RECORDS: u64 = 100_000;
const ROUNDS: usize = 15;

/// Filling the journal is not measured.
struct Unsynced;

impl Disk for Unsynced {
    fn sync(&self, _: &File, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

pub fn run(runtime: &Runtime, _: &Server) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path();
    runtime.block_on(fill(path));
    let key = key(RECORDS / 2);
    report("open", || drop(Directory::open(path).unwrap()));
    report("newest_30", || assert_eq!(Directory::list(path).unwrap().take(30).count(), 30));
    report("by_number", || drop(Directory::find(path, RECORDS / 3).unwrap().unwrap()));
    let journal = Directory::open(path).unwrap();
    report("by_key", || drop(runtime.block_on(journal.of_key(&key)).unwrap().unwrap()));
    report("all", || assert_eq!(Directory::list(path).unwrap().count() as u64, RECORDS));
}

/// Each record is refused, and so it is closed, with a key that is found.
async fn fill(path: &Path) {
    let journal = Directory::open_on(path, Arc::new(Unsynced)).unwrap();
    for number in 0..RECORDS {
        let id = format!("{number:032x}");
        let intent = json!({ "id": id, "operation": "gen-2-pro", "at": 1_795_673_076_u64 });
        let intent: Intent = serde_json::from_value(intent).unwrap();
        assert!(journal.intend_once(&intent, &key(number)).await.unwrap().is_none());
        journal.advance(&id, &Step::Settled).await.unwrap();
    }
}

fn key(number: u64) -> Key {
    Key::new(format!("picture-{number}"))
}

/// Prints the median of a few rounds.
fn report(name: &str, call: impl Fn()) {
    let mut times = [(); ROUNDS].map(|()| {
        let started = Instant::now();
        call();
        started.elapsed()
    });
    times.sort();
    println!("journal.{name}: {:?}", times[ROUNDS / 2]);
}
