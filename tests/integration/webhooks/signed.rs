//! Signs deliveries as a service does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;

use imagekiln::webhook::{Event, Verifier};

pub const SECRET: &str = "the secret of the webhooks";
pub const BODY: &[u8] = br#"{"id": "t1", "status": "Ready"}"#;
pub const SIGNATURE: &str = "x-webhook-signature";

/// Events of the task `t1`.
pub const READY: &str = r#"{"id": "t1", "status": "Ready"}"#;
pub const PENDING: &str = r#"{"id": "t1", "status": "Pending"}"#;

/// The timestamp of deliveries of Standard Webhooks, in seconds.
pub const SENT_AT: u64 = 1_800_000_000;

pub fn hmac(key: &[u8], body: &[u8]) -> [u8; 32] {
    Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(body).finalize().into_bytes().into()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The signature header of a delivery with HMAC-SHA256.
pub fn hmac_header(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex(&hmac(secret.as_bytes(), body)))
}

/// An event with this body, signed with HMAC-SHA256.
pub fn event(body: &str) -> Event {
    let headers = headers(&[(SIGNATURE, &hmac_header(SECRET, body.as_bytes()))]);
    Verifier::hmac_sha256(SECRET).verify(&headers, body).unwrap()
}

/// The headers of a delivery of Standard Webhooks, created with the reference library.
pub fn standard_headers(secret: &str, id: &str, sent_at: i64, body: &[u8]) -> HeaderMap {
    let signer = standardwebhooks::Webhook::from_bytes(secret.as_bytes().to_vec()).unwrap();
    let signature = signer.sign(id, sent_at, body).unwrap();
    headers(&[
        ("webhook-id", id),
        ("webhook-timestamp", &sent_at.to_string()),
        ("webhook-signature", &signature),
    ])
}

pub fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                name.parse::<HeaderName>().unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        })
        .collect()
}

/// A verifier for Standard Webhooks with a fixed clock.
pub fn standard_at(secret: &str, second: u64) -> Verifier {
    Verifier::standard(secret).wall_clock(move || at(second))
}

pub fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second)
}
