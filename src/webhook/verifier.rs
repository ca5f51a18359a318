//! Verifies the signatures and limits the sizes of webhook deliveries.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{
    Hmac, KeyInit, Mac,
    digest::{CtOutput, Output},
};
use reqwest::header::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use super::{
    event::Event,
    scheme::{Encoding, Fingerprint, Kind, Rejection, Verified, secret_problem, standard_keys},
};
use crate::{Secret, values::WallClock};

/// The default maximum size of a body in bytes.
const DEFAULT_MAX_BODY: usize = 1024 * 1024;

/// The prefix of symmetric signatures in Standard Webhooks. Signatures of other versions need keys
/// that the SDK does not have.
const VERSION: &str = "v1,";

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
    kind: Kind,
    secrets: Vec<Secret>,
    /// The header with the signature or the secret.
    header: HeaderName,
    id_header: HeaderName,
    timestamp_header: HeaderName,
    prefix: String,
    encoding: Encoding,
    max_age: Duration,
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
        let verifier = Self {
            kind,
            secrets: Vec::new(),
            header: HeaderName::from_static(header),
            id_header: HeaderName::from_static("webhook-id"),
            timestamp_header: HeaderName::from_static("webhook-timestamp"),
            prefix: prefix.to_owned(),
            encoding: Encoding::Hex,
            max_age: Duration::from_secs(300),
            max_body: DEFAULT_MAX_BODY,
            task_id: None,
            clock: WallClock::default(),
            problem: None,
        };
        verifier.also_accept(secret)
    }

    /// Adds a secret. The verifier accepts a delivery that is signed with any of its secrets.
    ///
    /// Use this method to rotate secrets: for some time, tasks that were submitted with the old
    /// secret and tasks that were submitted with the new one are in progress.
    pub fn also_accept(mut self, secret: impl Into<Secret>) -> Self {
        let secret = secret.into();
        self.problem = self.problem.or_else(|| secret_problem(self.kind, secret.reveal()));
        self.secrets.push(secret);
        self
    }

    /// Sets the header with the signature or the secret. The default is `x-webhook-signature`, and
    /// `webhook-signature` for Standard Webhooks.
    pub fn header(mut self, name: &str) -> Self {
        let parsed = HeaderName::try_from(name).map(|name| self.header = name);
        self.require(parsed.is_ok(), "the name of the signature header is invalid")
    }

    /// Sets the header with the message id of Standard Webhooks. The default is `webhook-id`.
    ///
    /// Some services use a different name, such as `svix-id`.
    pub fn id_header(mut self, name: &str) -> Self {
        let parsed = HeaderName::try_from(name).map(|name| self.id_header = name);
        self.require(parsed.is_ok(), "the name of the header with the message id is invalid")
            .require_standard("only Standard Webhooks have a header with a message id")
    }

    /// Sets the header with the timestamp of Standard Webhooks. The default is
    /// `webhook-timestamp`.
    pub fn timestamp_header(mut self, name: &str) -> Self {
        let parsed = HeaderName::try_from(name).map(|name| self.timestamp_header = name);
        self.require(parsed.is_ok(), "the name of the timestamp header is invalid")
            .require_standard("only Standard Webhooks have a header with a timestamp")
    }

    /// Sets the text before the signature or the secret in the header. The default is `sha256=` for
    /// HMAC-SHA256, and empty for a shared secret.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        let can_change = self.kind != Kind::Standard;
        self.prefix = prefix.into();
        self.require(can_change, "the prefix of Standard Webhooks cannot be changed")
    }

    /// Sets the encoding of HMAC-SHA256 signatures. The default is [`Encoding::Hex`].
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        let can_change = self.kind == Kind::HmacSha256;
        self.encoding = encoding;
        self.require(can_change, "only HMAC-SHA256 signatures have an encoding setting")
    }

    /// Sets the maximum age of a delivery of Standard Webhooks, and how far its timestamp may be
    /// ahead of the local clock. The default is five minutes.
    ///
    /// With the other schemes, this setting makes `check` fail, because they do not sign a
    /// timestamp.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
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
        let verified = match self.kind {
            Kind::HmacSha256 => self.verify_hmac_sha256(headers, body),
            Kind::SharedSecret => self.verify_shared_secret(headers, body),
            Kind::Standard => self.verify_standard(headers, body),
        }?;
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
        let is_standard = self.kind == Kind::Standard;
        self.require(is_standard, problem)
    }

    /// Records a problem unless the condition is met. Keeps only the first problem, because later
    /// problems may be a consequence of it.
    fn require(mut self, is_met: bool, problem: &'static str) -> Self {
        self.problem = self.problem.or((!is_met).then_some(problem));
        self
    }

    fn verify_hmac_sha256(&self, headers: &HeaderMap, body: &[u8]) -> Result<Verified, Rejection> {
        let decoded = self.encoding.decode(self.given(headers)?);
        let signature = decoded.map_err(|problem| malformed(&self.header, problem))?;
        let expected = self.secrets.iter().filter_map(|secret| sign(secret.reveal(), &[body]));
        require_match(&self.header, expected, &[signature])?;
        // Use the signature as the fingerprint, because it is already a hash of the body.
        Ok(Verified { message_id: None, fingerprint: signature })
    }

    /// Compares the hashes of the secrets, so that the duration of the comparison does not reveal
    /// where the secrets differ.
    fn verify_shared_secret(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Verified, Rejection> {
        let given = Sha256::digest(self.given(headers)?).into();
        let expected = self.secrets.iter().map(|secret| Sha256::digest(secret.reveal()));
        require_match(&self.header, expected, &[given])?;
        Ok(Verified::by_body(body))
    }

    fn verify_standard(&self, headers: &HeaderMap, body: &[u8]) -> Result<Verified, Rejection> {
        let id = only(headers, &self.id_header)?;
        let timestamp = only(headers, &self.timestamp_header)?;
        // The signed text joins the id, the timestamp and the body with dots. If an id could
        // contain a dot, the same signature would also be valid for a different id, timestamp and
        // body.
        if id.is_empty() || id.contains('.') {
            return Err(malformed(&self.id_header, "is empty or contains a dot"));
        }
        let sent_at = parse_seconds(timestamp).ok_or_else(|| {
            malformed(&self.timestamp_header, "is not a number of seconds since the Unix epoch")
        })?;
        let given = only(headers, &self.header)?;
        let signatures: Vec<_> = given
            .split(' ')
            .filter_map(|signature| Encoding::Base64.decode(signature.strip_prefix(VERSION)?).ok())
            .collect();
        if signatures.is_empty() {
            return Err(malformed(&self.header, "has no signature of the form `v1,` and base64"));
        }
        let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
        let keys = self.secrets.iter().flat_map(|secret| standard_keys(secret.reveal()));
        require_match(&self.header, keys.filter_map(|key| sign(key, &signed)), &signatures)?;
        self.check_age(sent_at)?;
        Ok(Verified { message_id: Some(id.to_owned()), fingerprint: Sha256::digest(id).into() })
    }

    /// Returns the text after the prefix in the header.
    fn given<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Rejection> {
        only(headers, &self.header)?
            .strip_prefix(&self.prefix)
            .ok_or_else(|| malformed(&self.header, "does not start with the expected prefix"))
    }

    /// Checks the age of a delivery. Call it only after verifying the signature of the timestamp.
    fn check_age(&self, sent_at: u64) -> Result<(), Rejection> {
        let now = self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let limit = self.max_age;
        let (age, ahead) = (now.saturating_sub(sent_at), sent_at.saturating_sub(now));
        if age > limit.as_secs() {
            return Err(Rejection::TooOld { age: Duration::from_secs(age), limit });
        }
        if ahead > limit.as_secs() {
            return Err(Rejection::FromFuture { ahead: Duration::from_secs(ahead), limit });
        }
        Ok(())
    }
}

/// Signs the concatenation of the parts. Returns `None` if HMAC refuses the key, which never
/// happens: it accepts keys of any length.
fn sign(key: impl AsRef<[u8]>, parts: &[&[u8]]) -> Option<Output<Sha256>> {
    let key = Hmac::<Sha256>::new_from_slice(key.as_ref()).ok()?;
    Some(parts.iter().fold(key, Mac::chain_update).finalize().into_bytes())
}

/// Fails unless one of the given values equals one of the expected values. Compares every pair in
/// constant time, so the duration does not reveal which pair matched.
fn require_match(
    header: &HeaderName,
    expected: impl Iterator<Item = Output<Sha256>>,
    given: &[Fingerprint],
) -> Result<(), Rejection> {
    let given: Vec<_> =
        given.iter().map(|given| CtOutput::<Sha256>::new((*given).into())).collect();
    let is_known = expected.map(CtOutput::new).fold(false, |found, expected| {
        given.iter().fold(found, |found, given| found | (expected == *given))
    });
    if is_known { Ok(()) } else { Err(Rejection::Wrong { header: header.to_string() }) }
}

/// Parses a timestamp that consists only of digits.
fn parse_seconds(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Returns the value of a header as ASCII text. Fails if the header is missing or occurs more than
/// once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Rejection> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or_else(|| Rejection::Missing { header: name.to_string() })?;
    if values.next().is_some() {
        return Err(malformed(name, "occurs more than once"));
    }
    value.to_str().map_err(|_| malformed(name, "has characters that are not visible ASCII"))
}

fn malformed(name: &HeaderName, problem: &'static str) -> Rejection {
    Rejection::Malformed { header: name.to_string(), problem }
}
