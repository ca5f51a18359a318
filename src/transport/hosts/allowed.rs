//! Parses the hosts that the user allowed in the settings.

use url::Url;

use super::Host;

/// An allowed host such as `polls.example.net` or `polls.example.net:8443`. It matches exactly this
/// host, not its subdomains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    host: Host,
    /// Matches any port if `None`.
    port: Option<u16>,
}

impl AllowedHost {
    /// Returns what is wrong with invalid text, for example `it has a path`.
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

/// Returns the text without parts that may contain a password or a token, for errors and `Debug`.
pub(crate) fn printable(text: &str) -> String {
    if text.contains('@') {
        return crate::values::REDACTED.to_owned();
    }
    let end = text.find(['?', '#']).unwrap_or(text.len());
    text[..end].chars().take(80).flat_map(char::escape_debug).collect()
}

/// Returns the first part found that belongs to a URL or a pattern instead of a host.
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
