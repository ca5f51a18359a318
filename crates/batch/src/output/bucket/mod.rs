//! A bucket of S3, Google Cloud Storage or Azure Blob Storage.
//!
//! An upload is one conditional PUT: it creates the whole object, or nothing. There are no
//! multipart uploads, which could be left incomplete: a PUT accepts pictures of the size that the
//! client accepts.

mod connect;
mod failure;

use std::{fmt, future::poll_fn, sync::Arc};

use bytes::Bytes;
use imagekiln::FileKind;
use object_store::{
    Attribute, Attributes, Error as StoreError, ObjectStore, ObjectStoreExt as _, PutMode,
    PutOptions, path::Path,
};

use super::{SaveError, SavedPicture, target::BucketUrl};
use crate::Error;

#[derive(Clone)]
pub(crate) struct Bucket {
    store: Arc<dyn ObjectStore>,
    url: BucketUrl,
}

impl Bucket {
    pub(super) fn new(url: &BucketUrl) -> Result<Self, Error> {
        let store = connect::connect(url)?;
        Ok(Self { store, url: url.clone() })
    }

    /// Checks that the bucket exists and accepts the credentials, by listing it. Any other request
    /// that changes nothing has the same response for a missing bucket as for a missing object.
    pub(super) async fn check(&self) -> Result<(), Error> {
        let prefix = self.path("").ok().filter(|prefix| !prefix.is_root());
        let mut objects = self.store.list(prefix.as_ref());
        // Runs in a task of its own, because `object_store` panics with some settings.
        let first = tokio::spawn(async move {
            poll_fn(|context| objects.as_mut().poll_next(context)).await.transpose()
        });
        match first.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.failed("list", "", &error)),
            Err(_) => Err(failure::invalid_settings(&self.url, "a setting is invalid")),
        }
    }

    /// Returns the keys of all objects.
    pub(super) async fn keys(&self) -> Result<Vec<String>, Error> {
        let prefix = self.path("").ok().filter(|prefix| !prefix.is_root());
        let mut objects = self.store.list(prefix.as_ref());
        let below = prefix.map(|prefix| format!("{prefix}/")).unwrap_or_default();
        let mut keys = Vec::new();
        while let Some(object) = poll_fn(|context| objects.as_mut().poll_next(context)).await {
            let object = object.map_err(|error| self.failed("list", "", &error))?;
            keys.extend(object.location.as_ref().strip_prefix(&below).map(str::to_owned));
        }
        Ok(keys)
    }

    pub(super) async fn is_free(&self, key: &str) -> Result<bool, Error> {
        match self.store.head(&self.path(key)?).await {
            Ok(_) => Ok(false),
            Err(StoreError::NotFound { .. }) => Ok(true),
            Err(error) => Err(self.failed("look for", key, &error)),
        }
    }

    pub(super) async fn save(&self, key: &str, bytes: &Bytes) -> Result<SavedPicture, SaveError> {
        let (path, media_type) = (self.path(key)?, FileKind::of(bytes).map(FileKind::media_type));
        let failed = |what: &str, error: &StoreError| SaveError::Output {
            error: self.failed(what, key, error),
            is_transient: failure::is_transient(error),
        };
        match self.put(&path, bytes, media_type, PutMode::Create).await {
            Ok(()) => {}
            // An earlier attempt of this upload may have succeeded although its response was lost.
            Err(error @ StoreError::AlreadyExists { .. }) => match self.bytes(&path).await {
                Ok(Some(existing)) if existing == *bytes => {}
                Ok(Some(_)) => return Err(SaveError::Exists),
                // Somebody deleted the object in between, or a concurrent request failed.
                Ok(None) => return Err(failed("write", &error)),
                Err(error) => return Err(failed("read", &error)),
            },
            Err(error) => return Err(failed("write", &error)),
        }
        tracing::info!(key, bytes = bytes.len(), "picture saved");
        Ok(SavedPicture::new(bytes, self.location(key)))
    }

    pub(super) async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.bytes(&self.path(key)?).await {
            Ok(bytes) => Ok(bytes.map(|bytes| bytes.to_vec())),
            Err(error) => Err(self.failed("read", key, &error)),
        }
    }

    pub(super) async fn write(&self, key: &str, json: &[u8]) -> Result<(), Error> {
        let json = Bytes::copy_from_slice(json);
        let media_type = Some("application/json");
        let written = self.put(&self.path(key)?, &json, media_type, PutMode::Overwrite).await;
        written.map_err(|error| self.failed("write", key, &error))
    }

    pub(super) async fn remove(&self, key: &str) {
        let Ok(path) = self.path(key) else { return };
        if let Err(error) = self.store.delete(&path).await {
            tracing::warn!(%error, "could not delete a damaged file");
        }
    }

    async fn put(
        &self,
        path: &Path,
        content: &Bytes,
        media_type: Option<&'static str>,
        mode: PutMode,
    ) -> Result<(), StoreError> {
        let attributes = media_type.map(|value| (Attribute::ContentType, value));
        let attributes = Attributes::from_iter(attributes);
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        self.store.put_opts(path, content.clone().into(), options).await.map(drop)
    }

    async fn bytes(&self, path: &Path) -> Result<Option<Bytes>, StoreError> {
        let read = async { self.store.get(path).await?.bytes().await };
        match read.await {
            Err(StoreError::NotFound { .. }) => Ok(None),
            read => read.map(Some),
        }
    }

    pub(super) fn location(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }

    fn path(&self, key: &str) -> Result<Path, Error> {
        let path = match &*self.url.prefix {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        };
        Path::parse(path).map_err(|_| failure::invalid_key(&self.location(key)))
    }

    fn failed(&self, what: &str, key: &str, error: &StoreError) -> Error {
        failure::failed(what, &self.location(key), self.url.scheme, error)
    }
}

/// Prints only the URL, because the store contains the credentials.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("url", &self.url.to_string()).finish_non_exhaustive()
    }
}
