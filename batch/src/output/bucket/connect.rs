//! Connects to buckets with the settings in the environment.

use std::{sync::Arc, time::Duration};

use object_store::{ClientConfigKey, Error as StoreError, ObjectStore, RetryConfig};

use super::{
    super::target::{BucketUrl, Scheme},
    failure,
};
use crate::Error;

/// The time limit of a request, which may contain a large picture.
const REQUEST_LIMIT: &str = "300 seconds";

/// The retries of a request after server errors and broken connections. A job retries more often.
fn retries() -> RetryConfig {
    RetryConfig {
        max_retries: 4,
        retry_timeout: Duration::from_secs(120),
        ..RetryConfig::default()
    }
}

/// Sends nothing.
pub(super) fn connect(url: &BucketUrl) -> Result<Arc<dyn ObjectStore>, Error> {
    let connected = match url.scheme {
        #[cfg(feature = "s3")]
        Scheme::S3 => s3(url),
        #[cfg(feature = "gcs")]
        Scheme::Gs => gcs(url),
        #[cfg(feature = "azure")]
        Scheme::Az | Scheme::Abfss => azure(url),
        #[allow(unreachable_patterns, reason = "all features may be turned on")]
        scheme => return Err(scheme.without_feature()),
    };
    connected.map_err(|error| failure::invalid_settings(url, &error))
}

#[cfg(feature = "s3")]
fn s3(url: &BucketUrl) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
    let builder = AmazonS3Builder::from_env()
        .with_bucket_name(&url.bucket)
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT)
        .with_retry(retries());
    Ok(Arc::new(builder.build()?))
}

#[cfg(feature = "gcs")]
fn gcs(url: &BucketUrl) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
    let builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(&url.bucket)
        .with_config(GoogleConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT)
        .with_retry(retries());
    Ok(Arc::new(builder.build()?))
}

#[cfg(feature = "azure")]
fn azure(url: &BucketUrl) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
    let builder = MicrosoftAzureBuilder::from_env()
        .with_config(AzureConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT)
        .with_retry(retries());
    let builder = match url.scheme {
        // The URL contains the account.
        Scheme::Abfss => builder.with_url(url.to_string()),
        _ => builder.with_container_name(&url.bucket),
    };
    Ok(Arc::new(builder.build()?))
}
