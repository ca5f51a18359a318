//! Requests that cannot be parsed. hyper responds to them itself, with an empty body; these
//! responses are replaced by ones with the body of every other error.

use axum::http::StatusCode;
use serde_json::json;

use super::activity::Activity;

/// The status code of a response by hyper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolError(StatusCode);

/// The status codes with which hyper responds itself.
const AUTOMATIC: [StatusCode; 3] = [
    StatusCode::BAD_REQUEST,
    StatusCode::URI_TOO_LONG,
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
];

/// The length of hyper's responses is less.
const MAX_LENGTH: usize = 256;

/// Splits off hyper's own response from what is to be sent, with its length. It is always the last
/// one of a connection, and the only one with such a status code and without a body.
pub(crate) fn split(bytes: &[u8]) -> (&[u8], Option<(ProtocolError, usize)>) {
    if !bytes.ends_with(b"\r\n\r\n") {
        return (bytes, None);
    }
    let tail_start = bytes.len().saturating_sub(MAX_LENGTH);
    let found = AUTOMATIC.into_iter().find_map(|status| {
        let line = format!("HTTP/1.1 {status}\r\n");
        let tail = bytes.get(tail_start..)?;
        let start = tail.windows(line.len()).rposition(|part| part == line.as_bytes())?;
        let mut headers = tail.get(start..)?.split(|byte| *byte == b'\n');
        headers.any(|header| header.trim_ascii() == b"content-length: 0").then_some((status, start))
    });
    match found {
        None => (bytes, None),
        Some((status, start)) => {
            let (before, response) = bytes.split_at(tail_start + start);
            (before, Some((ProtocolError(status), response.len())))
        }
    }
}

impl ProtocolError {
    /// The status code, as exact as possible.
    pub(crate) fn status(self, activity: &Activity) -> StatusCode {
        match self.0 {
            // hyper stops reading before it knows which part of the headers is too long.
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE if !activity.line_complete() => {
                StatusCode::URI_TOO_LONG
            }
            status => status,
        }
    }

    /// The complete response with a status code.
    pub(crate) fn response(status: StatusCode) -> Vec<u8> {
        let detail = reason(status);
        let body = json!({ "detail": detail }).to_string();
        let response = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        );
        response.into_bytes()
    }
}

/// Why a request is rejected with a status code.
pub(crate) fn reason(status: StatusCode) -> &'static str {
    match status {
        StatusCode::URI_TOO_LONG => "The URL of the request is too long",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "The request headers are too large",
        _ => "The request is not valid HTTP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_final_response_without_a_body_is_split_off() {
        let own = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}";
        let automatic =
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let error = ProtocolError(StatusCode::BAD_REQUEST);
        let both = format!("{own}{automatic}");
        let expected = (own.as_bytes(), Some((error, automatic.len())));
        assert_eq!(split(both.as_bytes()), expected);
        assert_eq!(split(automatic.as_bytes()), (&b""[..], Some((error, automatic.len()))));
        for other in
            [own, "", "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}", "\r\n\r\n"]
        {
            assert_eq!(split(other.as_bytes()), (other.as_bytes(), None));
        }
    }
}
