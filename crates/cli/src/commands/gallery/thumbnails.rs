//! The thumbnails of a gallery. Each is made once: its file is named by the SHA-256 digest of the
//! picture, so later pages find it.

use std::{
    collections::HashMap,
    fs::{self, Metadata},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{
    files::directory::{create_private, write_private},
    pages::{Item, Preview},
    process::lock,
};
use imagekiln_label::sha256;

/// The directory of the thumbnails, in the folder of the page.
pub const DIRECTORY: &str = "thumbnails";

/// The file with the digests of the pictures that earlier pages have read.
const SEEN: &str = "seen.json";

pub struct Thumbnails {
    directory: PathBuf,
    /// The names of the thumbnail files, by the digests of their pictures.
    files: Mutex<HashMap<String, String>>,
    /// The digests that the last page has written to [`SEEN`], by the locations of the pictures.
    before: HashMap<String, Seen>,
    seen: Mutex<HashMap<String, Seen>>,
}

/// The digest of a picture. It is valid as long as the file has this size and modification time,
/// which are 0 for a picture in a bucket.
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
        // Without this file, or if it is damaged, the pictures of batches are only read again.
        let before = fs::read(directory.join(SEEN)).ok();
        let before = before.and_then(|before| serde_json::from_slice(&before).ok());
        let before = before.unwrap_or_default();
        Ok(Self { directory, files: Mutex::new(files), before, seen: Mutex::default() })
    }

    /// Writes the digests of the pictures of this page, for the next page.
    pub fn close(self) -> io::Result<()> {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        write_private(&self.directory.join(SEEN), serde_json::to_vec(&seen)?)
    }

    /// Adds the thumbnail of a picture with this digest to an item, if the thumbnail exists.
    /// Returns whether it does.
    pub fn show_known(&self, item: &mut Item, sha256: &str) -> bool {
        let name = lock(&self.files).get(sha256).cloned();
        let Some((name, (_, size))) = name.as_ref().and_then(|name| Some((name, parts(name)?)))
        else {
            return false;
        };
        item.sha256 = Some(sha256.to_owned());
        (item.thumbnail, item.note, item.size) = (Some(url(name)), None, Some(size));
        true
    }

    /// Adds the thumbnail of a picture to an item. Makes the thumbnail if it does not exist.
    pub fn show(&self, item: &mut Item, picture: &[u8]) -> io::Result<()> {
        let digest = sha256(picture);
        if self.show_known(item, &digest) {
            return Ok(());
        }
        item.sha256 = Some(digest.clone());
        let preview = Preview::of(picture);
        if let Preview::Thumbnail(thumbnail) = &preview {
            let name = format!("{digest}-{}x{}.jpg", thumbnail.width, thumbnail.height);
            // Writes to a temporary file first, so that a file with this name is complete, even if
            // this process is killed.
            let mut file = NamedTempFile::new_in(&self.directory)?;
            file.write_all(&thumbnail.jpeg)?;
            file.persist(self.directory.join(&name)).map_err(|error| error.error)?;
            item.show(preview, |_| url(&name));
            lock(&self.files).insert(digest, name);
        } else {
            item.show(preview, |_| String::new());
        }
        Ok(())
    }

    /// Returns the digest of a picture that an earlier page has read, unless its file has changed.
    /// Without a file, which may be deleted or in a bucket, the digest is that of the last page.
    pub fn seen(&self, location: &str, file: Option<&Metadata>) -> Option<String> {
        let before = self.before.get(location)?;
        let is_same = |file| stamp(Some(file)) == (before.bytes, before.changed);
        file.is_none_or(is_same).then(|| {
            lock(&self.seen).insert(location.to_owned(), before.clone());
            before.sha256.clone()
        })
    }

    /// Whether a picture in a bucket has a thumbnail already, so that it need not be read.
    pub fn has(&self, location: &str) -> bool {
        let digest = self.seen(location, None);
        digest.is_some_and(|digest| lock(&self.files).contains_key(&digest))
    }

    /// Remembers the digest of a picture in a file, or in a bucket.
    pub fn remember(&self, location: &str, file: Option<&Metadata>, item: &Item) {
        let Some(sha256) = item.sha256.clone() else { return };
        let (bytes, changed) = stamp(file);
        let seen = Seen { bytes, changed, sha256 };
        lock(&self.seen).insert(location.to_owned(), seen);
    }
}

fn url(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}

/// Returns the digest and the size of the picture whose thumbnail has this name.
fn parts(name: &str) -> Option<(&str, (u32, u32))> {
    let (digest, size) = name.strip_suffix(".jpg")?.split_once('-')?;
    let (width, height) = size.split_once('x')?;
    Some((digest, (width.parse().ok()?, height.parse().ok()?)))
}

fn stamp(file: Option<&Metadata>) -> (u64, u128) {
    let changed = file.and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    (file.map_or(0, Metadata::len), changed.map_or(0, |since| since.as_nanos()))
}
