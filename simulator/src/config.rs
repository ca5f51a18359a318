//! Settings, with defaults that suit a test.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;

use crate::accounts::{Organization, is_sendable};
use crate::clock::Clock;
use crate::credits::Prices;
use crate::error::{ConfigError, StartError};
use crate::moderation::Moderation;
use crate::outcome::Outcome;
use crate::webhooks::WebhookSettings;
use crate::{pattern, seconds};

/// How a simulator behaves. Fill in what matters and take the rest from [`Config::default`]:
///
/// ```
/// use imagekiln_simulator::Config;
/// use std::time::Duration;
///
/// let config = Config { ready_after: Duration::from_secs(20), ..Config::default() };
/// # assert_eq!(config.model_prefix, "gen");
/// ```
///
/// From a file, the same settings under the same names, with times in seconds and credits as
/// decimal numbers:
///
/// ```
/// # use imagekiln_simulator::Config;
/// let config = Config::from_toml("ready_after = 20.5\n[prices]\nsubmission = 4.25").unwrap();
/// assert_eq!(config.ready_after.as_secs_f64(), 20.5);
/// ```
#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where to listen; port 0 takes any free port. Default: `127.0.0.1:0`.
    pub listen: SocketAddr,
    /// Where the regional address listens; it must differ from `listen` unless the port is 0.
    /// Default: `127.0.0.1:0`.
    pub regional_listen: SocketAddr,
    /// Where the control interface and its page listen; always loopback, also with `allow_remote`.
    /// It must differ from the other two unless the port is 0. Default: `127.0.0.1:0`.
    pub control_listen: SocketAddr,
    /// Whether `listen` and `regional_listen` may be reached from other machines. Default: `false`,
    /// which refuses every address that is not loopback.
    pub allow_remote: bool,
    /// Keys from before there were projects, one at least, each of visible ASCII characters. They
    /// belong to the project Default of the organization Default; the first is
    /// [`Simulator::api_key`](crate::Simulator::api_key). Default: `imagekiln-simulator-key`.
    pub api_keys: Vec<String>,
    /// The organizations, with their credits, members, projects and keys. Default with a project
    /// Default is added where none of that name is among them; it has a million credits and a
    /// shared finetune, `fox-style`. Default: none.
    pub organizations: Vec<Organization>,
    /// What stands for `gen` at the head of model names: with `xyz` the service says
    /// `/v1/xyz-2-pro` for `/v1/gen-2-pro`. One letter or digit at least, and nothing but letters,
    /// digits, `_` and `.`. Default: `gen`.
    pub model_prefix: String,
    /// From a task's acceptance to its final status, by the simulator's clock. Default: 1 second.
    #[serde(deserialize_with = "seconds::one")]
    pub ready_after: Duration,
    /// The same for single operations: names such as `gen-2-pro`, as in the contract and without
    /// `/v1/`, or beginnings such as `gen-2-*`, of which the longest that fits counts. Default:
    /// none.
    #[serde(deserialize_with = "seconds::table")]
    pub ready_after_of: BTreeMap<String, Duration>,
    /// The statuses of a task in progress, in their order, one at least; each lasts an equal part
    /// of `ready_after`. The interface shows none, so these are the simulator's own. Default:
    /// `Pending`, `Processing`.
    pub in_progress: Vec<String>,
    /// How many tasks without a final status a project may have, where the project has no number of
    /// its own; one more submission is answered with 429 and `Retry-After`. Default: 1000.
    pub max_active_tasks: usize,
    /// What submissions cost.
    pub prices: Prices,
    /// How long a client may take to send the head of a request, or to send its body, or to take
    /// any part of an answer, before it is cut off; where an answer can still be given, it is a
    /// 408. In real time, or that of a paused tokio runtime: the simulator's clock does not move
    /// it. Default: 30 seconds.
    #[serde(deserialize_with = "seconds::one")]
    pub client_timeout: Duration,
    /// The status with which a submission is refused for which the credits do not suffice, or which
    /// would lead over a spending limit: 402, or another from 400 to 499. Default: 402.
    pub unpaid_status: u16,
    /// The words that stop a task.
    pub moderation: Moderation,
    /// The largest request body in bytes; more is answered with 413. Default: 128 MiB, which holds
    /// eight images of 8 MB in base64.
    pub max_body_bytes: usize,
    /// The largest area in pixels of an image in a request; more is answered with 422 before
    /// anything is decoded. Default: 32 Mi (2^25), which holds 7680 x 4320.
    pub max_input_pixels: u64,
    /// The longest side in pixels of a picture asked for; more is answered with 422. At most 16383,
    /// the longest side of a webp. Default: 8192.
    pub max_output_side: u32,
    /// The largest area in pixels of a picture asked for; more is answered with 422. Default: 16 Mi
    /// (2^24).
    pub max_output_pixels: u64,
    /// How many bytes of requests, images and pictures are kept. Past that, tasks with a final
    /// status are forgotten, the oldest first, and polling them answers `Task not found`. Tasks
    /// without one are always kept. Default: 1 GiB.
    pub max_kept_bytes: u64,
    /// How long a delivery address is good for, from the moment the task became ready. Default: 10
    /// minutes.
    #[serde(deserialize_with = "seconds::one")]
    pub delivery_lifetime: Duration,
    /// How fast the simulator's clock runs: 1 is real time, 60 is a minute a second, 0 stands
    /// still. From 0 to [`Clock::MAX_SPEED`](crate::Clock::MAX_SPEED). Default: 1.
    pub speed: f64,
    /// How webhooks are sent.
    pub webhooks: WebhookSettings,
    /// The faults that strike by themselves, each written as [`Faults`](crate::Faults) tells:
    /// `html-502@poll:0.1`. Default: none.
    pub faults: Vec<String>,
    /// From this number come task ids, the seeds of pictures for which none was asked, the draws of
    /// faults by chance, and the secret that signs delivery addresses. Two simulators with the same
    /// number and the same requests, in the same order, give the same ids and seeds. Default: none,
    /// which is as 0.
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            listen: any_port,
            regional_listen: any_port,
            control_listen: any_port,
            allow_remote: false,
            api_keys: vec!["imagekiln-simulator-key".to_owned()],
            model_prefix: "gen".to_owned(),
            organizations: Vec::new(),
            ready_after: Duration::from_secs(1),
            ready_after_of: BTreeMap::new(),
            in_progress: vec!["Pending".to_owned(), "Processing".to_owned()],
            max_active_tasks: 1000,
            prices: Prices::default(),
            client_timeout: Duration::from_secs(30),
            unpaid_status: 402,
            moderation: Moderation::default(),
            max_body_bytes: 128 << 20,
            max_input_pixels: 1 << 25,
            max_output_side: 8192,
            max_output_pixels: 1 << 24,
            max_kept_bytes: 1 << 30,
            delivery_lifetime: Duration::from_secs(600),
            speed: 1.0,
            webhooks: WebhookSettings::default(),
            faults: Vec::new(),
            seed: None,
        }
    }
}

impl Config {
    /// Reads the settings from the text of a TOML file. What it leaves out keeps its default.
    ///
    /// # Errors
    ///
    /// When the text is not TOML, or names a setting that does not exist or a value that cannot be;
    /// the message tells the line.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::new(text, &error))
    }

    /// From acceptance to the final status, for an operation named without `/v1/`.
    pub(crate) fn time_of(&self, operation: &str) -> Duration {
        pattern::best(&self.ready_after_of, operation).copied().unwrap_or(self.ready_after)
    }

    /// Refuses settings under which the simulator could not keep its word.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        for address in [self.listen, self.regional_listen] {
            if !self.allow_remote && !address.ip().is_loopback() {
                return Err(StartError::NotLoopback { address });
            }
        }
        let settings = [
            (
                "control_listen",
                self.control_listen.ip().is_loopback(),
                "must be a loopback address: no other machine may reach it",
            ),
            ("api_keys", !self.api_keys.is_empty(), "names no key"),
            (
                "api_keys",
                self.api_keys.iter().all(|key| is_sendable(key)),
                "holds a key with other than visible ASCII characters",
            ),
            (
                "model_prefix",
                self.model_prefix.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && self
                        .model_prefix
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte)),
                "must be of letters, digits, `_` and `.`, and begin with a letter or digit",
            ),
            ("in_progress", !self.in_progress.is_empty(), "names no status"),
            (
                "in_progress",
                !self
                    .in_progress
                    .iter()
                    .any(|status| status.is_empty() || Outcome::is_final(status)),
                "names a final status, or none at all",
            ),
            (
                "max_output_side",
                (1..=16383).contains(&self.max_output_side),
                "must be from 1 to 16383 pixels",
            ),
            ("client_timeout", !self.client_timeout.is_zero(), "leaves a client no time at all"),
            ("speed", (0.0..=Clock::MAX_SPEED).contains(&self.speed), "must be from 0 to 100000"),
            ("unpaid_status", (400..=499).contains(&self.unpaid_status), "must be from 400 to 499"),
            (
                "moderation",
                [&self.moderation.input, &self.moderation.output]
                    .iter()
                    .all(|words| words.keys().all(|word| !word.is_empty())),
                "has an empty word",
            ),
        ];
        match settings.into_iter().chain(self.webhooks.checks()).find(|(_, holds, _)| !holds) {
            Some((setting, _, problem)) => Err(StartError::setting(setting, problem)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("listen", &self.listen)
            .field("regional_listen", &self.regional_listen)
            .field("control_listen", &self.control_listen)
            .field("allow_remote", &self.allow_remote)
            .field("api_keys", &format_args!("{} [redacted]", self.api_keys.len()))
            .field("organizations", &self.organizations)
            .field("model_prefix", &self.model_prefix)
            .field("ready_after", &self.ready_after)
            .field("ready_after_of", &self.ready_after_of)
            .field("in_progress", &self.in_progress)
            .field("max_active_tasks", &self.max_active_tasks)
            .field("prices", &self.prices)
            .field("client_timeout", &self.client_timeout)
            .field("unpaid_status", &self.unpaid_status)
            .field("moderation", &self.moderation)
            .field("max_body_bytes", &self.max_body_bytes)
            .field("max_input_pixels", &self.max_input_pixels)
            .field("max_output_side", &self.max_output_side)
            .field("max_output_pixels", &self.max_output_pixels)
            .field("max_kept_bytes", &self.max_kept_bytes)
            .field("delivery_lifetime", &self.delivery_lifetime)
            .field("speed", &self.speed)
            .field("webhooks", &self.webhooks)
            .field("faults", &self.faults)
            .field("seed", &format_args!("[redacted]"))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_told_with_its_line_and_without_the_value() {
        for (text, line, part) in [
            ("seed = 1\n\nkeys = []", 3, "unknown field `keys`"),
            ("seed = 1\napi_keys = \"se\\\"cret\"", 2, "a string, expected a sequence"),
            ("ready_after = -1", 1, "is no time in seconds"),
            ("ready_after = 1e300", 1, "is no time in seconds"),
            ("ready_after = nan", 1, "is no time in seconds"),
            ("[prices]\nsubmission = 0.001", 2, "two decimal places"),
            ("[prices]\nsubmission = -3", 2, "two decimal places"),
            ("[prices]\nsubmission = 10000.123", 2, "two decimal places"),
            ("seed = ", 1, "string values"),
        ] {
            let error = Config::from_toml(text).err().unwrap();
            assert_eq!(error.line, line, "{error}");
            assert!(error.problem.contains(part), "{text}: {error}");
            assert!(!error.to_string().contains("cret"), "{error}");
        }
    }
}
