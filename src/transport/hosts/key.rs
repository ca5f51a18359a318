//! Decides where the key may be sent. `docs/key-hosts.md` explains the rule, and a test compares
//! its table with this module.

use url::Url;

use super::{AllowedHost, is_loopback, same_origin, siblings::are_siblings};

/// The base URLs, and the hosts that the user allowed. Siblings of the base URLs also receive the
/// key.
#[derive(Debug, Clone)]
pub(crate) struct KeyOrigins {
    bases: Vec<Url>,
    allowed: Vec<AllowedHost>,
    allow_http: bool,
}

impl KeyOrigins {
    pub(crate) fn new(bases: Vec<Url>, allowed: Vec<AllowedHost>, allow_http: bool) -> Self {
        Self { bases, allowed, allow_http }
    }

    pub(crate) fn may_receive_key(&self, url: &Url) -> bool {
        let scheme_is_safe = match url.scheme() {
            "https" => true,
            "http" => self.allow_http || is_loopback(url),
            _ => false,
        };
        self.bases.iter().any(|base| same_origin(base, url) || are_siblings(base, url))
            || scheme_is_safe && self.allowed.iter().any(|allowed| allowed.matches(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::hosts::documented;

    fn allows(base: &str, allowed: &[&str], allow_http: bool, url: &str) -> bool {
        let allowed = allowed.iter().map(|host| AllowedHost::parse(host).unwrap()).collect();
        KeyOrigins::new(vec![Url::parse(base).unwrap()], allowed, allow_http)
            .may_receive_key(&Url::parse(url).unwrap())
    }

    #[test]
    fn the_documented_table_is_correct() {
        let rows = documented::rows("| base | polling URL | key |");
        assert!(rows.len() > 40, "{} rows", rows.len());
        for row in rows {
            let [base, polled, verdict] = row.each_ref().map(String::as_str);
            let expected = documented::verdict(verdict);
            assert_eq!(allows(base, &[], false, polled), expected, "{base} {polled}");
            if base.starts_with("https://") && !documented::same_host(base, polled) {
                assert_eq!(
                    allows(polled, &[], false, base),
                    expected,
                    "{polled} {base} (reversed)"
                );
            }
        }
    }

    #[test]
    fn allowed_hosts_receive_the_key_over_https_or_loopback() {
        let base = "https://api.example.com";
        for (allowed, url, with_http, expected) in [
            ("Polls.Other.net", "https://polls.other.net/x", false, true),
            ("polls.other.net", "http://polls.other.net/x", false, false),
            ("polls.other.net", "http://polls.other.net/x", true, true),
            ("other.net", "https://polls.other.net/x", true, false),
            ("127.0.0.1:9000", "http://127.0.0.1:9000/x", false, true),
            ("localhost:9000", "http://127.0.0.1:9000/x", false, true),
            ("127.0.0.1:9000", "http://127.0.0.1:9001/x", true, false),
            ("10.0.0.7", "http://10.0.0.7/x", false, false),
            ("10.0.0.7", "http://10.0.0.7/x", true, true),
            ("polls.other.net", "ftp://polls.other.net/x", true, false),
        ] {
            assert_eq!(
                allows(base, &[allowed], with_http, url),
                expected,
                "{allowed} {url} {with_http}"
            );
        }
    }

    #[test]
    fn allowing_http_does_not_allow_other_hosts() {
        assert!(!allows("https://api.example.com", &[], true, "http://api.example.com"));
        assert!(!allows("http://api.example.com", &[], true, "http://us1.example.com"));
        assert!(!allows("http://api.example.com", &[], true, "https://us1.example.com"));
        assert!(allows("http://api.example.com", &[], true, "http://api.example.com/x"));
    }
}
