//! Connects to buckets with the settings in the environment.

use std::{sync::Arc, time::Duration};

use object_store::{ClientConfigKey, ObjectStore, RetryConfig};

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

/// Creates the store from the settings in the environment. Sends no request.
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
    connected.map_err(|problem| failure::invalid_settings(url, &problem))
}

#[cfg(feature = "s3")]
fn s3(url: &BucketUrl) -> Result<Arc<dyn ObjectStore>, String> {
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
    let builder = AmazonS3Builder::from_env()
        .with_bucket_name(&url.bucket)
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT)
        .with_retry(retries());
    check_s3_settings(&builder)?;
    Ok(Arc::new(builder.build().map_err(failure::problem)?))
}

/// Refuses settings with which `object_store` would panic when it signs a request.
#[cfg(feature = "s3")]
fn check_s3_settings(builder: &object_store::aws::AmazonS3Builder) -> Result<(), String> {
    use object_store::aws::AmazonS3ConfigKey as Key;
    let is_text = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_graphic());
    let is_url = |text: &str| {
        url::Url::parse(text)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && is_text(text))
    };
    let check = |key: &Key, is_valid: &dyn Fn(&str) -> bool, expected: &str| {
        let valid = builder.get_config_value(key).is_none_or(|value| is_valid(&value));
        let name = key.as_ref().to_ascii_uppercase();
        if valid { Ok(()) } else { Err(format!("{name} is not {expected}")) }
    };
    for key in [Key::AccessKeyId, Key::SecretAccessKey, Key::Token, Key::Region] {
        check(&key, &is_text, "printable ASCII text")?;
    }
    for key in [Key::Endpoint, Key::S3Endpoint, Key::StsEndpoint, Key::MetadataEndpoint] {
        check(&key, &is_url, "an http or https URL")?;
    }
    Ok(())
}

#[cfg(feature = "gcs")]
fn gcs(url: &BucketUrl) -> Result<Arc<dyn ObjectStore>, String> {
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
    let builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(&url.bucket)
        .with_config(GoogleConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT)
        .with_retry(retries());
    Ok(Arc::new(builder.build().map_err(failure::problem)?))
}

#[cfg(feature = "azure")]
fn azure(url: &BucketUrl) -> Result<Arc<dyn ObjectStore>, String> {
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
    let builder = MicrosoftAzureBuilder::from_env()
        .with_config(AzureConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT)
        .with_retry(retries());
    let builder = match url.scheme {
        // The URL contains the account.
        Scheme::Abfss => builder.with_url(url.to_string()),
        _ => builder.with_container_name(&url.bucket),
    };
    Ok(Arc::new(builder.build().map_err(failure::problem)?))
}
