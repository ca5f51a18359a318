//! Strict parsing of webhook headers.

use reqwest::header::{HeaderMap, HeaderName};

use super::Rejection;

/// Returns the single value of a header as ASCII text.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Rejection> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or_else(|| Rejection::Missing { header: name.to_string() })?;
    if values.next().is_some() {
        return Err(malformed(name, "occurs more than once"));
    }
    value.to_str().map_err(|_| malformed(name, "has characters that are not visible ASCII"))
}

pub(super) fn malformed(name: &HeaderName, problem: &'static str) -> Rejection {
    Rejection::Malformed { header: name.to_string(), problem }
}
