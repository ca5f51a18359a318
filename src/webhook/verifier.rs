use std::{
    fmt,
    time::{Duration, SystemTime},
};

use reqwest::header::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use super::{
    Encoding, Event, Refusal,
    event::Verified,
    hmac_sha256::HmacSha256,
    key::Key,
    shared_secret::SharedSecret,
    standard::{SECRET_PREFIX, Standard},
};
use crate::{WebhookSecret, transport::clock::WallClock};

/// The largest body that is taken by default, in bytes.
const DEFAULT_MAX_BODY: usize = 1024 * 1024;

/// Verifies that a delivery comes from somebody who knows the `webhook_secret` of the request.
///
/// The contract does not show how the service signs its webhooks, so there is a constructor for
/// each of the usual schemes, and a setting for each detail. `kiln webhook verify` tries the
/// settings on a recorded delivery.
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
#[derive(Clone)]
#[must_use]
pub struct Verifier {
    scheme: Scheme,
    secrets: usize,
    max_body: usize,
    task_id: Option<String>,
    clock: WallClock,
    problem: Option<String>,
}

#[derive(Clone)]
enum Scheme {
    HmacSha256(HmacSha256),
    SharedSecret(SharedSecret),
    Standard(Standard),
}

impl Verifier {
    /// The delivery is signed with HMAC-SHA256 of the raw body, keyed by the secret. By default the
    /// signature is in the header `x-webhook-signature`, as `sha256=` and hexadecimal digits.
    ///
    /// Nothing says when such a delivery was sent: it can be recorded and sent again. Confirming it
    /// is safe all the same.
    pub fn hmac_sha256(secret: impl Into<WebhookSecret>) -> Self {
        Self::new(Scheme::HmacSha256(HmacSha256::new()), secret.into())
    }

    /// The delivery has the secret itself in a header, by default `x-webhook-signature`. Whoever
    /// reads one delivery can forge others, and the body is not protected: use it only if the
    /// service has nothing better.
    pub fn shared_secret(secret: impl Into<WebhookSecret>) -> Self {
        Self::new(Scheme::SharedSecret(SharedSecret::new()), secret.into())
    }

    /// The delivery is signed as [Standard Webhooks](https://www.standardwebhooks.com) describes:
    /// the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, with signatures of
    /// version `v1`.
    ///
    /// `whsec_` and base64 stand for the bytes of the key. Other text is the key as it is, or in
    /// base64.
    pub fn standard(secret: impl Into<WebhookSecret>) -> Self {
        Self::new(Scheme::Standard(Standard::new()), secret.into())
    }

    fn new(scheme: Scheme, secret: WebhookSecret) -> Self {
        let verifier = Self {
            scheme,
            secrets: 0,
            max_body: DEFAULT_MAX_BODY,
            task_id: None,
            clock: WallClock::default(),
            problem: None,
        };
        verifier.also_accept(secret)
    }

    /// Takes deliveries that are signed with this secret as well. While a secret is replaced, tasks
    /// submitted with the old one and with the new one are on their way at the same time.
    pub fn also_accept(mut self, secret: impl Into<WebhookSecret>) -> Self {
        let secret = secret.into();
        let text = secret.reveal();
        if text.is_empty() || text == SECRET_PREFIX {
            return self.unusable("a webhook secret is empty, and everybody knows that one");
        }
        match &mut self.scheme {
            Scheme::HmacSha256(scheme) => scheme.keys.extend(Key::new(text.as_bytes())),
            Scheme::SharedSecret(scheme) => scheme.add(text.as_bytes()),
            Scheme::Standard(scheme) => scheme.add(text),
        }
        self.secrets += 1;
        self
    }

    /// The header of the signature or of the secret; `x-webhook-signature` by default. Standard
    /// Webhooks has headers of its own.
    pub fn header(mut self, name: &str) -> Self {
        let Ok(name) = HeaderName::try_from(name) else {
            return self.unusable("the header of the signature is not the name of a header");
        };
        match &mut self.scheme {
            Scheme::HmacSha256(scheme) => scheme.header = name,
            Scheme::SharedSecret(scheme) => scheme.header = name,
            Scheme::Standard(_) => {
                return self.unusable("Standard Webhooks has headers of its own");
            }
        }
        self
    }

    /// What stands before the signature or the secret in its header. For HMAC-SHA256, `sha256=` by
    /// default; for a shared secret nothing.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        match &mut self.scheme {
            Scheme::HmacSha256(scheme) => scheme.prefix = prefix.into(),
            Scheme::SharedSecret(scheme) => scheme.prefix = prefix.into(),
            Scheme::Standard(_) => {
                return self.unusable("Standard Webhooks has a prefix of its own");
            }
        }
        self
    }

    /// How the signature of HMAC-SHA256 is written; [`Encoding::Hex`] by default.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        match &mut self.scheme {
            Scheme::HmacSha256(scheme) => scheme.encoding = encoding,
            _ => return self.unusable("only signatures of HMAC-SHA256 have a choice of encodings"),
        }
        self
    }

    /// How long ago a delivery of Standard Webhooks may have been sent, and how far ahead of this
    /// machine's clock; five minutes by default. The other schemes do not sign when it was sent.
    pub fn max_age(mut self, age: Duration) -> Self {
        match &mut self.scheme {
            Scheme::Standard(scheme) => scheme.max_age = age,
            _ => return self.unusable("only Standard Webhooks signs when a delivery was sent"),
        }
        self
    }

    /// The largest body that is taken, in bytes; 1 MiB by default.
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Where the body has the id of the task, as a JSON pointer (RFC 6901) such as
    /// `/data/object/id`. By default it is a member `task_id` or `id` of the body, or of its member
    /// `data`, `task`, `response` or `result`.
    pub fn task_id(mut self, pointer: impl Into<String>) -> Self {
        self.task_id = Some(pointer.into());
        self
    }

    /// Replaces the system's wall clock, so that a test decides what time of day it is.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = WallClock::new(now);
        self
    }

    /// Checks the settings, which [`verify`](Self::verify) does too.
    ///
    /// # Errors
    ///
    /// [`Refusal::Settings`]: a secret is empty, a header can't be one, or a setting has no meaning
    /// for the scheme.
    pub fn check(&self) -> Result<(), Refusal> {
        match &self.problem {
            Some(problem) => Err(Refusal::Settings { problem: problem.clone() }),
            None => Ok(()),
        }
    }

    /// Verifies a delivery from its headers and its raw body, byte for byte as they were received.
    ///
    /// # Errors
    ///
    /// The reason of the refusal. Answer with status code 401 and do nothing else; a service may
    /// send the delivery again.
    pub fn verify(&self, headers: &HeaderMap, body: impl AsRef<[u8]>) -> Result<Event, Refusal> {
        self.check()?;
        let body = body.as_ref();
        self.check_size(body)?;
        let verified = match &self.scheme {
            Scheme::HmacSha256(scheme) => scheme.verify(headers, body)?,
            Scheme::SharedSecret(scheme) => scheme.verify(headers, body)?,
            Scheme::Standard(scheme) => scheme.verify(headers, body, self.clock.now())?,
        };
        Event::read(verified, body, self.task_id.as_deref())
    }

    /// Reads a body as [`verify`](Self::verify) does, and verifies nothing: for tools that show
    /// what a service sends. Anybody may have sent it.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotJson`] and [`Refusal::TooLarge`].
    pub fn read_unverified(&self, body: impl AsRef<[u8]>) -> Result<Event, Refusal> {
        let body = body.as_ref();
        self.check_size(body)?;
        let nothing = Verified { message_id: None, fingerprint: Sha256::digest(body).into() };
        Event::read(nothing, body, self.task_id.as_deref())
    }

    fn check_size(&self, body: &[u8]) -> Result<(), Refusal> {
        match body.len() > self.max_body {
            true => Err(Refusal::TooLarge { limit: self.max_body }),
            false => Ok(()),
        }
    }

    #[cfg(feature = "axum")]
    pub(super) fn largest_body(&self) -> usize {
        self.max_body
    }

    /// The first problem counts: a later one may follow from it.
    fn unusable(mut self, problem: &str) -> Self {
        self.problem.get_or_insert_with(|| problem.to_owned());
        self
    }
}

/// The secrets are left out.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, header) = match &self.scheme {
            Scheme::HmacSha256(scheme) => ("hmac-sha256", Some(&scheme.header)),
            Scheme::SharedSecret(scheme) => ("shared-secret", Some(&scheme.header)),
            Scheme::Standard(_) => ("standard", None),
        };
        f.debug_struct("Verifier")
            .field("scheme", &scheme)
            .field("header", &header)
            .field("secrets", &self.secrets)
            .finish_non_exhaustive()
    }
}
