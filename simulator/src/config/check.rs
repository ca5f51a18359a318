//! Checks the settings before the start.

use url::Url;

use super::Config;
use crate::{
    billing::accounts::is_sendable, error::StartError, runtime::clock::Clock,
    tasks::outcome::Outcome, values::secret::Secret,
};

const BASE_URL: &str = "must be an http or https URL without a query, a user or a password";

const TOKEN: &str = "must be at least 16 letters, digits, `-`, `_`, `.` and `~`";

/// Whether it can stand in a header, a cookie and a URL as it is.
fn is_token(token: &Secret<String>) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    token.expose().len() >= 16 && token.expose().bytes().all(is_safe)
}

const ORIGIN: &str = "must contain only `*`, or origins such as `http://localhost:3000`";

fn is_origin(origin: &str) -> bool {
    origin == "*"
        || Url::parse(origin).is_ok_and(|url| url.origin().ascii_serialization() == origin)
}

fn is_base_url(url: &Option<String>) -> bool {
    let Some(url) = url else { return true };
    Url::parse(url).is_ok_and(|url| {
        ["http", "https"].contains(&url.scheme())
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

impl Config {
    /// Rejects invalid settings.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        for address in [self.listen, self.regional_listen].into_iter().flatten() {
            if !self.allow_remote && !address.ip().is_loopback() {
                return Err(StartError::NotLoopback { address });
            }
        }
        let settings = [
            (
                "control_listen",
                self.control_token.is_some()
                    || self.control_listen.is_none_or(|address| address.ip().is_loopback()),
                "must be a loopback address, unless `control_token` is set",
            ),
            ("control_token", self.control_token.as_ref().is_none_or(is_token), TOKEN),
            ("cors_origins", self.cors_origins.iter().all(|origin| is_origin(origin)), ORIGIN),
            ("public_url", is_base_url(&self.public_url), BASE_URL),
            ("regional_public_url", is_base_url(&self.regional_public_url), BASE_URL),
            ("api_keys", !self.api_keys.is_empty(), "must contain at least one key"),
            (
                "api_keys",
                self.api_keys.iter().all(|key| is_sendable(key.expose())),
                "must contain only keys of visible ASCII characters",
            ),
            (
                "model_prefix",
                self.model_prefix.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && self
                        .model_prefix
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte)),
                "must consist of letters, digits, `_` and `.`, and start with a letter or digit",
            ),
            ("in_progress", !self.in_progress.is_empty(), "must contain at least one status"),
            (
                "in_progress",
                !self
                    .in_progress
                    .iter()
                    .any(|status| status.is_empty() || Outcome::is_final(status)),
                "must not contain a final or an empty status",
            ),
            (
                "max_output_side",
                (1..=16383).contains(&self.max_output_side),
                "must be from 1 to 16383 pixels",
            ),
            ("client_timeout", !self.client_timeout.is_zero(), "must not be zero"),
            ("speed", (0.0..=Clock::MAX_SPEED).contains(&self.speed), "must be from 0 to 100000"),
            ("not_found_status", [200, 404].contains(&self.not_found_status), "must be 200 or 404"),
            (
                "pixels_per_megapixel",
                [1_000_000, 1 << 20].contains(&self.pixels_per_megapixel),
                "must be 1000000 or 1048576",
            ),
            ("unpaid_status", (400..=499).contains(&self.unpaid_status), "must be from 400 to 499"),
            (
                "moderation",
                [&self.moderation.input, &self.moderation.output]
                    .iter()
                    .all(|words| words.keys().all(|word| !word.is_empty())),
                "must not contain an empty word",
            ),
        ];
        match settings.into_iter().chain(self.webhooks.checks()).find(|(_, holds, _)| !holds) {
            Some((setting, _, problem)) => Err(StartError::setting(setting, problem)),
            None => Ok(()),
        }
    }
}
