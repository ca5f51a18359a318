//! Published test vectors of Standard Webhooks.

use std::time::Duration;

use super::signed::{BODY, SECRET, SENT_AT, headers, standard_at, standard_headers};
use imagekiln::webhook::{Rejection, Verifier};

struct Vector {
    secret: &'static str,
    id: &'static str,
    timestamp: u64,
    body: &'static str,
    signature: &'static str,
}

/// From the specification and most libraries, and from the Rust library.
const VECTORS: [Vector; 2] = [
    Vector {
        secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: 1_614_265_330,
        body: r#"{"test": 2432232314}"#,
        signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    Vector {
        secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        id: "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
        timestamp: 1_649_367_553,
        body: r#"{"email":"test@example.com","username":"test_user"}"#,
        signature: "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
    },
];

impl Vector {
    fn verify(&self, verifier: &Verifier, signature: &str) -> Result<(), Rejection> {
        let headers = headers(&[
            ("webhook-id", self.id),
            ("webhook-timestamp", &self.timestamp.to_string()),
            ("webhook-signature", signature),
        ]);
        let event = verifier.verify(&headers, self.body)?;
        assert_eq!(event.message_id(), Some(self.id));
        Ok(())
    }
}

#[test]
fn test_vectors_are_verified() {
    for vector in &VECTORS {
        let verifier = standard_at(vector.secret, vector.timestamp);
        vector.verify(&verifier, vector.signature).unwrap();
        // The reference libraries also accept a secret without its prefix.
        let bare = vector.secret.trim_start_matches("whsec_");
        vector.verify(&standard_at(bare, vector.timestamp), vector.signature).unwrap();
    }
}

#[test]
fn test_vectors_are_verified_among_other_signatures() {
    let [first, second] = &VECTORS;
    let verifier = standard_at(first.secret, first.timestamp);
    let among = |signature: &str| format!("v1a,aGVsbG8= {} v2,x {signature} v1,", second.signature);
    first.verify(&verifier, &among(first.signature)).unwrap();
    let rejection = first.verify(&verifier, &among(second.signature)).unwrap_err();
    assert!(matches!(rejection, Rejection::Wrong { .. }), "{rejection:?}");
}

#[test]
fn incomplete_test_vectors_are_refused() {
    for vector in &VECTORS {
        let verifier = standard_at(vector.secret, vector.timestamp);
        for length in 0..vector.signature.len() {
            vector.verify(&verifier, &vector.signature[..length]).unwrap_err();
        }
    }
}

#[test]
fn timestamps_may_differ_by_at_most_five_minutes() {
    let vector = &VECTORS[0];
    let verify = |now: u64| vector.verify(&standard_at(vector.secret, now), vector.signature);
    verify(vector.timestamp + 300).unwrap();
    verify(vector.timestamp - 300).unwrap();
    match verify(vector.timestamp + 301).unwrap_err() {
        Rejection::TooOld { age, limit, .. } => {
            assert_eq!((age.as_secs(), limit.as_secs()), (301, 300));
        }
        other => panic!("{other:?}"),
    }
    match verify(vector.timestamp - 301).unwrap_err() {
        Rejection::FromFuture { ahead, limit, .. } => {
            assert_eq!((ahead.as_secs(), limit.as_secs()), (301, 300));
        }
        other => panic!("{other:?}"),
    }
    let patient = standard_at(vector.secret, vector.timestamp + 90_000).max_age(Duration::MAX);
    vector.verify(&patient, vector.signature).unwrap();
}

#[test]
fn extreme_timestamps_are_refused() {
    let verifier = standard_at(SECRET, SENT_AT);
    for timestamp in [i64::MIN, -1, 0, i64::MAX] {
        verifier.verify(&standard_headers(SECRET, "m1", timestamp, BODY), BODY).unwrap_err();
    }
    for timestamp in
        ["", " ", "1e9", "+1800000000", "1800000000.0", "18446744073709551616", "0x6b49d200"]
    {
        let mut headers = standard_headers(SECRET, "m1", SENT_AT as i64, BODY);
        headers.insert("webhook-timestamp", timestamp.parse().unwrap());
        let rejection = verifier.verify(&headers, BODY).unwrap_err();
        assert!(matches!(rejection, Rejection::Malformed { .. }), "{timestamp:?}: {rejection:?}");
    }
    let mut clock_before_1970 = Verifier::standard(SECRET);
    clock_before_1970 =
        clock_before_1970.wall_clock(|| super::signed::at(0) - Duration::from_secs(1));
    let rejection =
        clock_before_1970.verify(&standard_headers(SECRET, "m1", SENT_AT as i64, BODY), BODY);
    assert!(matches!(rejection, Err(Rejection::FromFuture { .. })));
}

/// `id.timestamp.body` is ambiguous if the id contains a dot.
#[test]
fn an_id_with_a_dot_is_refused() {
    let body = br#"1800000000.{"id": "t1"}"#;
    let signed = standard_headers(SECRET, "m1", SENT_AT as i64, body);
    let mut moved = signed.clone();
    moved.insert("webhook-id", format!("m1.{SENT_AT}").parse().unwrap());
    let verifier = standard_at(SECRET, SENT_AT);
    let rejection = verifier.verify(&moved, br#"{"id": "t1"}"#).unwrap_err();
    assert!(matches!(rejection, Rejection::Malformed { .. }), "{rejection:?}");
}
