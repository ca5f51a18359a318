//! Compares the verification of a delivery of 1 MiB with the bare HMAC-SHA256 of its body, as
//! ratios within one run.
//!
//! Rounds alternate, and the median is reported, because machines are noisy.

use std::{hint::black_box, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderValue};
use sha2::Sha256;
use tokio::time::Instant;

use imagekiln::webhook::Verifier;

const ROUNDS: usize = 51;
const SECRET: &str = "the secret of the webhooks";
const SENT_AT: u64 = 1_800_000_000;

fn main() {
    let body = body();
    let hmac = mac(&[&body]);
    let digits: String = hmac.iter().map(|byte| format!("{byte:02x}")).collect();
    let signed = mac(&[b"m1.", SENT_AT.to_string().as_bytes(), b".", &body]);
    let with = |pairs: &[(&'static str, String)]| -> HeaderMap {
        let value = |text: &String| HeaderValue::from_str(text).expect("visible ASCII");
        pairs
            .iter()
            .map(|(name, text)| (http::HeaderName::from_static(name), value(text)))
            .collect()
    };
    let hmac_headers = with(&[("x-webhook-signature", format!("sha256={digits}"))]);
    let standard_headers = with(&[
        ("webhook-id", "m1".to_owned()),
        ("webhook-timestamp", SENT_AT.to_string()),
        ("webhook-signature", format!("v1,{}", STANDARD.encode(signed))),
    ]);
    let plain = Verifier::hmac_sha256(SECRET);
    let rotating = Verifier::hmac_sha256("new").also_accept(SECRET);
    let standard = Verifier::standard(SECRET)
        .wall_clock(|| std::time::UNIX_EPOCH + Duration::from_secs(SENT_AT));
    let verify = |verifier: &Verifier, headers: &HeaderMap| {
        black_box(verifier.verify(black_box(headers), black_box(&body)).expect("it is signed"));
    };
    let candidates: [(&str, &dyn Fn()); 5] = [
        ("bare HMAC", &|| {
            black_box(mac(&[black_box(&body)]));
        }),
        ("bare HMAC and JSON parsing", &|| {
            black_box(mac(&[black_box(&body)]));
            black_box(serde_json::from_slice::<serde_json::Value>(black_box(&body)).expect("JSON"));
        }),
        ("hmac_sha256", &|| verify(&plain, &hmac_headers)),
        ("hmac_sha256, two secrets", &|| verify(&rotating, &hmac_headers)),
        ("standard", &|| verify(&standard, &standard_headers)),
    ];
    report(&candidates);
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

fn report(candidates: &[(&str, &dyn Fn())]) {
    let mut times = vec![Vec::new(); candidates.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in candidates.iter().zip(&mut times) {
            let started = Instant::now();
            run();
            times.push(started.elapsed());
        }
    }
    let medians: Vec<_> = times
        .iter_mut()
        .map(|times| {
            times.sort_unstable();
            times[ROUNDS / 2]
        })
        .collect();
    for ((name, _), median) in candidates.iter().zip(&medians) {
        let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
        println!("{name}: {:.2} ms, {ratio:.2} x", median.as_secs_f64() * 1000.0);
    }
}
