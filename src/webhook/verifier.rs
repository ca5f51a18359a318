//! Verifies the signatures and limits the sizes of webhook deliveries.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName};

use super::{
    event::Event,
    scheme::{Encoding, Kind, Rejection, Scheme, Verified, secret_problem},
};
use crate::{Secret, values::WallClock};

/// The default maximum size of a body in bytes.
const DEFAULT_MAX_BODY: usize = 1024 * 1024;

/// Verifies that a webhook delivery comes from a sender that knows the `webhook_secret` of the
/// request.
///
/// The contract does not define how the service signs webhooks. So the verifier has a constructor
/// for each common scheme, and a setting for each detail in which services differ. Use `kiln
/// webhook verify` to test the settings with a recorded delivery.
///
/// ```
/// use imagekiln::webhook::{Encoding, Verifier};
///
/// let verifier = Verifier::hmac_sha256("the current secret")
///     .also_accept("the secret before it")
///     .header("x-hub-signature")
///     .prefix("")
///     .encoding(Encoding::Base64);
/// assert!(verifier.check().is_ok());
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Verifier {
    scheme: Scheme,
    pub(super) max_body: usize,
    task_id: Option<String>,
    clock: WallClock,
    problem: Option<&'static str>,
}

impl Verifier {
    /// Creates a verifier for HMAC-SHA256 signatures of the raw body.
    ///
    /// By default, the signature is in the header `x-webhook-signature`, as `sha256=` followed by
    /// hexadecimal digits.
    ///
    /// These signatures do not include a timestamp, so an attacker can replay a delivery.
    /// Confirming a replayed event is safe, because the confirmation polls the task.
    pub fn hmac_sha256(secret: impl Into<Secret>) -> Self {
        Self::new(Kind::HmacSha256, "sha256=", secret)
    }

    /// Creates a verifier for deliveries that contain the secret itself in a header,
    /// `x-webhook-signature` by default.
    ///
    /// Anyone who reads one delivery can forge others, because the body is not signed. Use this
    /// scheme only if the service supports no other one.
    pub fn shared_secret(secret: impl Into<Secret>) -> Self {
        Self::new(Kind::SharedSecret, "", secret)
    }

    /// Creates a verifier for [Standard Webhooks](https://www.standardwebhooks.com), with the
    /// headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, and signatures of version
    /// `v1`.
    ///
    /// The secret should be `whsec_` followed by the base64 of 24 to 64 bytes. For other text with
    /// this prefix, [`check`](Self::check) fails. Text without the prefix is used as the key
    /// itself. If it is the base64 of 24 to 64 bytes, the verifier also accepts signatures with the
    /// decoded key.
    pub fn standard(secret: impl Into<Secret>) -> Self {
        Self::new(Kind::Standard, "", secret)
    }

    fn new(kind: Kind, prefix: &str, secret: impl Into<Secret>) -> Self {
        let header =
            if kind == Kind::Standard { "webhook-signature" } else { "x-webhook-signature" };
        let scheme = Scheme {
            kind,
            secrets: Vec::new(),
            header: HeaderName::from_static(header),
            id_header: HeaderName::from_static("webhook-id"),
            timestamp_header: HeaderName::from_static("webhook-timestamp"),
            prefix: prefix.to_owned(),
            encoding: Encoding::Hex,
            max_age: Duration::from_secs(300),
        };
        let clock = WallClock::default();
        let verifier =
            Self { scheme, max_body: DEFAULT_MAX_BODY, task_id: None, clock, problem: None };
        verifier.also_accept(secret)
    }

    /// Adds a secret. The verifier accepts a delivery that is signed with any of its secrets.
    ///
    /// Use this method to rotate secrets: for some time, tasks that were submitted with the old
    /// secret and tasks that were submitted with the new one are in progress.
    pub fn also_accept(mut self, secret: impl Into<Secret>) -> Self {
        let secret = secret.into();
        self.problem = self.problem.or_else(|| secret_problem(self.scheme.kind, secret.reveal()));
        self.scheme.secrets.push(secret);
        self
    }

    /// Sets the header with the signature or the secret. The default is `x-webhook-signature`, and
    /// `webhook-signature` for Standard Webhooks.
    pub fn header(mut self, name: &str) -> Self {
        let parsed = HeaderName::try_from(name).map(|name| self.scheme.header = name);
        self.require(parsed.is_ok(), "the name of the signature header is invalid")
    }

    /// Sets the header with the message id of Standard Webhooks. The default is `webhook-id`.
    ///
    /// Some services use a different name, such as `svix-id`.
    pub fn id_header(mut self, name: &str) -> Self {
        let parsed = HeaderName::try_from(name).map(|name| self.scheme.id_header = name);
        self.require(parsed.is_ok(), "the name of the header with the message id is invalid")
            .require_standard("only Standard Webhooks have a header with a message id")
    }

    /// Sets the header with the timestamp of Standard Webhooks. The default is
    /// `webhook-timestamp`.
    pub fn timestamp_header(mut self, name: &str) -> Self {
        let parsed = HeaderName::try_from(name).map(|name| self.scheme.timestamp_header = name);
        self.require(parsed.is_ok(), "the name of the timestamp header is invalid")
            .require_standard("only Standard Webhooks have a header with a timestamp")
    }

    /// Sets the text before the signature or the secret in the header. The default is `sha256=` for
    /// HMAC-SHA256, and empty for a shared secret.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        let can_change = self.scheme.kind != Kind::Standard;
        self.scheme.prefix = prefix.into();
        self.require(can_change, "the prefix of Standard Webhooks cannot be changed")
    }

    /// Sets the encoding of HMAC-SHA256 signatures. The default is [`Encoding::Hex`].
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        let can_change = self.scheme.kind == Kind::HmacSha256;
        self.scheme.encoding = encoding;
        self.require(can_change, "only HMAC-SHA256 signatures have an encoding setting")
    }

    /// Sets the maximum age of a delivery of Standard Webhooks, and how far its timestamp may be
    /// ahead of the local clock. The default is five minutes.
    ///
    /// With the other schemes, this setting makes `check` fail, because they do not sign a
    /// timestamp.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.scheme.max_age = age;
        self.require_standard("only Standard Webhooks have a timestamp")
    }

    /// Sets the maximum size of a body in bytes. The default is 1 MiB.
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sets the location of the task id in the body, as a JSON pointer (RFC 6901) such as
    /// `/data/object/id`.
    ///
    /// By default, the id is the member `task_id` or `id` of the body, or of its member `data`,
    /// `task`, `response` or `result`.
    pub fn task_id(mut self, pointer: impl Into<String>) -> Self {
        let pointer = pointer.into();
        let mut escapes = pointer.split('~').skip(1);
        let is_pointer =
            pointer.starts_with('/') && escapes.all(|rest| rest.starts_with(['0', '1']));
        self.task_id = Some(pointer);
        self.require(is_pointer, "the location of the task id is not a JSON pointer such as `/id`")
    }

    /// Replaces the system's wall clock, for tests.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = WallClock::new(now);
        self
    }

    /// Checks the settings. [`verify`](Self::verify) performs the same check.
    ///
    /// # Errors
    ///
    /// [`Rejection::Settings`]: a secret is blank, begins with a byte order mark or does not have
    /// the form of the scheme, a header name or the location of the task id is invalid, or a
    /// setting does not apply to the scheme.
    pub fn check(&self) -> Result<(), Rejection> {
        self.problem.map_or(Ok(()), |problem| Err(Rejection::Settings { problem: problem.into() }))
    }

    /// Verifies a delivery from its headers and its unmodified raw body.
    ///
    /// # Errors
    ///
    /// The reason for the rejection. Respond with the status code of `Rejection::status` and do not
    /// use the delivery. The service may repeat it.
    pub fn verify(&self, headers: &HeaderMap, body: impl AsRef<[u8]>) -> Result<Event, Rejection> {
        self.check()?;
        let body = body.as_ref();
        self.check_size(body)?;
        let verified = self.scheme.verify(headers, body, self.clock.now())?;
        Event::read(verified, body, self.task_id.as_deref())
    }

    /// Parses a body without verifying the delivery, for tools that inspect webhooks.
    ///
    /// The event is not trustworthy: anyone may have sent it.
    ///
    /// # Errors
    ///
    /// [`Rejection::NotJson`] or [`Rejection::TooLarge`].
    #[doc(hidden)]
    pub fn read_unverified(&self, body: impl AsRef<[u8]>) -> Result<Event, Rejection> {
        let body = body.as_ref();
        self.check_size(body)?;
        Event::read(Verified::by_body(body), body, self.task_id.as_deref())
    }

    fn check_size(&self, body: &[u8]) -> Result<(), Rejection> {
        if body.len() > self.max_body {
            Err(Rejection::TooLarge { limit: self.max_body })
        } else {
            Ok(())
        }
    }

    fn require_standard(self, problem: &'static str) -> Self {
        let is_standard = self.scheme.kind == Kind::Standard;
        self.require(is_standard, problem)
    }

    /// Records a problem unless the condition is met. Keeps only the first problem, because later
    /// problems may be a consequence of it.
    fn require(mut self, is_met: bool, problem: &'static str) -> Self {
        self.problem = self.problem.or((!is_met).then_some(problem));
        self
    }
}
