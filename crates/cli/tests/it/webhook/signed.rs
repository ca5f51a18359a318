//! Signatures, computed independently of the SDK.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub const SECRET: &str = "a secret of the tests";

pub const BODY: &str =
    r#"{"id":"a1","status":"Ready","result":{"sample":"https://example.com/?signature=HUSH"}}"#;

/// The HMAC-SHA256 of a text, keyed by [`SECRET`].
pub fn hmac(text: &str) -> Vec<u8> {
    let mut hmac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    hmac.update(text.as_bytes());
    hmac.finalize().into_bytes().to_vec()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The header of the hmac-sha256 scheme.
pub fn hmac_header(body: &str) -> String {
    format!("X-Webhook-Signature: sha256={}", hex(&hmac(body)))
}

/// The headers of Standard Webhooks, for a webhook sent at this time.
pub fn standard_headers(id: &str, timestamp: u64, body: &str) -> [String; 3] {
    let signature = base64(&hmac(&format!("{id}.{timestamp}.{body}")));
    [
        format!("webhook-id: {id}"),
        format!("webhook-timestamp: {timestamp}"),
        format!("webhook-signature: v1,{signature}"),
    ]
}

/// The current Unix time, in seconds.
#[expect(clippy::disallowed_methods, reason = "the program in its own process has no other clock")]
pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}
