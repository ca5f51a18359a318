//! Checks the settings before the simulator starts.

use url::Url;

use super::Config;
use crate::{
    billing::accounts::is_sendable, contract::Contract, error::StartError, runtime::clock::Clock,
    tasks::outcome::Outcome, values::secret::Secret,
};

const BASE_URL: &str = "must be an http or https URL without a query, a user or a password";

const NOT_ZERO: &str = "must not be zero";

/// Whether the token needs no encoding in a header, a cookie and a URL, and is long enough.
fn is_token(token: &Secret<String>) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    token.expose().len() >= 16 && token.expose().bytes().all(is_safe)
}

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

fn is_model_prefix(prefix: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
    prefix.starts_with(|c: char| c.is_ascii_alphanumeric()) && prefix.bytes().all(is_safe)
}

impl Config {
    /// Fails if a setting is invalid, or names an operation that does not exist.
    pub(crate) fn check(&self, contract: &Contract) -> Result<(), StartError> {
        for address in [self.listen, self.regional_listen].into_iter().flatten() {
            if !self.allow_remote && !address.ip().is_loopback() {
                return Err(StartError::NotLoopback { address });
            }
        }
        let is_local = self.control_listen.is_none_or(|address| address.ip().is_loopback());
        let is_status = |status: &String| !status.is_empty() && !Outcome::is_final(status);
        let mut moderated = self.moderation.input.keys().chain(self.moderation.output.keys());
        // The name of a setting, whether its value is valid, and the rule for its value.
        let checks = [
            (
                "control_listen",
                is_local || self.control_token.is_some(),
                "must be a loopback address, unless `control_token` is set",
            ),
            (
                "control_token",
                self.control_token.as_ref().is_none_or(is_token),
                "must be at least 16 letters, digits, `-`, `_`, `.` and `~`",
            ),
            (
                "cors_origins",
                self.cors_origins.iter().all(|origin| is_origin(origin)),
                "must contain only `*`, or origins such as `http://localhost:3000`",
            ),
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
                is_model_prefix(&self.model_prefix),
                "must consist of letters, digits, `_` and `.`, and start with a letter or digit",
            ),
            (
                "ready_after_spread",
                (0.0..1.0).contains(&self.ready_after_spread),
                "must be at least 0 and less than 1",
            ),
            ("in_progress", !self.in_progress.is_empty(), "must contain at least one status"),
            (
                "in_progress",
                self.in_progress.iter().all(is_status),
                "must not contain a final or an empty status",
            ),
            (
                "max_output_side",
                (1..=16383).contains(&self.max_output_side),
                "must be from 1 to 16383 pixels",
            ),
            ("client_timeout", !self.client_timeout.is_zero(), NOT_ZERO),
            ("speed", (0.0..=Clock::MAX_SPEED).contains(&self.speed), "must be from 0 to 100000"),
            ("not_found_status", matches!(self.not_found_status, 200 | 404), "must be 200 or 404"),
            (
                "pixels_per_megapixel",
                [1_000_000, 1 << 20].contains(&self.pixels_per_megapixel),
                "must be 1000000 or 1048576",
            ),
            ("unpaid_status", (400..=499).contains(&self.unpaid_status), "must be from 400 to 499"),
            (
                "moderation",
                moderated.all(|word| !word.is_empty()),
                "must not contain an empty word",
            ),
            (
                "webhooks.header",
                self.webhooks.header_name().is_some(),
                "is not a header that can be added to a webhook",
            ),
            (
                "webhooks.retry_after",
                self.webhooks.retry_after.len() <= 20,
                "must contain at most 20 delays",
            ),
            ("webhooks.timeout", !self.webhooks.timeout.is_zero(), NOT_ZERO),
            ("webhooks.max_kept", self.webhooks.max_kept > 0, "must be at least 1"),
        ];
        if let Some((setting, _, problem)) = checks.into_iter().find(|(_, is_valid, _)| !is_valid) {
            return Err(StartError::setting(setting, problem));
        }
        self.check_operations(contract)
    }

    fn check_operations(&self, contract: &Contract) -> Result<(), StartError> {
        let projects = self.organizations.iter().flat_map(|organization| &organization.projects);
        let endpoints = projects.flat_map(|project| project.endpoints.iter().flatten());
        let tables = [
            ("ready_after_of", self.ready_after_of.keys().collect::<Vec<_>>()),
            ("output_format_of", self.output_format_of.keys().collect()),
            ("prices.of", self.prices.of.keys().collect()),
            ("organizations.projects.endpoints", endpoints.collect()),
        ];
        for (setting, patterns) in tables {
            for pattern in patterns {
                let problem =
                    |problem| StartError::setting(setting, format!("is invalid: {problem}"));
                contract.check_pattern(pattern).map_err(problem)?;
            }
        }
        Ok(())
    }
}
