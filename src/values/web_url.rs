//! Tells URLs from other text, and checks those that the service fetches or calls.

use url::Url;

/// Whether the text starts like an http or https URL.
pub(crate) fn is_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// Returns what is wrong with `text` as an http or https URL.
pub(crate) fn check(text: &str) -> Result<(), &'static str> {
    // `Url::parse` silently repairs everything that this check refuses.
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(concat!(
            "must be a URL without whitespace, control characters and backslashes; ",
            "percent-encode them"
        ));
    }
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && has_authority(text, &url) => Ok(()),
        _ => Err("must be an http or https URL"),
    }
}

fn has_authority(text: &str, url: &Url) -> bool {
    let rest = text[url.scheme().len()..].strip_prefix("://");
    rest.is_some_and(|rest| !rest.starts_with('/'))
}
