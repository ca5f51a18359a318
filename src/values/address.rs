//! URLs whose query is not printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

/// A URL whose query may be secret: a polling URL, a signed delivery URL or a webhook URL.
///
/// `Display` and `Debug` omit the user, the password, the query and the fragment, so a printed
/// address is safe in logs and errors. [`Address::reveal`] returns the full URL. Serialization also
/// writes the full URL.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Address(String);

impl Address {
    /// Returns the full URL, including its query.
    ///
    /// Anyone with a signed delivery URL can download the picture, so do not log it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn parse(&self) -> Result<Url, url::ParseError> {
        Url::parse(&self.0)
    }
}

impl<T: Into<String>> From<T> for Address {
    fn from(address: T) -> Self {
        Self(address.into())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(url) = self.parse() else { return f.write_str("[unreadable address]") };
        // A URL without a host, such as a `data:` URL, may consist entirely of secret data.
        let Some(host) = url.host_str() else {
            return write!(f, "{}:{}", url.scheme(), super::REDACTED);
        };
        write!(f, "{}://{host}", url.scheme())?;
        if let Some(port) = url.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(url.path())?;
        if url.query().is_some() || url.fragment().is_some() {
            write!(f, "?{}", super::REDACTED)
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Parses an http or https URL. The error says what is wrong with it.
pub(crate) fn parse_web_url(text: &str) -> Result<Url, &'static str> {
    // `Url::parse` would silently repair these characters, and the service would receive a
    // different URL than the program wrote.
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(concat!(
            "must be a URL without whitespace, control characters and backslashes; ",
            "percent-encode them"
        ));
    }
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && has_authority(text, &url) => Ok(url),
        _ => Err("must be an http or https URL"),
    }
}

fn has_authority(text: &str, url: &Url) -> bool {
    let rest = text[url.scheme().len()..].strip_prefix("://");
    rest.is_some_and(|rest| !rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn prints_without_query_and_user() {
        let shown = |address: &str| format!("{:?}", Address::from(address));
        assert_eq!(
            shown("https://u:p@a.example:8443/x.png?sig=SECRET"),
            "\"https://a.example:8443/x.png?[redacted]\""
        );
        assert_eq!(shown("https://a.example/x#SECRET"), "\"https://a.example/x?[redacted]\"");
        assert_eq!(shown("data:image/png;base64,SECRET"), "\"data:[redacted]\"");
        assert_eq!(shown("SECRET"), "\"[unreadable address]\"");
    }
}
