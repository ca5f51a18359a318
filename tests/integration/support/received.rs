//! A request as it arrived.

use serde_json::Value;
use tokio::time::Instant;

use super::samples::KEY;

#[derive(Debug, Clone)]
pub struct Received {
    /// Which connection of the server it came on, counted from 1.
    pub connection: usize,
    pub method: String,
    /// Path and query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether all of its body came, so that a service could have worked on it.
    pub complete: bool,
    pub at: Instant,
}

impl Received {
    /// Reads the head, without the empty line at its end.
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

    /// The value of a header that stands at most once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values =
            self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
        let value = values.next();
        assert!(values.next().is_none(), "`{name}` stands twice in {:?}", self.headers);
        value.map(String::as_str)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// That the key arrived, once, in its header and nowhere else.
    pub fn assert_has_key(&self) {
        assert_eq!(self.header("x-key"), Some(KEY), "{} {}", self.method, self.target);
        let elsewhere =
            self.headers.iter().any(|(name, value)| name != "x-key" && value.contains(KEY));
        assert!(
            !elsewhere && !self.target.contains(KEY),
            "the key stands in a wrong place: {self:?}"
        );
    }

    /// That neither the key nor a header for it is anywhere in the request.
    pub fn assert_has_no_key(&self) {
        assert_eq!(self.header("x-key"), None, "{} {}", self.method, self.target);
        assert!(!self.contains(KEY), "the key came to {}", self.target);
    }

    pub fn contains(&self, text: &str) -> bool {
        let within =
            |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        within(self.target.as_bytes())
            || within(&self.body)
            || self.headers.iter().any(|(name, value)| name.contains(text) || value.contains(text))
    }
}
