//! A request as received by the server.

use imagekiln::KEY_HEADER;
use serde_json::Value;
use tokio::time::Instant;

use super::samples::KEY;

#[derive(Debug, Clone)]
pub struct Received {
    /// The number of its connection, starting at 1.
    pub connection: usize,
    pub method: String,
    /// The path and the query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the whole body arrived, so that a service could have processed it.
    pub complete: bool,
    pub at: Instant,
}

impl Received {
    /// Parses the head without the final empty line.
    pub(super) fn parse(head: &[u8], connection: usize) -> Self {
        let text = String::from_utf8_lossy(head);
        let mut lines = text.split("\r\n");
        let mut request = lines.next().unwrap_or_default().split(' ');
        let mut word = || request.next().unwrap_or_default().to_owned();
        let (method, target) = (word(), word());
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Self {
            connection,
            method,
            target,
            headers,
            body: Vec::new(),
            complete: false,
            at: Instant::now(),
        }
    }

    /// Returns the value of a header that occurs at most once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values =
            self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
        let value = values.next();
        assert!(values.next().is_none(), "`{name}` occurs twice in {:?}", self.headers);
        value.map(String::as_str)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// Asserts that the key arrived once, in its header and nowhere else.
    pub fn assert_has_key(&self) {
        assert_eq!(self.header(KEY_HEADER), Some(KEY), "{} {}", self.method, self.target);
        let elsewhere =
            self.headers.iter().any(|(name, value)| name != KEY_HEADER && value.contains(KEY));
        assert!(!elsewhere && !self.target.contains(KEY), "the key occurs elsewhere: {self:?}");
    }

    /// Asserts that the request contains neither the key nor its header.
    pub fn assert_has_no_key(&self) {
        assert_eq!(self.header(KEY_HEADER), None, "{} {}", self.method, self.target);
        assert!(!self.contains(KEY), "the key was sent to {}", self.target);
    }

    pub fn contains(&self, text: &str) -> bool {
        let within =
            |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        within(self.target.as_bytes())
            || within(&self.body)
            || self.headers.iter().any(|(name, value)| name.contains(text) || value.contains(text))
    }
}
