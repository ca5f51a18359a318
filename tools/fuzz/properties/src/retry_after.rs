//! The header `Retry-After`.

use std::time::Duration;

use imagekiln::TaskRef;
use reqwest::{
    StatusCode,
    header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER},
};

use crate::{
    exchange::{BASE, CLIENT, now},
    service::{Response, call},
};

/// The first line is the header, and the second one the date of the response. A delay is a number
/// of digits, or a date that other readers of HTTP dates read in the same way.
pub fn retry_after(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let mut headers = HeaderMap::new();
    for name in [RETRY_AFTER, DATE] {
        let value = lines.next().and_then(|line| HeaderValue::from_bytes(line).ok());
        headers.extend(value.map(|value| (name, value)));
    }
    let task = CLIENT.task(TaskRef::new("t1", format!("{BASE}/v1/get_result?id=t1"), None));
    let status = StatusCode::TOO_MANY_REQUESTS;
    let response = Response { status, headers: headers.clone(), chunks: Vec::new() };
    let error = call(&response, task.poll()).0.expect_err("the poll was refused");
    assert_eq!(error.status(), Some(429));
    let delay = error.retry_after();
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let value = text(RETRY_AFTER).unwrap_or_default();
    if value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty() {
        assert_eq!(delay, value.parse().ok().map(Duration::from_secs), "{value}");
        return;
    }
    let date = |text: &str| httpdate::parse_http_date(text).ok();
    let sent = text(DATE).and_then(date).unwrap_or(now());
    let expected = date(value).map(|at| at.duration_since(sent).unwrap_or_default());
    assert_eq!(delay, expected, "{value}");
}
