//! Settings, with defaults for tests.

mod check;

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use serde::{
    Deserialize,
    de::{IntoDeserializer as _, value},
};
use url::Url;

use crate::{
    billing::{accounts::Organization, credits::Prices},
    runtime::chance::Chance,
    tasks::outcome::Moderation,
    values::{names, seconds, secret::Secret},
    webhooks::WebhookSettings,
};

/// The settings of a simulator. Set the ones that matter, and take the others from
/// [`Config::default`]:
///
/// ```
/// use imagekiln_simulator::Config;
/// use std::time::Duration;
///
/// let config = Config { ready_after: Duration::from_secs(20), ..Config::default() };
/// # assert_eq!(config.model_prefix, "gen");
/// ```
///
/// A TOML file has the same settings with the same names. Times are in seconds, and credits are
/// decimal numbers:
///
/// ```
/// # use imagekiln_simulator::Config;
/// let config = Config::from_toml("ready_after = 20.5\n[prices]\nsubmission = 4.25").unwrap();
/// assert_eq!(config.ready_after.as_secs_f64(), 20.5);
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on; port 0 picks a free port. With 127.0.0.1, the simulator also
    /// listens on the same port of `[::1]` if the machine has IPv6, so that `localhost` works.
    /// Default: none, which is a free port of 127.0.0.1; `kiln simulate` takes port 8314.
    pub listen: Option<SocketAddr>,
    /// The address to listen on for regional models. It must differ from `listen` unless the port
    /// is 0. Default: none, which is a free port of 127.0.0.1; `kiln simulate` takes port 8315.
    pub regional_listen: Option<SocketAddr>,
    /// The address of the control interface and its page. It must be a loopback address, even with
    /// `allow_remote`, unless `control_token` is set. It must differ from the other two addresses
    /// unless the port is 0. Default: none, which is a free port of 127.0.0.1; `kiln simulate`
    /// takes port 8316.
    pub control_listen: Option<SocketAddr>,
    /// The token that the control interface requires. Programs send it in the header
    /// `authorization: Bearer TOKEN`; in a browser, open the page once with `?token=TOKEN`. With a
    /// token, `control_listen` may be any address. The token consists of at least 16 letters,
    /// digits, `-`, `_`, `.` and `~`. Default: none, so that every program on this machine has
    /// access.
    pub control_token: Option<Secret<String>>,
    /// The origins of web pages that may call the service, such as `http://localhost:3000`, or `*`
    /// for all. Default: none.
    pub cors_origins: Vec<String>,
    /// The files for serving the service over TLS, so that its URLs start with `https://`. The
    /// control interface does not use TLS. Default: none.
    pub tls: Option<TlsFiles>,
    /// The base URL at which clients reach the simulator, for example through a proxy that ends
    /// TLS. Polling and delivery URLs start with it. Default: none, which takes the host that the
    /// client named in its request.
    pub public_url: Option<String>,
    /// The base URL at which clients reach the simulator for regional models, like `public_url`.
    /// Default: none.
    pub regional_public_url: Option<String>,
    /// Whether `listen` and `regional_listen` may be reachable from other machines. Default:
    /// `false`, which accepts only loopback addresses.
    pub allow_remote: bool,
    /// Legacy keys, which belong to the project Default of the organization Default. There must be
    /// at least one key, and each key consists of visible ASCII characters.
    /// [`Simulator::api_key`](crate::Simulator::api_key) returns the first one. Default:
    /// `imagekiln-simulator-key`.
    pub api_keys: Vec<Secret<String>>,
    /// The organizations, with their credits, members, projects and keys. If none of them is named
    /// Default, the simulator adds an organization Default with a project Default, a million
    /// credits, and a shared finetune, `fox-style`. Default: none.
    pub organizations: Vec<Organization>,
    /// The prefix of model names, in place of `gen`. With `xyz`, the service has `/v1/xyz-2-pro`
    /// instead of `/v1/gen-2-pro`. The prefix consists of letters, digits, `_` and `.`, and starts
    /// with a letter or digit. Default: `gen`.
    pub model_prefix: String,
    /// Whether the simulator is strict. Then requests must have the fields that the interface
    /// describes as needed, even if the contract does not mark them as required; fields that an
    /// operation does not have are rejected; and each base URL has only the operations that the
    /// contract names for it. Default: `false`, which accepts what the contract allows, at both
    /// base URLs, and ignores other fields.
    pub strict: bool,
    /// The time from a task's acceptance to its final status, on the simulator's clock. Default: 1
    /// second.
    #[serde(deserialize_with = "seconds::one")]
    pub ready_after: Duration,
    /// `ready_after` for single operations. The keys are names such as `gen-2-pro`, as in the
    /// contract but without `/v1/`, or prefixes such as `gen-2-*`, of which the longest match
    /// applies. Default: none.
    #[serde(deserialize_with = "seconds::table")]
    pub ready_after_of: BTreeMap<String, Duration>,
    /// How much the durations of tasks vary. The duration of each task is `ready_after`, or its
    /// value in `ready_after_of`, times a random factor from `1 - ready_after_spread` to `1 +
    /// ready_after_spread`. All factors are equally likely, and `seed` makes them repeatable. From
    /// 0 to less than 1. Default: 0.
    pub ready_after_spread: f64,
    /// Whether a task can be polled at both base URLs. Default: `false`, so that polls find a task
    /// only at the base URL that accepted it.
    pub regions_share_tasks: bool,
    /// The status code of a poll whose status is `Task not found`: 200 or 404. Default: 200.
    pub not_found_status: u16,
    /// The number of pixels in a megapixel, for prices, responses and limits: 1048576 (2^20) or
    /// 1000000. Default: 1048576, which is more permissive.
    pub pixels_per_megapixel: u64,
    /// The format of pictures whose request has no `output_format`, in place of the contract's
    /// default. The keys are operations, as in `ready_after_of`. Default: none.
    pub output_format_of: BTreeMap<String, OutputFormat>,
    /// The statuses of a task in progress, in their order. Each of them lasts an equal part of the
    /// task's duration. There must be at least one. The contract does not list these statuses.
    /// Default: `Pending`, the only one that published clients know; some clients fail on others.
    pub in_progress: Vec<String>,
    /// The maximum number of tasks in progress for a project that sets no maximum itself. Further
    /// submissions get a 429 with `Retry-After`. Default: 1000.
    pub max_active_tasks: usize,
    /// What submissions cost.
    pub prices: Prices,
    /// The time limit for a client to send the headers of a request after the connection became
    /// idle, to send its body, or to read any part of a response. The simulator disconnects slower
    /// clients, with a 408 if it can still send a response. The limit is real time, or the time of
    /// a paused tokio runtime; the simulator's clock does not affect it. Default: 30 seconds.
    #[serde(deserialize_with = "seconds::one")]
    pub client_timeout: Duration,
    /// The status code for a submission that the credits do not cover, or that would exceed a
    /// spending limit: 402, or another one from 400 to 499. Default: 402.
    pub unpaid_status: u16,
    /// The words with which moderation stops a task.
    pub moderation: Moderation,
    /// Which of the images that requests give by their URLs the simulator fetches. If it cannot
    /// fetch an image, the request gets a 422. It never fetches an image from itself. Default:
    /// `never`, which accepts every URL.
    pub fetch_images: FetchImages,
    /// The maximum size of a request body in bytes. Larger bodies get a 413. All bodies together
    /// may take twice as much memory; above that, requests get a 429. Default: 128 MiB, which is
    /// enough for eight images of 8 MB in base64.
    pub max_body_bytes: usize,
    /// The maximum area of an image in a request, in pixels. Larger images get a 422 before
    /// anything is decoded. Default: 32 Mi (2^25), which is enough for 7680 x 4320.
    pub max_input_pixels: u64,
    /// The maximum side of a picture, in pixels. Requests for larger pictures get a 422. At most
    /// 16383, the maximum of WebP. Default: 8192.
    pub max_output_side: u32,
    /// The maximum area of a picture, in pixels. Requests for larger pictures get a 422. Default:
    /// 16 Mi (2^24).
    pub max_output_pixels: u64,
    /// The maximum number of bytes of requests, images and pictures to keep. Above it, the
    /// simulator drops tasks with a final status, oldest first, and polls of these tasks return
    /// `Task not found`. It always keeps tasks in progress. Default: 1 GiB.
    pub max_kept_bytes: u64,
    /// The maximum number of requests to keep in the journal. Above it, the simulator drops the
    /// oldest requests. Default: 10,000.
    pub max_kept_requests: usize,
    /// How long a delivery URL is valid after the task became ready. Default: 10 minutes.
    #[serde(deserialize_with = "seconds::one")]
    pub delivery_lifetime: Duration,
    /// How fast the simulator's clock runs: 1 is real time, 60 is a minute per second, 0 stops it.
    /// From 0 to [`Clock::MAX_SPEED`](crate::Clock::MAX_SPEED). Default: 1.
    pub speed: f64,
    /// How webhooks are sent.
    pub webhooks: WebhookSettings,
    /// The fault rules, each in the notation of [`Faults`](crate::Faults): `html-502@poll:0.1`.
    /// Default: none.
    pub faults: Vec<String>,
    /// The seed of everything random: task ids, the seeds of pictures whose requests set none,
    /// varying durations, faults with a probability, and the secret that signs delivery URLs. Two
    /// simulators with the same seed that receive the same requests in the same order produce the
    /// same ids, seeds and durations. Default: none, which is the same as 0.
    pub seed: Option<Secret<u64>>,
}

/// The files for serving the service over TLS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificates in PEM, of which the first is that of the simulator.
    pub certificate: PathBuf,
    /// The private key in PEM. Default: none, so that `certificate` contains the key, too. If that
    /// file does not exist, the simulator creates it, with a new key and a self-signed certificate
    /// for `localhost` and the hosts of the public URLs.
    pub key: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: None,
            regional_listen: None,
            control_listen: None,
            control_token: None,
            cors_origins: Vec::new(),
            tls: None,
            public_url: None,
            regional_public_url: None,
            allow_remote: false,
            api_keys: vec!["imagekiln-simulator-key".into()],
            model_prefix: "gen".to_owned(),
            organizations: Vec::new(),
            strict: false,
            ready_after: Duration::from_secs(1),
            ready_after_of: BTreeMap::new(),
            ready_after_spread: 0.0,
            regions_share_tasks: false,
            not_found_status: 200,
            pixels_per_megapixel: 1 << 20,
            output_format_of: BTreeMap::new(),
            in_progress: vec!["Pending".to_owned()],
            max_active_tasks: 1000,
            prices: Prices::default(),
            client_timeout: Duration::from_secs(30),
            unpaid_status: 402,
            moderation: Moderation::default(),
            fetch_images: FetchImages::Never,
            max_body_bytes: 128 << 20,
            max_input_pixels: 1 << 25,
            max_output_side: 8192,
            max_output_pixels: 1 << 24,
            max_kept_bytes: 1 << 30,
            max_kept_requests: 10_000,
            delivery_lifetime: Duration::from_secs(600),
            speed: 1.0,
            webhooks: WebhookSettings::default(),
            faults: Vec::new(),
            seed: None,
        }
    }
}

impl Config {
    /// Reads the settings from the text of a TOML file. Missing settings keep their defaults.
    ///
    /// # Errors
    ///
    /// If the text is not TOML, or contains an unknown setting or an invalid value. The message
    /// names the line.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
            let problem = without_values(error.message().trim());
            ConfigError { line: before.matches('\n').count() + 1, problem }
        })
    }

    /// The scheme of the service's URLs.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The hosts at which clients may reach the service.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let public = [&self.public_url, &self.regional_public_url].into_iter().flatten();
        let public = public.filter_map(|url| Url::parse(url).ok()?.host_str().map(str::to_owned));
        ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(public).collect()
    }

    /// The time from acceptance to the final status of task `number`, whose operation is named
    /// without `/v1/`.
    pub(crate) fn time_of(&self, operation: &str, chance: Chance, number: u64) -> Duration {
        let mean = names::best(&self.ready_after_of, operation).copied();
        let mean = mean.unwrap_or(self.ready_after);
        let deviation =
            self.ready_after_spread * (2.0 * chance.fraction("task duration", number) - 1.0);
        let difference = mean.mul_f64(deviation.abs());
        if deviation < 0.0 { mean.saturating_sub(difference) } else { mean + difference }
    }

    /// Converts megapixels to pixels.
    pub(crate) fn pixels(&self, megapixels: f64) -> u64 {
        (megapixels * self.pixels_per_megapixel as f64) as u64
    }
}

/// The file format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// WebP.
    Webp,
}

/// Which of the images that requests give by their URLs are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FetchImages {
    /// No images.
    #[default]
    Never,
    /// Images on this machine, at a loopback address or `localhost`.
    Loopback,
    /// All images.
    Any,
}

impl FromStr for FetchImages {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = Self::deserialize(text.into_deserializer());
        read.map_err(|_: value::Error| "expected `never`, `loopback` or `any`")
    }
}

/// An error in a configuration. It does not quote the text, which may contain keys.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ConfigError {
    /// The number of the line, counted from 1. If the place of the error is not known, this is the
    /// last line.
    pub line: usize,
    /// What is wrong on that line.
    pub problem: String,
}

/// Removes from a message a string of the wrong type, which serde quotes, because it may be a key.
fn without_values(message: &str) -> String {
    let quoted = message.split_once("string \"").and_then(|(before, rest)| {
        let (_, after) = rest.rsplit_once("\", expected")?;
        Some(format!("{before}a string, expected{after}"))
    });
    quoted.unwrap_or_else(|| message.to_owned())
}
