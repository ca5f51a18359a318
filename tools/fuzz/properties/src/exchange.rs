//! Inputs in the form of an HTTP response, and the client that reads them.

use std::{
    error::Error as _,
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use imagekiln::{Client, ClientBuilder, Error, Request, RetryPolicy};
use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value};

use crate::service::{self, Response, call};

pub const BASE: &str = "http://api.example.com";
const REGIONAL_BASE: &str = "http://api.eu.example.com";

/// Secrets of the client, which no input may bring into an error.
pub const KEY: &str = "kiln-key-7f3a19c2e8";
pub const SECRET: &str = "webhook-secret-51d0b7";
pub const SIGNATURE: &str = "polling-signature-a90c44";
pub const SECRETS: [&str; 3] = [KEY, SECRET, SIGNATURE];

/// More than any error takes: every part of an error is bounded.
const LONGEST_ERROR: usize = 64 * 1024;

pub static CLIENT: LazyLock<Client> = LazyLock::new(client);

pub fn client() -> Client {
    let builder = builder().base_url(BASE).regional_base_url(REGIONAL_BASE).allow_http(true);
    // Inputs that are not valid must arrive, too.
    builder.validation(false).build().expect("the settings are complete")
}

/// The settings of a client that reaches nothing but the service of this package, and tries once.
pub fn builder() -> ClientBuilder {
    let builder = Client::builder().api_key(KEY).proxy(service::url()).wall_clock(now);
    builder.retry(RetryPolicy::default().attempts(1)).random_seed(7)
}

pub fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// Reads a status code, headers, an empty line and a body. Anything else is the body of a response
/// with status code 200.
pub fn response(data: &[u8]) -> Response {
    head(data).unwrap_or_else(|| ok(data))
}

/// A response with status code 200.
pub fn ok(body: &[u8]) -> Response {
    let (status, headers) = (StatusCode::OK, HeaderMap::new());
    Response { status, headers, chunks: vec![Bytes::copy_from_slice(body)] }
}

fn head(data: &[u8]) -> Option<Response> {
    let (line, mut rest) = line(data)?;
    let status = StatusCode::from_bytes(line).ok()?;
    let mut headers = HeaderMap::new();
    loop {
        let (header, after) = self::line(rest)?;
        rest = after;
        if header.is_empty() {
            return Some(Response { status, headers, chunks: vec![Bytes::copy_from_slice(rest)] });
        }
        let colon = header.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&header[..colon]).ok()?;
        let value = HeaderValue::from_bytes(header[colon + 1..].trim_ascii()).ok()?;
        headers.append(name, value);
    }
}

fn line(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = data.iter().position(|byte| *byte == b'\n')?;
    Some((data[..end].trim_ascii_end(), &data[end + 1..]))
}

/// The same response in chunks of a few bytes.
pub fn in_pieces(response: &Response) -> Response {
    let pieces = |chunk: &Bytes| -> Vec<Bytes> {
        let size = chunk.len().div_ceil(64).max(7);
        chunk.chunks(size).map(Bytes::copy_from_slice).collect()
    };
    Response { chunks: response.chunks.iter().flat_map(pieces).collect(), ..response.clone() }
}

/// Submits a request, and returns its body as it arrives.
pub fn body_of(request: &Request) -> Map<String, Value> {
    // A client removes the secrets of its requests from responses.
    static SENDER: LazyLock<Client> = LazyLock::new(client);
    let accepted = ok(br#"{"id":"t1","polling_url":"/v1/get_result?id=t1"}"#);
    let (task, sent) = call(&accepted, SENDER.submit(request.clone()));
    drop(task.expect("the submission was accepted"));
    serde_json::from_slice(&sent.body).expect("the body is JSON")
}

/// An error is printed on one bounded line, and neither it nor its causes contain one of `secrets`.
pub fn assert_safe(error: &Error, secrets: &[&str]) {
    let line = error.to_string();
    assert!(line.len() < LONGEST_ERROR, "{} bytes", line.len());
    assert!(!line.contains(char::is_control), "{line:?}");
    let mut texts = vec![line, format!("{error:?}"), error.message()];
    let mut cause = error.source();
    while let Some(error) = cause {
        texts.extend([error.to_string(), format!("{error:?}")]);
        cause = error.source();
    }
    texts.iter().for_each(|text| assert_none_of(secrets, text));
}

pub fn assert_no_secret(text: &str) {
    assert_none_of(&SECRETS, text);
}

pub fn assert_none_of(secrets: &[&str], text: &str) {
    assert!(!secrets.iter().any(|secret| text.contains(secret)), "a secret occurs in {text}");
}

pub fn has_secret(text: &str) -> bool {
    SECRETS.iter().any(|secret| text.contains(secret))
}

/// The object of a body that was read as it is, without secrets to remove.
pub fn plain_object(response: &Response) -> Option<Value> {
    let body = response.chunks.concat();
    let text = str::from_utf8(&body).ok().filter(|_| response.headers.is_empty())?;
    let value: Value = serde_json::from_str(text).ok()?;
    (value.is_object() && !has_secret(&value.to_string())).then_some(value)
}

/// Every member of an object that is not null is in `kept`. Numbers are compared by value.
pub fn assert_kept(original: &Value, kept: &Value) {
    match (original, kept) {
        (Value::Object(original), Value::Object(kept)) => {
            for (name, value) in original.iter().filter(|(_, value)| !value.is_null()) {
                let found = kept.get(name);
                assert_kept(value, found.unwrap_or_else(|| panic!("`{name}` is missing")));
            }
        }
        (Value::Number(original), Value::Number(kept)) => {
            assert_eq!(original.as_f64(), kept.as_f64());
        }
        (original, kept) => assert_eq!(original, kept),
    }
}
