//! The settings from environment variables.

use std::env;

use super::{ClientBuilder, invalid_setting};
use crate::{
    Address, Error, REGIONAL_BASE_URL_VARIABLE, Secret, WebhookSecret, contract::WebhookDefaults,
    task::TaskSettings,
};

/// The environment variable for the API key.
pub const API_KEY_VARIABLE: &str = "IMAGEKILN_API_KEY";
/// The environment variable for the base URL.
pub const BASE_URL_VARIABLE: &str = "IMAGEKILN_BASE_URL";
/// The environment variable for the model name prefix.
pub const MODEL_PREFIX_VARIABLE: &str = "IMAGEKILN_MODEL_PREFIX";
/// The environment variable for the URL to which the service sends webhooks.
pub const WEBHOOK_URL_VARIABLE: &str = "IMAGEKILN_WEBHOOK_URL";
/// The environment variable for the secret that signs webhooks.
pub const WEBHOOK_SECRET_VARIABLE: &str = "IMAGEKILN_WEBHOOK_SECRET";
/// The environment variable that allows an `http://` base URL on another machine: `1` or `true`.
pub const ALLOW_HTTP_VARIABLE: &str = "IMAGEKILN_ALLOW_HTTP";

impl ClientBuilder {
    /// Creates a builder with the settings from the environment.
    ///
    /// Reads `IMAGEKILN_API_KEY`, `IMAGEKILN_BASE_URL`, `IMAGEKILN_REGIONAL_BASE_URL`,
    /// `IMAGEKILN_MODEL_PREFIX`, `IMAGEKILN_WEBHOOK_URL`, `IMAGEKILN_WEBHOOK_SECRET` and
    /// `IMAGEKILN_ALLOW_HTTP`. Empty variables count as unset. Missing settings can be set on the
    /// builder.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): a variable is not valid Unicode, or
    /// `IMAGEKILN_ALLOW_HTTP` is not one of `1`, `true`, `0` and `false`.
    pub fn from_env() -> Result<Self, Error> {
        let webhook = WebhookDefaults {
            url: variable(WEBHOOK_URL_VARIABLE)?.map(Address::from),
            secret: variable(WEBHOOK_SECRET_VARIABLE)?.map(WebhookSecret::from),
        };
        Ok(Self {
            api_key: variable(API_KEY_VARIABLE)?.map(Secret::from),
            base_url: variable(BASE_URL_VARIABLE)?,
            regional_base_url: variable(REGIONAL_BASE_URL_VARIABLE)?,
            model_prefix: variable(MODEL_PREFIX_VARIABLE)?,
            tasks: TaskSettings { webhook, ..TaskSettings::default() },
            allow_http: flag(ALLOW_HTTP_VARIABLE)?,
            ..Self::default()
        })
    }
}

fn variable(name: &'static str) -> Result<Option<String>, Error> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => {
            Err(invalid_setting(format!("{name} is not valid Unicode")).with_setting(name))
        }
    }
}

fn flag(name: &'static str) -> Result<bool, Error> {
    match variable(name)?.as_deref().map(str::trim) {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(_) => Err(invalid_setting(format!("{name} must be `1`, `true`, `0` or `false`"))
            .with_advice("set it to 1 or unset it")
            .with_setting(name)),
    }
}
