//! Parses the name and the value of a fault.

use std::time::Duration;

use axum::http::{StatusCode, Uri};

use super::known::{KNOWN, KnownFault};

/// What is sent instead of the announced picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    Picture,
    Text,
}

/// A fault with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    ErrorBefore(StatusCode),
    ErrorAfter(StatusCode),
    Html502,
    RateLimited(u64),
    Reset { after: bool },
    ReplyLost,
    ForeignPollingHost(String),
    SlowHeaders(Duration),
    SlowBody(Duration),
    UnknownStatus,
    SpuriousNotFound,
    Truncated,
    Empty,
    Html,
    WrongKind(Replacement),
    EarlyExpiry,
    WebhookDuplicate,
    WebhookLate(Duration),
    WebhookOutOfOrder,
    WebhookForged,
}

impl Fault {
    /// Parses a fault from its name and the value after `=`.
    pub(super) fn new(
        name: &str,
        value: Option<&str>,
    ) -> Result<(Self, &'static KnownFault), &'static str> {
        let known = KNOWN.iter().find(|known| known.name == name).ok_or("unknown fault")?;
        let fault = match name {
            "error-before" => Self::ErrorBefore(status(value)?),
            "error-after" => Self::ErrorAfter(status(value)?),
            "rate-limited" => Self::RateLimited(whole_seconds(value, 1)?),
            "reset" => match value {
                None | Some("before") => Self::Reset { after: false },
                Some("after") => Self::Reset { after: true },
                Some(_) => return Err("expected `before` or `after`"),
            },
            "foreign-polling-host" => {
                Self::ForeignPollingHost(host(value.unwrap_or("127.0.0.2:9"))?)
            }
            "slow-headers" => Self::SlowHeaders(seconds(value, 5)?),
            "slow-body" => Self::SlowBody(seconds(value, 5)?),
            "webhook-late" => Self::WebhookLate(seconds(value, 60)?),
            "wrong-kind" => match value {
                None | Some("picture") => Self::WrongKind(Replacement::Picture),
                Some("text") => Self::WrongKind(Replacement::Text),
                Some(_) => return Err("expected `picture` or `text`"),
            },
            _ if value.is_some() => return Err("this fault does not take a value"),
            "html-502" => Self::Html502,
            "reply-lost" => Self::ReplyLost,
            "unknown-status" => Self::UnknownStatus,
            "spurious-not-found" => Self::SpuriousNotFound,
            "truncated" => Self::Truncated,
            "empty" => Self::Empty,
            "html" => Self::Html,
            "early-expiry" => Self::EarlyExpiry,
            "webhook-duplicate" => Self::WebhookDuplicate,
            "webhook-out-of-order" => Self::WebhookOutOfOrder,
            "webhook-forged" => Self::WebhookForged,
            _ => return Err("unknown fault"),
        };
        Ok((fault, known))
    }

    /// Whether the two cannot apply to the same request. Only one fault can replace the regular
    /// response.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        let kind = std::mem::discriminant::<Self>;
        kind(self) == kind(other) || (self.replaces() && other.replaces())
    }

    fn replaces(&self) -> bool {
        !matches!(
            self,
            Self::SlowHeaders(_)
                | Self::SlowBody(_)
                | Self::WebhookDuplicate
                | Self::WebhookLate(_)
                | Self::WebhookOutOfOrder
                | Self::WebhookForged
        )
    }
}

fn status(value: Option<&str>) -> Result<StatusCode, &'static str> {
    let Some(value) = value else { return Ok(StatusCode::INTERNAL_SERVER_ERROR) };
    let status = value.parse().ok().filter(StatusCode::is_server_error);
    status.ok_or("expected a status code from 500 to 599")
}

/// The maximum duration of a fault, in seconds.
const DAY: u64 = 86_400;

fn seconds(value: Option<&str>, default: u64) -> Result<Duration, &'static str> {
    let Some(value) = value else { return Ok(Duration::from_secs(default)) };
    let time = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| *time <= Duration::from_secs(DAY))
        .ok_or("expected a time in seconds, at most a day")
}

fn whole_seconds(value: Option<&str>, default: u64) -> Result<u64, &'static str> {
    let Some(value) = value else { return Ok(default) };
    let time = value.parse().ok().filter(|seconds| *seconds <= DAY);
    time.ok_or("expected whole seconds, at most a day")
}

/// Parses a host with an optional port.
fn host(value: &str) -> Result<String, &'static str> {
    let authority = value.parse::<Uri>().ok().and_then(|uri| uri.into_parts().authority);
    let plain = authority.is_some_and(|authority| authority == value && !value.contains('@'));
    plain.then(|| value.to_owned()).ok_or("expected a host, optionally with a port")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name() {
        for known in &KNOWN {
            assert_eq!(Fault::new(known.name, None).map(|(_, found)| found.name), Ok(known.name));
            let nonsense = Fault::new(known.name, Some("/no value/"));
            assert!(nonsense.is_err(), "{}", known.name);
        }
        assert_eq!(Fault::new("no-fault", None).err(), Some("unknown fault"));
    }

    #[test]
    fn values_are_checked() {
        for (name, value, holds) in [
            ("error-before", "500", true),
            ("error-after", "599", true),
            ("error-before", "499", false),
            ("error-before", "600", false),
            ("rate-limited", "0", true),
            ("rate-limited", "1.5", false),
            ("rate-limited", "86401", false),
            ("slow-headers", "0.25", true),
            ("slow-body", "-1", false),
            ("slow-body", "nan", false),
            ("slow-body", "1e300", false),
            ("foreign-polling-host", "example.invalid", true),
            ("foreign-polling-host", "[::1]:80", true),
            ("foreign-polling-host", "example.invalid/path", false),
            ("foreign-polling-host", "key@example.invalid", false),
            ("foreign-polling-host", "http://example.invalid", false),
            ("foreign-polling-host", "", false),
            ("reset", "after", true),
            ("wrong-kind", "text", true),
            ("html", "text", false),
        ] {
            assert_eq!(Fault::new(name, Some(value)).is_ok(), holds, "{name}={value}");
        }
    }
}
