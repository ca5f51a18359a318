//! The thumbnails of a gallery: files that are named by the SHA-256 of their pictures, and made
//! once.

use std::{
    collections::HashMap,
    fs::{self, Metadata},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{
    files::directory::{create_private, write_private},
    pages::{Item, Preview},
};
use imagekiln_label::sha256;

/// The directory of the thumbnails in that of the page.
pub const DIRECTORY: &str = "thumbnails";

/// The file that says which pictures were seen before.
const SEEN: &str = "seen.json";

pub struct Thumbnails {
    directory: PathBuf,
    /// The names of the files, by the digests of their pictures.
    files: Mutex<HashMap<String, String>>,
    /// The pictures of the last page, by their locations.
    before: HashMap<String, Seen>,
    seen: Mutex<HashMap<String, Seen>>,
}

/// A picture whose digest is known, as long as its file has this size and time.
#[derive(Clone, Serialize, Deserialize)]
struct Seen {
    bytes: u64,
    changed: u128,
    sha256: String,
}

impl Thumbnails {
    pub fn open(folder: &Path) -> io::Result<Self> {
        let directory = folder.join(DIRECTORY);
        create_private(&directory)?;
        let mut files = HashMap::new();
        for entry in fs::read_dir(&directory)? {
            if let Ok(name) = entry?.file_name().into_string()
                && let Some((digest, _)) = parts(&name)
            {
                files.insert(digest.to_owned(), name);
            }
        }
        // Without it, all pictures of batches are read again.
        let before = fs::read(directory.join(SEEN)).ok();
        let before = before.and_then(|before| serde_json::from_slice(&before).ok());
        let before = before.unwrap_or_default();
        Ok(Self { directory, files: Mutex::new(files), before, seen: Mutex::default() })
    }

    /// Remembers the pictures of this page for the next one.
    pub fn close(self) -> io::Result<()> {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        write_private(&self.directory.join(SEEN), serde_json::to_vec(&seen)?)
    }

    /// Shows the thumbnail that an earlier page has made. Returns whether there is one.
    pub fn show_known(&self, item: &mut Item, sha256: &str) -> bool {
        let name = locked(&self.files).get(sha256).cloned();
        let Some((name, (_, size))) = name.as_ref().and_then(|name| Some((name, parts(name)?)))
        else {
            return false;
        };
        item.sha256 = Some(sha256.to_owned());
        (item.thumbnail, item.note, item.size) = (Some(url(name)), None, Some(size));
        true
    }

    /// Shows the thumbnail of a picture, and makes it if it is new.
    pub fn show(&self, item: &mut Item, picture: &[u8]) -> io::Result<()> {
        let digest = sha256(picture);
        if self.show_known(item, &digest) {
            return Ok(());
        }
        item.sha256 = Some(digest.clone());
        let preview = Preview::of(picture);
        if let Preview::Thumbnail(thumbnail) = &preview {
            let name = format!("{digest}-{}x{}.jpg", thumbnail.width, thumbnail.height);
            // A name that exists has all of its content, even if this process is killed.
            let mut file = NamedTempFile::new_in(&self.directory)?;
            file.write_all(&thumbnail.jpeg)?;
            file.persist(self.directory.join(&name)).map_err(|error| error.error)?;
            item.show(preview, |_| url(&name));
            locked(&self.files).insert(digest, name);
        } else {
            item.show(preview, |_| String::new());
        }
        Ok(())
    }

    /// The digest of a picture that an earlier page has read.
    pub fn seen(&self, location: &str, file: Option<&Metadata>) -> Option<String> {
        let (bytes, changed) = stamp(file);
        let before = self.before.get(location)?;
        let is_same = before.bytes == bytes && before.changed == changed;
        is_same.then(|| {
            locked(&self.seen).insert(location.to_owned(), before.clone());
            before.sha256.clone()
        })
    }

    /// Whether a picture in a bucket has a thumbnail.
    pub fn has(&self, location: &str) -> bool {
        let digest = self.seen(location, None);
        digest.is_some_and(|digest| locked(&self.files).contains_key(&digest))
    }

    /// The digest of a picture whose file was deleted since an earlier page has read it.
    pub fn last_seen(&self, location: &str) -> Option<String> {
        let before = self.before.get(location)?;
        locked(&self.seen).insert(location.to_owned(), before.clone());
        Some(before.sha256.clone())
    }

    /// Remembers the digest of a picture in a file, or in a bucket.
    pub fn remember(&self, location: &str, file: Option<&Metadata>, item: &Item) {
        let Some(sha256) = item.sha256.clone() else { return };
        let (bytes, changed) = stamp(file);
        let seen = Seen { bytes, changed, sha256 };
        locked(&self.seen).insert(location.to_owned(), seen);
    }
}

fn url(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}

/// The digest and the size of the picture whose thumbnail has this name.
fn parts(name: &str) -> Option<(&str, (u32, u32))> {
    let (digest, size) = name.strip_suffix(".jpg")?.split_once('-')?;
    let (width, height) = size.split_once('x')?;
    Some((digest, (width.parse().ok()?, height.parse().ok()?)))
}

fn stamp(file: Option<&Metadata>) -> (u64, u128) {
    let changed = file.and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    (file.map_or(0, Metadata::len), changed.map_or(0, |since| since.as_nanos()))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
