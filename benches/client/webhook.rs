//! The verification of a webhook of 1 MiB, against the bare HMAC-SHA256 of its body, alone and with
//! parsing its JSON.

use std::{hint::black_box, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;
use tokio::runtime::Runtime;

use imagekiln::webhook::Verifier;

use super::{
    measure::{Plan, compare},
    request::repeated,
    server::Server,
};

const SECRET: &str = "the secret of the webhooks";
const SENT_AT: u64 = 1_800_000_000;

pub fn run(runtime: &Runtime, _: &Server) {
    let body = &body();
    let digits: String = mac(&[body]).iter().map(|byte| format!("{byte:02x}")).collect();
    let signed = mac(&[b"m1.", SENT_AT.to_string().as_bytes(), b".", body]);
    let hmac_headers = headers([("x-webhook-signature", format!("sha256={digits}"))]);
    let standard_headers = headers([
        ("webhook-id", "m1".to_owned()),
        ("webhook-timestamp", SENT_AT.to_string()),
        ("webhook-signature", format!("v1,{}", STANDARD.encode(signed))),
    ]);
    let verifiers = [
        ("webhook.hmac_sha256", Verifier::hmac_sha256(SECRET), &hmac_headers),
        ("webhook.two_secrets", Verifier::hmac_sha256("new").also_accept(SECRET), &hmac_headers),
        (
            "webhook.standard",
            Verifier::standard(SECRET)
                .wall_clock(|| std::time::UNIX_EPOCH + Duration::from_secs(SENT_AT)),
            &standard_headers,
        ),
    ];
    for (subject, verifier, headers) in verifiers {
        let verifier = &verifier;
        let candidates = [
            repeated("imagekiln", || {
                black_box(verifier.verify(black_box(headers), black_box(body)).unwrap());
            }),
            repeated("hmac", || {
                black_box(mac(&[black_box(body)]));
            }),
            repeated("hmac_and_json", || {
                black_box(mac(&[black_box(body)]));
                black_box(serde_json::from_slice::<serde_json::Value>(black_box(body)).unwrap());
            }),
        ];
        compare(runtime, subject, Plan::new(15, 4), &candidates);
    }
}

fn headers<const N: usize>(pairs: [(&'static str, String); N]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    });
    pairs.collect()
}

/// An event of 1 MiB with many small fields.
fn body() -> Vec<u8> {
    let mut body = br#"{"id":"f7a1c9","status":"Ready","details":["#.to_vec();
    while body.len() < (1 << 20) - 200 {
        body.extend_from_slice(
            br#"{"name":"a red fox in the snow","seed":7,"width":1024,"height":768},"#,
        );
    }
    body.extend_from_slice(br#"null]}"#);
    body
}

fn mac(parts: &[&[u8]]) -> [u8; 32] {
    let key = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key of any length");
    parts.iter().fold(key, |key, part| key.chain_update(part)).finalize().into_bytes().into()
}
