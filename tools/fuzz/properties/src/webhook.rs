//! Webhooks: signatures and events.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use imagekiln::webhook::{Encoding, Event, Rejection, Verifier};
use reqwest::header::{HeaderMap, HeaderValue};
use sha2::Sha256;

use crate::exchange::{SECRET, assert_no_secret, now, response};

const HEADER: &str = "x-webhook-signature";

static VERIFIERS: LazyLock<[Verifier; 4]> = LazyLock::new(|| {
    [
        Verifier::hmac_sha256(SECRET),
        Verifier::hmac_sha256(SECRET).prefix("").encoding(Encoding::Base64),
        Verifier::shared_secret(SECRET).prefix("Bearer "),
        Verifier::standard(SECRET).wall_clock(now),
    ]
});

/// A delivery is accepted exactly if its signature is right and its body is JSON. A rejection does
/// not contain the secret.
pub fn webhook(data: &[u8]) {
    let response = response(data);
    let body = response.chunks.concat();
    let headers = &response.headers;
    let genuine = genuine(&body);
    for (verifier, signed) in VERIFIERS.iter().zip(&genuine) {
        let read = verifier.read_unverified(&body);
        assert_eq!(read.is_ok(), is_json(&body), "{read:?}");
        let verified = verifier.verify(signed, &body);
        assert_eq!(verified.is_ok(), read.is_ok(), "a genuine delivery: {verified:?}");
        if let (Ok(verified), Ok(read)) = (&verified, &read) {
            assert_eq!(shown(verified), shown(read));
            // JSON allows half of a surrogate pair, which is not text.
            let value = verified.json::<serde_json::Value>().map(|value| value.to_string());
            let has_id = |id| value.as_ref().is_ok_and(|value| value.contains(&json(id)));
            assert!(value.is_err() || verified.task_id().is_none_or(has_id), "{value:?}");
        }
        let changed = [&body[..], b" "].concat();
        match verifier.verify(signed, &changed) {
            // The secret itself does not protect the body.
            Ok(_) => assert!(signed[HEADER].as_bytes().starts_with(b"Bearer ")),
            Err(rejection) => assert_no_secret(&format!("{rejection} {rejection:?}")),
        }
        unsigned(verifier, headers, &body, signed);
    }
}

/// The headers of the input pass only if they have the right signature.
fn unsigned(verifier: &Verifier, headers: &HeaderMap, body: &[u8], signed: &HeaderMap) {
    match verifier.verify(headers, body) {
        Ok(_) => {
            let signature = headers.get(HEADER);
            let is_standard = headers.contains_key("webhook-signature");
            assert!(is_standard || signature == signed.get(HEADER), "{headers:?}");
        }
        Err(Rejection::NotJson) => assert!(!is_json(body)),
        Err(rejection) => assert_no_secret(&format!("{rejection} {rejection:?}")),
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() && str::from_utf8(body).is_ok()
}

fn json(id: &str) -> String {
    // An id may be a number.
    match id.parse::<serde_json::Number>() {
        Ok(_) => id.to_owned(),
        Err(_) => serde_json::Value::from(id).to_string(),
    }
}

fn shown(event: &Event) -> (Option<&str>, Option<&str>) {
    (event.task_id(), event.claimed_status().map(|status| status.as_str()))
}

fn mac(parts: &[&[u8]]) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length is a key");
    let mac = parts.iter().fold(mac, Mac::chain_update);
    mac.finalize().into_bytes().to_vec()
}

/// The headers of a genuine delivery for each verifier.
fn genuine(body: &[u8]) -> [HeaderMap; 4] {
    let signature = mac(&[body]);
    let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    let one = |text: String| HeaderMap::from_iter([(HEADER.parse().expect("a name"), value(text))]);
    let standard = STANDARD.encode(mac(&[b"m1.1800000000.", body]));
    let named = [
        ("webhook-id", "m1".to_owned()),
        ("webhook-timestamp", "1800000000".to_owned()),
        ("webhook-signature", format!("v1,{standard}")),
    ];
    let standard = named.map(|(name, text)| (name.parse().expect("a name"), value(text)));
    [
        one(format!("sha256={hex}")),
        one(STANDARD.encode(&signature)),
        one(format!("Bearer {SECRET}")),
        HeaderMap::from_iter(standard),
    ]
}

fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("visible ASCII")
}
