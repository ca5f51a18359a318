//! Decides when two hosts are the same, which hosts may receive the key, and which hosts may
//! deliver pictures. Parses the hosts that the user allowed in the settings.

mod address;
#[cfg(test)]
mod cases;
mod delivery;
#[cfg(test)]
mod documented;
mod key;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

pub(crate) use self::address::reason_not_public;
pub(crate) use self::delivery::{DeliveryRules, UrlRefusal};
pub(crate) use self::key::KeyOrigins;

/// A host in normalized form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// `localhost`, `127.0.0.1` and `[::1]`, which usually reach the same process. Other addresses
    /// in `127.0.0.0/8` may not.
    Loopback,
    Address(IpAddr),
    /// In lowercase and Punycode, without a trailing dot.
    Name(String),
}

impl Host {
    pub(crate) fn of(url: &Url) -> Option<Self> {
        url.host().map(Self::from)
    }
}

impl<S: AsRef<str>> From<url::Host<S>> for Host {
    fn from(host: url::Host<S>) -> Self {
        let address = match host {
            url::Host::Domain(name) => {
                let name = name.as_ref().to_ascii_lowercase();
                return match name.strip_suffix('.').unwrap_or(&name) {
                    // Some resolvers ignore further dots.
                    name if name.trim_end_matches('.') == "localhost" => Self::Loopback,
                    name => Self::Name(name.to_owned()),
                };
            }
            url::Host::Ipv4(address) => IpAddr::V4(address),
            url::Host::Ipv6(address) => IpAddr::V6(address).to_canonical(),
        };
        match address {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Self::Loopback,
            address => Self::Address(address),
        }
    }
}

/// Whether the host of the URL is a loopback address or `localhost`.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match Host::of(url) {
        Some(Host::Loopback) => true,
        Some(Host::Address(address)) => address.is_loopback(),
        Some(Host::Name(_)) | None => false,
    }
}

/// Whether the scheme, host and port are the same. `localhost`, `127.0.0.1` and `[::1]` are the
/// same host.
fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && Host::of(one).is_some()
        && Host::of(one) == Host::of(other)
        && one.port_or_known_default() == other.port_or_known_default()
}

/// An allowed host such as `polls.example.net` or `polls.example.net:8443`. It matches exactly this
/// host, not its subdomains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    host: Host,
    /// Matches any port if `None`.
    port: Option<u16>,
}

impl AllowedHost {
    /// Parses a host with an optional port. The error says what is wrong with the text, for example
    /// `it has a path`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(problem) = unusable_part(text) {
            return Err(problem);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (text, None),
        };
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        if host.contains([':', '[', ']']) && !is_bracketed {
            return Err("an IPv6 address needs brackets around it");
        }
        let port = port.map(parse_port).transpose()?;
        let host = url::Host::parse(host).map_err(|_| "it is not a host name or an IP address")?;
        let host = Host::from(host);
        if let Host::Name(name) = &host {
            if name.split('.').any(str::is_empty) {
                return Err("it starts with a dot or has two consecutive dots");
            }
            if port.is_none() && is_public_suffix(name) {
                return Err("it is a public suffix; name a single host");
            }
        }
        Ok(Self { host, port })
    }

    pub(crate) fn matches(&self, url: &Url) -> bool {
        Host::of(url).is_some_and(|host| host == self.host)
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

/// Returns the text for errors and `Debug`: without parts that may contain a password or a token,
/// and at most its first 80 characters.
pub(crate) fn printable(text: &str) -> String {
    if text.contains('@') {
        return crate::values::REDACTED.to_owned();
    }
    let end = text.find(['?', '#']).unwrap_or(text.len());
    text[..end].chars().take(80).flat_map(char::escape_debug).collect()
}

/// Returns what is wrong with text that contains a part of a URL or of a pattern, which a host
/// cannot contain.
fn unusable_part(text: &str) -> Option<&'static str> {
    let problems: [(bool, &str); 7] = [
        (text.trim().is_empty(), "it is empty"),
        (text.contains('@'), "it has a user name or a password"),
        (text.contains("://"), "it has a scheme"),
        (text.contains(['/', '\\']), "it has a path"),
        (text.contains(['?', '#']), "it has a query or a fragment"),
        (text.contains(['*', '%']), "it has a wildcard; name a single host"),
        (text.contains(|c: char| c.is_whitespace() || c.is_control()), "it has whitespace"),
    ];
    problems.into_iter().find(|(found, _)| *found).map(|(_, problem)| problem)
}

fn parse_port(text: &str) -> Result<u16, &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|port| digits && *port != 0)
        .ok_or("the port is not a number from 1 to 65535")
}

fn is_public_suffix(name: &str) -> bool {
    psl::domain(name.as_bytes()).is_none()
        && psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn spellings_of_one_host_are_equal() {
        for (one, other) in [
            ("https://API.Example.com", "https://api.example.com."),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
            ("https://api。example．com", "https://api.example.com"),
            ("http://localhost", "http://LOCALHOST."),
            ("http://localhost", "http://127.0.0.1"),
            ("http://127.0.0.1", "http://[::1]"),
            ("http://127.0.0.1", "http://0x7f.1"),
            ("http://127.0.0.1", "http://2130706433"),
            ("http://127.0.0.1", "http://[::ffff:127.0.0.1]"),
            ("http://10.0.0.7", "http://[::ffff:10.0.0.7]"),
        ] {
            assert_eq!(Host::of(&url(one)), Host::of(&url(other)), "{one} {other}");
            assert!(same_origin(&url(one), &url(other)), "{one} {other}");
        }
    }

    #[test]
    fn a_different_scheme_port_or_host_is_a_different_origin() {
        for (one, other) in [
            ("http://localhost:4000", "http://127.0.0.1:4001"),
            ("http://localhost:4000", "https://127.0.0.1:4000"),
            ("http://127.0.0.1:4000", "http://127.0.0.2:4000"),
            ("http://localhost:4000", "http://localhost.example:4000"),
            ("https://api.example.com", "https://api.example.com:8443"),
            ("https://api.example.com", "https://api.example.com..:443"),
        ] {
            assert!(!same_origin(&url(one), &url(other)), "{one} {other}");
        }
        assert!(same_origin(&url("https://api.example.com"), &url("https://api.example.com:443")));
    }

    #[test]
    fn loopback_is_recognized_by_address_and_by_name() {
        for (address, expected) in [
            ("http://localhost:8080", true),
            ("http://localhost.:8080", true),
            ("http://localhost..", true),
            ("http://127.0.0.1", true),
            ("http://127.8.9.1", true),
            ("http://[::1]", true),
            ("http://[::ffff:127.0.0.2]", true),
            ("http://0.0.0.0", false),
            ("http://localhost.example.com", false),
            ("http://api.localhost", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(is_loopback(&url(address)), expected, "{address}");
        }
    }

    fn matches(allowed: &str, url: &str) -> bool {
        AllowedHost::parse(allowed).unwrap().matches(&Url::parse(url).unwrap())
    }

    #[test]
    fn an_entry_matches_every_spelling_of_its_host() {
        for (allowed, url) in [
            ("polls.example.net", "https://polls.example.net/x"),
            ("polls.example.net", "https://polls.example.net:8443/x"),
            ("Polls.Example.NET.", "https://polls.example.net"),
            ("polls.example.net", "https://POLLS.example.net."),
            ("bücher.example", "https://xn--bcher-kva.example"),
            ("polls.example.net:443", "https://polls.example.net"),
            ("polls.example.net:8443", "https://polls.example.net:8443"),
            ("127.0.0.1:9000", "http://localhost:9000"),
            ("localhost:9000", "http://[::1]:9000"),
            ("[::1]:9000", "http://127.0.0.1:9000"),
            ("[2001:DB8::7]", "https://[2001:db8:0::7]:8443"),
            ("10.0.0.7", "http://10.0.0.7:1"),
            ("minio", "http://minio:9000"),
            ("app:9000", "http://app:9000"),
            ("my_store.internal", "http://my_store.internal"),
        ] {
            assert!(matches(allowed, url), "{allowed} {url}");
        }
    }

    #[test]
    fn an_entry_does_not_match_other_hosts_or_ports() {
        for (allowed, url) in [
            ("example.net", "https://polls.example.net"),
            ("polls.example.net", "https://example.net"),
            ("polls.example.net", "https://polls.example.net.evil.com"),
            ("polls.example.net:8443", "https://polls.example.net"),
            ("polls.example.net:443", "http://polls.example.net"),
            ("127.0.0.1:9000", "http://localhost:9001"),
            ("127.0.0.1", "http://127.0.0.2"),
        ] {
            assert!(!matches(allowed, url), "{allowed} {url}");
        }
    }

    #[test]
    fn text_that_is_not_a_host_is_refused() {
        for (text, problem) in [
            ("", "empty"),
            ("  ", "empty"),
            ("https://polls.example.net", "scheme"),
            ("polls.example.net/v1", "path"),
            ("polls.example.net\\v1", "path"),
            ("user:secret@polls.example.net", "password"),
            ("https://user:secret@polls.example.net/x", "password"),
            ("polls.example.net?token=secret", "query"),
            ("polls.example.net#secret", "fragment"),
            ("*.example.net", "wildcard"),
            ("*", "wildcard"),
            ("%65xample.net", "wildcard"),
            (" polls.example.net", "whitespace"),
            ("polls example.net", "whitespace"),
            ("polls.example.net\n", "whitespace"),
            (".example.net", "dot"),
            ("polls..example.net", "dot"),
            (".", "dot"),
            ("polls.example.net:", "port"),
            ("polls.example.net:0", "port"),
            ("polls.example.net:65536", "port"),
            ("polls.example.net:+80", "port"),
            ("polls.example.net:https", "port"),
            (":8443", "host name"),
            ("::1", "brackets"),
            ("2001:db8::7", "brackets"),
            ("[::1", "bracket"),
            ("[::1]9000", "bracket"),
            ("[polls.example.net]", "host name"),
            ("999.1.1.1", "host name"),
            ("polls<.example.net", "host name"),
            ("com", "public suffix"),
            ("CO.UK.", "public suffix"),
            ("github.io", "public suffix"),
        ] {
            let outcome = AllowedHost::parse(text);
            assert!(
                outcome.as_ref().is_err_and(|found| found.contains(problem)),
                "{text}: {outcome:?}"
            );
        }
    }

    #[test]
    fn passwords_and_queries_are_not_printed() {
        assert_eq!(printable("user:p?w@host/x"), "[redacted]");
        assert_eq!(printable("https://host/x?token=secret"), "https://host/x");
        assert_eq!(printable("a\nb"), "a\\nb");
        assert_eq!(printable(&"a".repeat(500)).len(), 80);
    }

    proptest! {
        #[test]
        fn the_parser_never_panics_or_prints_a_password(
            text in "\\PC{0,40}",
            password in "[a-z]{12}",
        ) {
            let _ = AllowedHost::parse(&text);
            let with_user = format!("{text}:{password}@{text}");
            prop_assert!(AllowedHost::parse(&with_user).is_err());
            prop_assert!(!printable(&with_user).contains(&password));
        }

        #[test]
        fn the_host_of_a_url_matches_the_url(
            name in "[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,5})?\\.[a-z]{2,8}\\.example",
            port in 1..=u16::MAX,
        ) {
            let url = Url::parse(&format!("https://{name}:{port}/x")).unwrap();
            prop_assert!(AllowedHost::parse(&name).unwrap().matches(&url));
            let (with_port, below) = (format!("{name}:{port}"), format!("a.{name}"));
            prop_assert!(AllowedHost::parse(&with_port).unwrap().matches(&url));
            prop_assert!(!AllowedHost::parse(&below).unwrap().matches(&url));
        }
    }
}
