//! Nothing panics on any input, and only correct signatures pass.

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::{collection::vec, prelude::*};
use serde_json::Value;

use super::signed::{
    BODY, SECRET, SENT_AT, SIGNATURE, base64, headers, hex, hmac, hmac_header, standard_at,
    standard_headers,
};
use imagekiln::webhook::{Encoding, Rejection, Verifier};

fn verifiers() -> Vec<Verifier> {
    vec![
        Verifier::hmac_sha256(SECRET),
        Verifier::hmac_sha256(SECRET).prefix("").encoding(Encoding::Base64),
        Verifier::shared_secret(SECRET),
        Verifier::shared_secret(SECRET).prefix("Bearer "),
        standard_at(SECRET, SENT_AT),
    ]
}

/// Headers of the schemes, with plausible values and with random bytes.
fn any_headers() -> impl Strategy<Value = HeaderMap> {
    let name = prop_oneof![
        Just("x-webhook-signature"),
        Just("webhook-id"),
        Just("webhook-timestamp"),
        Just("webhook-signature"),
    ];
    let value = prop_oneof![
        vec(any::<u8>(), 0..100),
        "sha256=[0-9a-f]{0,70}".prop_map(String::into_bytes),
        "(v1a?,[A-Za-z0-9+/]{0,44}={0,2} ?){0,3}".prop_map(String::into_bytes),
        "[-+]?[0-9]{0,25}".prop_map(String::into_bytes),
        "Bearer .{0,40}".prop_map(String::into_bytes),
    ];
    vec((name, value), 0..6).prop_map(|pairs| {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(HeaderName::from_static(name), value);
            }
        }
        headers
    })
}

/// JSON with the member names that an event uses.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let name =
            prop_oneof!["id", "task_id", "status", "data", "task", "response", "result", "[a-z]"];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn random_input_neither_panics_nor_passes(
        headers in any_headers(),
        body in vec(any::<u8>(), 0..200),
    ) {
        for verifier in verifiers() {
            prop_assert!(verifier.verify(&headers, &body).is_err());
        }
    }

    #[test]
    fn a_genuine_body_of_any_shape_is_read(
        body in prop_oneof![
            vec(any::<u8>(), 0..60),
            "[\\[{]{0,300}".prop_map(String::into_bytes),
            any_json().prop_map(|json| json.to_string().into_bytes()),
        ],
        pointer in prop_oneof![Just(None), "(/[a-z0-9]{0,4}(~[01])?){1,3}".prop_map(Some)],
    ) {
        let headers = headers(&[(SIGNATURE, &hmac_header(SECRET, &body))]);
        let verifier = Verifier::hmac_sha256(SECRET);
        let verifier = match pointer {
            Some(pointer) => verifier.task_id(pointer),
            None => verifier,
        };
        match verifier.verify(&headers, &body) {
            Ok(event) => prop_assert_eq!(event.body(), &body),
            Err(rejection) => {
                prop_assert_eq!(rejection, Rejection::NotJson);
                prop_assert!(serde_json::from_slice::<Value>(&body).is_err());
            }
        }
    }

    #[test]
    fn only_the_correct_hmac_sha256_signature_passes(
        body in "\\PC{0,60}",
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let body = format!("{{\"id\":{}}}", serde_json::to_string(&body).unwrap());
        let mac = hmac(SECRET.as_bytes(), body.as_bytes());
        for (verifier, correct) in [
            (Verifier::hmac_sha256(SECRET), format!("sha256={}", hex(&mac))),
            (
                Verifier::hmac_sha256(SECRET).prefix("").encoding(Encoding::Base64),
                base64(&mac),
            ),
        ] {
            prop_assert!(verifier.verify(&headers(&[(SIGNATURE, &correct)]), &body).is_ok());
            let mut other = correct.clone().into_bytes();
            other[place.index(correct.len())] = byte;
            if let Ok(value) = HeaderValue::from_bytes(&other) {
                let changed = HeaderMap::from_iter([(HeaderName::from_static(SIGNATURE), value)]);
                let passes = verifier.verify(&changed, &body).is_ok();
                prop_assert_eq!(passes, other == correct.as_bytes());
            }
        }
    }

    #[test]
    fn only_the_correct_standard_webhooks_headers_pass(
        header in prop_oneof![
            Just("webhook-id"),
            Just("webhook-timestamp"),
            Just("webhook-signature"),
        ],
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let verifier = standard_at(SECRET, SENT_AT);
        let correct = standard_headers(SECRET, "m1", SENT_AT as i64, BODY);
        prop_assert!(verifier.verify(&correct, BODY).is_ok());
        let mut value = correct[header].as_bytes().to_vec();
        let index = place.index(value.len());
        value[index] = byte;
        if let Ok(changed) = HeaderValue::from_bytes(&value) {
            let mut headers = correct.clone();
            headers.insert(header, changed);
            prop_assert_eq!(verifier.verify(&headers, BODY).is_ok(), headers == correct);
        }
    }

    #[test]
    fn a_body_with_a_changed_byte_does_not_pass(
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut body = BODY.to_vec();
        let index = place.index(body.len());
        body[index] = byte;
        let unchanged = body == BODY;
        let hmac_headers = headers(&[(SIGNATURE, &hmac_header(SECRET, BODY))]);
        let is_verified = Verifier::hmac_sha256(SECRET).verify(&hmac_headers, &body).is_ok();
        prop_assert_eq!(is_verified, unchanged);
        let standard = standard_headers(SECRET, "m1", SENT_AT as i64, BODY);
        prop_assert_eq!(standard_at(SECRET, SENT_AT).verify(&standard, &body).is_ok(), unchanged);
    }
}
