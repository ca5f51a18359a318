//! A table of wrong signatures, with the reason for each rejection.

use http::{HeaderMap, HeaderValue};

use super::signed::{
    BODY, SECRET, SENT_AT, SIGNATURE, base64, headers, hex, hmac, hmac_header, standard_at,
    standard_headers,
};
use imagekiln::webhook::{Encoding, Rejection, Verifier};

/// The body with one byte changed, and serialized by another program.
const CHANGED: &[u8] = br#"{"id": "t2", "status": "Ready"}"#;
const RESERIALIZED: &[u8] = br#"{"id":"t1","status":"Ready"}"#;

fn reason(result: Result<imagekiln::webhook::Event, Rejection>) -> &'static str {
    match result {
        Ok(_) => "verified",
        Err(Rejection::Missing { .. }) => "missing",
        Err(Rejection::Malformed { .. }) => "malformed",
        Err(Rejection::Wrong { .. }) => "wrong",
        Err(Rejection::TooOld { .. }) => "too old",
        Err(Rejection::FromFuture { .. }) => "from the future",
        Err(Rejection::TooLarge { .. }) => "too large",
        Err(Rejection::NotJson) => "not JSON",
        Err(Rejection::Settings { .. }) => "settings",
        Err(_) => "another reason",
    }
}

fn one(value: &str) -> HeaderMap {
    headers(&[(SIGNATURE, value)])
}

#[test]
fn wrong_hmac_sha256_signatures_are_refused() {
    let verifier = Verifier::hmac_sha256(SECRET).header(SIGNATURE);
    let mac = hmac(SECRET.as_bytes(), BODY);
    let correct = hmac_header(SECRET, BODY);
    let digits = hex(&mac);
    let prefixed = |digits: &str| one(&format!("sha256={digits}"));
    let wrong_digit = correct.replace(&correct[correct.len() - 1..], "g");
    let of_another_scheme = standard_headers(SECRET, "m1", SENT_AT as i64, BODY);
    let twice = headers(&[(SIGNATURE, &correct), (SIGNATURE, &correct)]);
    let table = [
        ("correct", one(&correct), "verified"),
        ("truncated", one(&correct[..correct.len() - 2]), "malformed"),
        ("truncated by half a byte", one(&correct[..correct.len() - 1]), "malformed"),
        ("prefix only", prefixed(""), "malformed"),
        ("empty", one(""), "malformed"),
        ("longer", one(&format!("{correct}00")), "malformed"),
        ("digits in upper case", prefixed(&digits.to_uppercase()), "malformed"),
        ("prefix in upper case", one(&format!("SHA256={digits}")), "malformed"),
        ("without its prefix", one(&digits), "malformed"),
        ("prefix of another algorithm", one(&format!("sha512={digits}")), "malformed"),
        ("in base64", prefixed(&base64(&mac)), "malformed"),
        ("blanks around it", prefixed(&format!(" {digits}")), "malformed"),
        ("an invalid digit", one(&wrong_digit), "malformed"),
        ("the secret itself", one(SECRET), "malformed"),
        ("unsigned", HeaderMap::new(), "missing"),
        ("in another header", headers(&[("x-signature", &correct)]), "missing"),
        ("of another scheme", of_another_scheme, "missing"),
        ("twice", twice, "malformed"),
        ("joined", one(&format!("{correct}, {correct}")), "malformed"),
        ("of another secret", one(&hmac_header("another", BODY)), "wrong"),
        ("of an empty secret", one(&hmac_header("", BODY)), "wrong"),
    ];
    assert_reasons(&verifier, &table);
    for body in [CHANGED, RESERIALIZED, &BODY[..BODY.len() - 1]] {
        assert_reason(&verifier, "of another body", &one(&correct), body, "wrong");
    }
}

#[test]
fn wrong_shared_secrets_are_refused() {
    let verifier = Verifier::shared_secret(SECRET).header("authorization").prefix("Bearer ");
    let one = |value: &str| headers(&[("authorization", value)]);
    let correct = format!("Bearer {SECRET}");
    let twice = headers(&[("authorization", &correct), ("authorization", &correct)]);
    let of_another_scheme = headers(&[(SIGNATURE, &hmac_header(SECRET, BODY))]);
    let table = [
        ("correct", one(&correct), "verified"),
        ("truncated", one(&correct[..correct.len() - 1]), "wrong"),
        ("longer", one(&format!("{correct}s")), "wrong"),
        ("in upper case", one(&format!("Bearer {}", SECRET.to_uppercase())), "wrong"),
        ("in base64", one(&format!("Bearer {}", base64(SECRET.as_bytes()))), "wrong"),
        ("nothing after the prefix", one("Bearer "), "wrong"),
        ("empty", one(""), "malformed"),
        ("without its prefix", one(SECRET), "malformed"),
        ("missing", HeaderMap::new(), "missing"),
        ("of another scheme", of_another_scheme, "missing"),
        ("twice", twice, "malformed"),
    ];
    assert_reasons(&verifier, &table);
    assert_reason(&verifier, "the body is not protected", &one(&correct), CHANGED, "verified");
}

#[test]
fn wrong_standard_webhooks_signatures_are_refused() {
    let verifier = standard_at(SECRET, SENT_AT);
    let sent_at = SENT_AT as i64;
    let correct = standard_headers(SECRET, "m1", sent_at, BODY);
    let with = |name: &'static str, value: &str| {
        let mut headers = correct.clone();
        headers.insert(name, value.parse().unwrap());
        headers
    };
    let signed = |value: &str| with("webhook-signature", value);
    let without = |name: &str| {
        let mut headers = correct.clone();
        headers.remove(name);
        headers
    };
    let twice = |name: &'static str| {
        let mut headers = correct.clone();
        headers.append(name, headers[name].clone());
        headers
    };
    let of = |secret: &str, at: i64| standard_headers(secret, "m1", at, BODY);
    let signature = correct["webhook-signature"].to_str().unwrap();
    let mac = signature.trim_start_matches("v1,");
    let of_body_only = format!("v1,{}", base64(&hmac(SECRET.as_bytes(), BODY)));
    let in_hex = format!("v1,{}", hex(&hmac(SECRET.as_bytes(), BODY)));
    let of_another_scheme = headers(&[(SIGNATURE, &hmac_header(SECRET, BODY))]);
    let table = [
        ("correct", correct.clone(), "verified"),
        ("no id", without("webhook-id"), "missing"),
        ("no timestamp", without("webhook-timestamp"), "missing"),
        ("no signature", without("webhook-signature"), "missing"),
        ("two ids", twice("webhook-id"), "malformed"),
        ("two timestamps", twice("webhook-timestamp"), "malformed"),
        ("two signature headers", twice("webhook-signature"), "malformed"),
        ("another id", with("webhook-id", "m2"), "wrong"),
        ("empty id", with("webhook-id", ""), "malformed"),
        ("another timestamp", with("webhook-timestamp", "1800000001"), "wrong"),
        ("empty signature", signed(""), "malformed"),
        ("truncated", signed(&signature[..signature.len() - 4]), "malformed"),
        ("without padding", signed(signature.trim_end_matches('=')), "malformed"),
        ("in lower case", signed(&signature.to_lowercase()), "wrong"),
        ("in hexadecimal", signed(&in_hex), "malformed"),
        ("of a later version", signed(&format!("v2,{mac}")), "malformed"),
        ("of an asymmetric version", signed(&format!("v1a,{mac}")), "malformed"),
        ("without a version", signed(mac), "malformed"),
        ("of the body only", signed(&of_body_only), "wrong"),
        ("of another scheme", of_another_scheme, "missing"),
        ("of another secret", of("another", sent_at), "wrong"),
        ("correct but old", of(SECRET, sent_at - 301), "too old"),
        ("correct but from the future", of(SECRET, sent_at + 301), "from the future"),
        ("wrong and old", of("another", sent_at - 301), "wrong"),
    ];
    assert_reasons(&verifier, &table);
    for body in [CHANGED, RESERIALIZED] {
        assert_reason(&verifier, "of another body", &correct, body, "wrong");
    }
}

#[track_caller]
fn assert_reasons(verifier: &Verifier, table: &[(&str, HeaderMap, &str)]) {
    for (name, headers, expected) in table {
        assert_reason(verifier, name, headers, BODY, expected);
    }
}

#[track_caller]
fn assert_reason(
    verifier: &Verifier,
    name: &str,
    headers: &HeaderMap,
    body: &[u8],
    expected: &str,
) {
    let result = verifier.verify(headers, body);
    if let Err(rejection) = &result {
        let shown = format!("{rejection} {rejection:?} {verifier:?}");
        assert!(!shown.contains(SECRET), "{name}: {shown}");
    }
    assert_eq!(reason(result), expected, "{name}: {body:?}");
}

#[test]
fn signatures_that_are_not_text_are_refused() {
    let verifiers = [
        (Verifier::hmac_sha256(SECRET), "x-webhook-signature"),
        (Verifier::shared_secret(SECRET), "x-webhook-signature"),
        (standard_at(SECRET, SENT_AT), "webhook-id"),
        (standard_at(SECRET, SENT_AT), "webhook-timestamp"),
        (standard_at(SECRET, SENT_AT), "webhook-signature"),
    ];
    for (verifier, header) in verifiers {
        let mut headers = standard_headers(SECRET, "m1", SENT_AT as i64, BODY);
        headers.insert(header, HeaderValue::from_bytes(b"sha256=\xff\xfe").unwrap());
        assert_eq!(reason(verifier.verify(&headers, BODY)), "malformed", "{header}");
    }
}

#[test]
fn encodings_are_not_guessed() {
    let mac = hmac(SECRET.as_bytes(), BODY);
    let verifier = Verifier::hmac_sha256(SECRET).prefix("").encoding(Encoding::Base64);
    assert_eq!(reason(verifier.verify(&one(&base64(&mac)), BODY)), "verified");
    assert_eq!(reason(verifier.verify(&one(&hex(&mac)), BODY)), "malformed");
    assert_eq!(
        reason(verifier.verify(&one(base64(&mac).trim_end_matches('=')), BODY)),
        "malformed"
    );
    let url_safe = base64(&mac).replace('+', "-").replace('/', "_");
    assert_ne!(url_safe, base64(&mac), "choose another body: this signature has neither + nor /");
    assert_eq!(reason(verifier.verify(&one(&url_safe), BODY)), "malformed");
}

#[test]
fn secrets_can_be_rotated() {
    for verifier in [
        Verifier::hmac_sha256("new").also_accept(SECRET).also_accept("old"),
        Verifier::hmac_sha256(SECRET).also_accept("new"),
    ] {
        assert_eq!(reason(verifier.verify(&one(&hmac_header(SECRET, BODY)), BODY)), "verified");
        assert_eq!(reason(verifier.verify(&one(&hmac_header("new", BODY)), BODY)), "verified");
        assert_eq!(reason(verifier.verify(&one(&hmac_header("older", BODY)), BODY)), "wrong");
    }
    let verifier = Verifier::shared_secret("new").also_accept("old");
    assert_eq!(reason(verifier.verify(&one("old"), BODY)), "verified");
    assert_eq!(reason(verifier.verify(&one("new"), BODY)), "verified");
    assert_eq!(reason(verifier.verify(&one("newold"), BODY)), "wrong");
    let verifier = standard_at("new", SENT_AT).also_accept(SECRET);
    let headers = standard_headers(SECRET, "m1", SENT_AT as i64, BODY);
    assert_eq!(reason(verifier.verify(&headers, BODY)), "verified");
}

#[test]
fn bodies_are_limited_and_must_be_json() {
    let verifier = Verifier::hmac_sha256(SECRET).max_body_bytes(BODY.len());
    let verify = |body: &[u8]| reason(verifier.verify(&one(&hmac_header(SECRET, body)), body));
    assert_eq!(verify(BODY), "verified");
    assert_eq!(verify(&[BODY, b" "].concat()), "too large");
    for body in [&b""[..], b"not JSON", b"{\"id\": NaN}", b"\xff", b"{} {}", &[b'['; 20]] {
        assert_eq!(verify(body), "not JSON", "{body:?}");
    }
    let default = Verifier::hmac_sha256(SECRET);
    let body = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(reason(default.verify(&one(&hmac_header(SECRET, &body)), &body)), "too large");
}

#[test]
fn settings_that_do_not_apply_are_errors() {
    let invalid = [
        Verifier::hmac_sha256(""),
        Verifier::hmac_sha256(SECRET).also_accept(""),
        Verifier::hmac_sha256(SECRET).header("not a header"),
        Verifier::hmac_sha256(SECRET).header(""),
        Verifier::hmac_sha256(SECRET).max_age(std::time::Duration::from_secs(1)),
        Verifier::shared_secret(SECRET).encoding(Encoding::Hex),
        Verifier::standard(SECRET).also_accept(""),
        Verifier::standard("whsec_"),
        Verifier::standard(SECRET).id_header("not a header"),
        Verifier::standard(SECRET).timestamp_header(""),
        Verifier::hmac_sha256(SECRET).id_header("x"),
        Verifier::shared_secret(SECRET).timestamp_header("x"),
        Verifier::standard(SECRET).prefix("x"),
    ];
    for verifier in invalid {
        assert_eq!(
            reason(verifier.verify(&one(&hmac_header("", BODY)), BODY)),
            "settings",
            "{verifier:?}"
        );
        let error = imagekiln::Error::from(verifier.check().unwrap_err());
        assert_eq!(error.kind(), imagekiln::ErrorKind::Settings);
    }
}

#[test]
fn a_secret_that_does_not_have_the_form_of_the_scheme_is_an_error() {
    let key = |length| base64(&vec![0xfb; length]);
    let wrong = [
        (key(32).replace('+', "-").replace('/', "_"), "base64"),
        (key(32).trim_end_matches('=').to_owned(), "base64"),
        (format!("{} ", key(32)), "base64"),
        (key(23), "24 to 64 bytes"),
        (key(65), "24 to 64 bytes"),
    ];
    let problem = |verifier: Verifier| verifier.check().err().map(|problem| problem.to_string());
    for (text, expected) in wrong {
        let secret = format!("whsec_{text}");
        let found = problem(Verifier::standard(SECRET).also_accept(secret.as_str())).unwrap();
        assert!(found.contains(expected) && !found.contains(&text), "{found}");
        // Other schemes use the text itself.
        assert_eq!(problem(Verifier::hmac_sha256(secret.as_str())), None);
    }
    let right = format!("whsec_{}", key(64));
    assert_eq!(problem(Verifier::standard(right.as_str())), None);
    for before in ["v1,", "\"", " ", "WHSEC_"] {
        let found = problem(Verifier::standard(format!("{before}{right}"))).unwrap();
        assert!(found.contains("does not begin with it"), "{found}");
    }
    let found = problem(Verifier::standard(format!("whpk_{}", key(32)))).unwrap();
    assert!(found.contains("asymmetric"), "{found}");
    let marked = format!("\u{feff}{SECRET}");
    let found = problem(Verifier::shared_secret(marked.as_str())).unwrap();
    assert!(found.contains("byte order mark"), "{found}");
    for text in [marked.as_str(), " \n"] {
        let client = imagekiln::Client::builder().api_key("key").base_url("http://127.0.0.1:9");
        let error = client.webhook_secret(text).build().unwrap_err();
        assert_eq!(error.setting(), Some("IMAGEKILN_WEBHOOK_SECRET"), "{error}");
    }
}

/// Otherwise a forger needs to guess only one byte.
#[test]
fn text_without_a_prefix_is_decoded_only_to_a_key_of_full_length() {
    for (length, is_verified) in [(1, false), (23, false), (24, true), (64, true)] {
        let key = "k".repeat(length);
        let headers = standard_headers(&key, "m1", SENT_AT as i64, BODY);
        let verifier = standard_at(&base64(key.as_bytes()), SENT_AT);
        assert_eq!(verifier.verify(&headers, BODY).is_ok(), is_verified, "{length}");
    }
}

#[test]
fn the_headers_of_standard_webhooks_have_names_to_set() {
    let names = ["id", "timestamp", "signature"];
    let standard = standard_headers(SECRET, "m1", SENT_AT as i64, BODY);
    let value = |name| standard[format!("webhook-{name}")].to_str().unwrap();
    let own = names.map(|name| (format!("svix-{name}"), value(name)));
    let own = headers(&own.each_ref().map(|(name, value)| (name.as_str(), *value)));
    let verifier = standard_at(SECRET, SENT_AT)
        .id_header("svix-id")
        .timestamp_header("svix-timestamp")
        .header("svix-signature");
    assert_eq!(verifier.verify(&own, BODY).unwrap().message_id(), Some("m1"));
    for name in names {
        let mut lacking = own.clone();
        lacking.remove(format!("svix-{name}"));
        let rejection = verifier.verify(&lacking, BODY).unwrap_err();
        assert_eq!(rejection.to_string(), format!("the header svix-{name} is missing"));
    }
    assert_eq!(reason(verifier.verify(&standard, BODY)), "missing");
}
