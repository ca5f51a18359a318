//! The output of a batch, where pictures are saved: a folder of this machine, or a bucket.
//!
//! A key is the path of a picture below the output, with `/` between its components.

#[cfg(bucket)]
mod bucket;
mod folder;
mod marker;
mod name;
mod target;

use std::ops::Range;

#[cfg(bucket)]
use bytes::Bytes;
use imagekiln::{DownloadedPicture, FileKind, Picture};

#[cfg(bucket)]
use self::bucket::Bucket;
use self::folder::Folder;
pub use self::target::OutputTarget;
pub(crate) use self::{folder::Place, marker::Marker, name::beside, target::split_scheme};
use crate::{Error, ErrorKind};

/// What the name of a description adds to the name of its picture: `fox.png.json`.
const DESCRIPTION: &str = ".json";

#[derive(Debug, Clone)]
pub(crate) enum Output {
    Folder(Folder),
    #[cfg(bucket)]
    Bucket(Bucket),
}

/// A picture that is saved durably.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedPicture {
    /// The size in bytes.
    pub(crate) bytes: u64,
    /// The SHA-256 digest in hexadecimal.
    pub(crate) sha256: String,
    /// The format, if it is known.
    pub(crate) kind: Option<FileKind>,
    /// The absolute path or the URL.
    pub(crate) location: String,
    /// The width and the height of an image, if they are known.
    pub(crate) pixels: Option<(usize, usize)>,
}

/// The reason why a picture was not saved.
#[derive(Debug)]
pub(crate) enum SaveError {
    /// Another file or object has this key. It was not changed.
    Exists,
    /// The picture could not be downloaded, or its file could not be written.
    Client(imagekiln::Error),
    /// The output failed.
    Output {
        error: Error,
        /// Whether another attempt may succeed.
        is_transient: bool,
    },
}

/// A picture that was downloaded and has no key yet.
pub(crate) enum Download {
    File(Box<DownloadedPicture>),
    #[cfg(bucket)]
    Memory(Bytes),
}

impl Download {
    /// Returns the extension of the format.
    pub(crate) fn extension(&self) -> &'static str {
        let kind = match self {
            Self::File(file) => file.kind,
            #[cfg(bucket)]
            Self::Memory(bytes) => FileKind::of(bytes),
        };
        kind.map_or("bin", FileKind::extension)
    }
}

impl From<Error> for SaveError {
    fn from(error: Error) -> Self {
        Self::Output { error, is_transient: false }
    }
}

/// Evaluates the same expression for either kind of output.
macro_rules! each {
    ($output:expr, $name:ident => $does:expr) => {
        match $output {
            Output::Folder($name) => $does,
            #[cfg(bucket)]
            Output::Bucket($name) => $does,
        }
    };
}

impl Output {
    /// Returns the output without accessing it. The credentials of a bucket come from the
    /// environment.
    pub(crate) fn new(target: &OutputTarget) -> Result<Self, Error> {
        match target {
            OutputTarget::Folder(path) => Ok(Self::Folder(Folder::new(path)?)),
            #[cfg(bucket)]
            OutputTarget::Bucket(url) => Ok(Self::Bucket(Bucket::new(url)?)),
            #[cfg(not(bucket))]
            OutputTarget::Bucket(url) => Err(url.scheme.without_feature()),
        }
    }

    /// Creates the folder, or checks that the bucket exists and accepts the credentials, before
    /// anything is billed.
    pub(crate) async fn open(target: &OutputTarget) -> Result<Self, Error> {
        let output = Self::new(target)?;
        each!(&output, output => output.check().await?);
        Ok(output)
    }

    /// Creates the directory of a key, and makes its name durable: a picture that the ledger calls
    /// saved must not be lost with its directory. Buckets have no directories.
    pub(crate) async fn prepare(&self, key: &str) -> Result<(), Error> {
        match self {
            Self::Folder(folder) => folder.is_free(key).await.map(drop),
            #[cfg(bucket)]
            Self::Bucket(_) => Ok(()),
        }
    }

    /// [Prepares](Self::prepare) a key, and returns whether it is free: no picture and nothing else
    /// has it.
    pub(crate) async fn is_free(&self, key: &str) -> Result<bool, Error> {
        each!(self, output => output.is_free(key).await)
    }

    /// Downloads and checks a picture, to save it at a key with the same directory as this one.
    pub(crate) async fn download(
        &self,
        key: &str,
        picture: &Picture,
    ) -> Result<Download, SaveError> {
        Ok(match self {
            Self::Folder(folder) => Download::File(Box::new(folder.download(key, picture).await?)),
            #[cfg(bucket)]
            Self::Bucket(_) => Download::Memory(picture.bytes().await.map_err(SaveError::Client)?),
        })
    }

    /// Saves a picture atomically and durably. Never overwrites.
    pub(crate) async fn save(
        &self,
        key: &str,
        picture: &Download,
    ) -> Result<SavedPicture, SaveError> {
        match (self, picture) {
            (Self::Folder(folder), Download::File(file)) => folder.save(key, file).await,
            #[cfg(bucket)]
            (Self::Bucket(bucket), Download::Memory(bytes)) => bucket.save(key, bytes).await,
            #[cfg(bucket)]
            // A download is saved to the output that it was made for.
            _ => Err(SaveError::Exists),
        }
    }

    /// Keeps what arrived of a damaged picture beside `key`, and returns its location, or `None` if
    /// nothing arrived.
    pub(crate) async fn keep_damaged(
        &self,
        key: &str,
        picture: &Picture,
        error: &imagekiln::Error,
    ) -> Result<Option<String>, SaveError> {
        #[cfg(not(bucket))]
        let _ = picture;
        match self {
            Self::Folder(folder) => match error.damaged() {
                Some(damaged) => Ok(Some(folder.keep_damaged(key, damaged).await?)),
                None => Ok(None),
            },
            #[cfg(bucket)]
            Self::Bucket(bucket) => {
                let bytes = picture.bytes_unchecked().await.map_err(SaveError::Client)?;
                let key = format!("{key}.damaged");
                match bucket.save(&key, &bytes).await {
                    Err(SaveError::Exists) => {
                        bucket.save(&beside(&key, picture.task().id()), &bytes).await
                    }
                    saved => saved,
                }
                .map(|saved| Some(saved.location))
            }
        }
    }

    /// Saves the damaged file at `kept` as the picture at `key`. Never overwrites.
    pub(crate) async fn accept(&self, kept: &str, key: &str) -> Result<SavedPicture, SaveError> {
        let Some(bytes) = self.read(kept).await? else {
            let message = format!("the damaged file {} is gone", self.location(kept));
            return Err(Error::new(ErrorKind::File, message).into());
        };
        match self {
            Self::Folder(folder) => folder.create_file(key, &bytes).await,
            #[cfg(bucket)]
            Self::Bucket(bucket) => bucket.save(key, &bytes.into()).await,
        }
    }

    /// Deletes the file at a key.
    pub(crate) async fn remove(&self, key: &str) {
        each!(self, output => output.remove(key).await);
    }

    /// Returns the picture at a key, if there is one.
    pub(crate) async fn find(&self, key: &str) -> Result<Option<SavedPicture>, Error> {
        // On some filesystems, an empty file reserves the name of a picture that is being saved.
        let bytes = self.read(key).await?.filter(|bytes| !bytes.is_empty());
        Ok(bytes.map(|bytes| SavedPicture::new(&bytes, self.location(key))))
    }

    /// Returns the content of the file or the object at a key, if there is one.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        each!(self, output => output.read(key).await)
    }

    /// Writes the JSON that describes the picture at `key`, next to it. Replaces an earlier one.
    pub(crate) async fn write_beside(&self, key: &str, json: &[u8]) -> Result<(), Error> {
        self.write(&format!("{key}{DESCRIPTION}"), json).await
    }

    /// Writes JSON, and replaces an earlier file or object with this key.
    async fn write(&self, key: &str, json: &[u8]) -> Result<(), Error> {
        each!(self, output => output.write(key, json).await)
    }

    /// Returns the place of these bytes in a file with this content, or `None` for a bucket, where
    /// only whole objects can be replaced.
    async fn place(
        &self,
        key: &str,
        content: &[u8],
        bytes: Range<usize>,
    ) -> Result<Option<Place>, Error> {
        match self {
            Self::Folder(folder) => folder.place(key, content, bytes).await,
            #[cfg(bucket)]
            Self::Bucket(_) => Ok(None),
        }
    }

    /// Returns the keys of all pictures with a description.
    pub(crate) async fn described(&self) -> Result<Vec<String>, Error> {
        let keys = each!(self, output => output.keys().await?);
        let described = keys.iter().filter_map(|key| key.strip_suffix(DESCRIPTION));
        Ok(described.map(str::to_owned).collect())
    }

    /// Returns the description of the picture at a key.
    pub(crate) async fn description(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        self.read(&format!("{key}{DESCRIPTION}")).await
    }

    /// Returns the absolute path or the URL of a key. It contains no credentials.
    pub(crate) fn location(&self, key: &str) -> String {
        each!(self, output => output.location(key))
    }

    /// Returns the output and the key of a location.
    pub(crate) fn of_location(location: &str) -> Result<(Self, String), Error> {
        let (target, key) = OutputTarget::of_location(location)?;
        Ok((Self::new(&target)?, key))
    }

    /// Returns the output and the key of a location, which may come from an earlier run that saved
    /// to another output.
    pub(crate) fn locate(&self, location: &str) -> Result<(Self, String), Error> {
        let root = self.location("");
        match location.strip_prefix(&root) {
            Some(key) => Ok((self.clone(), key.to_owned())),
            None => Self::of_location(location),
        }
    }
}

impl SavedPicture {
    pub(crate) fn new(bytes: &[u8], location: String) -> Self {
        Self {
            bytes: bytes.len() as u64,
            sha256: imagekiln_label::sha256(bytes),
            kind: FileKind::of(bytes),
            location,
            pixels: FileKind::pixels(bytes),
        }
    }
}
