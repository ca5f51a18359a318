//! The target of an output: a path or a URL.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use imagekiln_label::check_component;

use crate::{Error, ErrorKind};

/// A path, or the URL of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputTarget {
    /// A folder of this machine.
    Folder(PathBuf),
    /// The URL of a bucket, with its prefix.
    Bucket(BucketUrl),
}

/// The URL of a bucket, for example `s3://bucket/prefix`. It contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    pub(super) scheme: Scheme,
    /// The name of the bucket. For `abfss`, it contains the account.
    pub(super) bucket: String,
    /// The keys of this output begin with the prefix, which may be empty.
    pub(super) prefix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Gs,
    Az,
    Abfss,
}

impl Scheme {
    const ALL: [Self; 4] = [Self::S3, Self::Gs, Self::Az, Self::Abfss];

    fn as_str(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gs => "gs",
            Self::Az => "az",
            Self::Abfss => "abfss",
        }
    }

    pub(super) fn feature(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gs => "gcs",
            Self::Az | Self::Abfss => "azure",
        }
    }

    pub(super) fn without_feature(self) -> Error {
        let (scheme, feature) = (self.as_str(), self.feature());
        unusable(&format!(
            "{scheme} URLs need the Cargo feature `{feature}` of imagekiln-batch; turn it on"
        ))
    }
}

impl OutputTarget {
    /// Parses a target. Text that contains `://` is a URL, and anything else is a path.
    pub(crate) fn new(target: impl Into<PathBuf>) -> Result<Self, Error> {
        let target = target.into();
        match split_scheme(&target.to_string_lossy()) {
            Some((scheme, rest)) => BucketUrl::parse(scheme, rest).map(Self::Bucket),
            None => Ok(Self::Folder(target)),
        }
    }

    /// Splits a location into an output and a key, which is the last component of the location.
    pub(crate) fn of_location(location: &str) -> Result<(Self, String), Error> {
        let path = Path::new(location);
        let key = path.file_name().and_then(|name| name.to_str());
        match (path.parent(), key) {
            (Some(parent), Some(key)) => Ok((Self::new(parent)?, key.to_owned())),
            _ => Err(unusable("the ledger contains a path that is not the path of a file")),
        }
    }
}

/// Returns what is before and after `://`, or `None` if the text is a path. Text with `://` is not
/// treated as a path even if it is not a valid URL, such as a URL in quotes: it may contain a
/// password, and error messages about a path print the path.
pub(crate) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    text.trim().split_once("://")
}

impl BucketUrl {
    /// Parses the part of a URL after `://`. Error messages do not contain the URL, because it may
    /// contain credentials.
    fn parse(scheme: &str, rest: &str) -> Result<Self, Error> {
        let is_same = |known: &Scheme| known.as_str().eq_ignore_ascii_case(scheme);
        let Some(scheme) = Scheme::ALL.into_iter().find(is_same) else {
            let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let other = if is_scheme { scheme } else { "such" };
            return Err(unusable(&format!(
                "{other} URLs are not supported; use a path, or a URL with one of the schemes s3, \
                 gs, az, abfss"
            )));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_bucket(scheme, bucket) {
            let expected = match scheme {
                Scheme::Abfss => "abfss://container@account.dfs.core.windows.net/prefix".to_owned(),
                scheme => format!("{}://bucket/prefix", scheme.as_str()),
            };
            return Err(unusable(&format!(
                "the URL is not of the form {expected}; it cannot contain credentials, which \
                 belong in the environment"
            )));
        }
        if prefix.contains(['?', '#']) {
            return Err(unusable("the URL has a query or a fragment; remove it"));
        }
        let prefix = prefix.trim_end_matches('/').to_owned();
        if !prefix.is_empty() {
            prefix.split('/').try_for_each(check_component).map_err(|problem| {
                unusable(&format!("could not parse the prefix of the URL: {problem}"))
            })?;
        }
        Ok(Self { scheme, bucket: bucket.to_owned(), prefix })
    }
}

/// Whether the text is the name of a bucket, without user and port. For `abfss`, it is a container
/// and a host.
fn is_bucket(scheme: Scheme, text: &str) -> bool {
    let is_name = |name: &str| {
        let is_allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
        // The names `.` and `..` would disappear when the location of a picture is split.
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.bytes().all(is_allowed)
    };
    match scheme {
        Scheme::Abfss => {
            text.split_once('@').is_some_and(|(name, host)| is_name(name) && is_name(host))
        }
        _ => is_name(text),
    }
}

/// Writes the URL of the prefix, without a slash at its end.
impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

fn unusable(problem: &str) -> Error {
    Error::new(ErrorKind::File, format!("could not use the output: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(target: &str) -> String {
        OutputTarget::new(target).unwrap_err().to_string()
    }

    #[test]
    fn targets_are_paths_or_urls() {
        for path in ["pictures", "/a/b", "C:\\a", "./s3:/a", "a b:/c"] {
            assert_eq!(OutputTarget::new(path).unwrap(), OutputTarget::Folder(path.into()));
        }
        for (url, shown) in [
            ("s3://foxes", "s3://foxes"),
            ("gs://foxes/", "gs://foxes"),
            (" S3://foxes\n", "s3://foxes"),
            ("az://foxes/a b/é/", "az://foxes/a b/é"),
            ("abfss://foxes@me.dfs.core.windows.net/a", "abfss://foxes@me.dfs.core.windows.net/a"),
        ] {
            let OutputTarget::Bucket(url) = OutputTarget::new(url).unwrap() else {
                panic!("{url}")
            };
            assert_eq!(url.to_string(), shown);
        }
    }

    #[test]
    fn urls_with_secrets_are_refused_and_not_printed() {
        for url in [
            "s3://user:SECRET@foxes/a",
            "abfss://foxes:SECRET@me.dfs.core.windows.net",
            "az://foxes/a?sig=SECRET",
            "https://example.com/?SECRET",
            "gs://foxes/#SECRET",
            "s3:///SECRET",
            "s3://a/../SECRET",
            "\"s3://user:SECRET@foxes/a\"",
            "\u{feff}s3://user:SECRET@foxes/a",
            "key=SECRET s3://foxes/a",
        ] {
            assert!(!problem(url).contains("SECRET"), "{}", problem(url));
        }
        assert!(problem("https://foxes").contains("https URLs are not supported; use a path"));
        assert!(problem("s3://foxes/a//b").contains("an empty component"));
        for url in ["s3://.", "gs://../a", "az://-a", "abfss://a@."] {
            assert!(problem(url).contains("the URL is not of the form"), "{url}");
        }
    }

    #[test]
    fn a_location_has_an_output_and_a_key() {
        let of = |location| OutputTarget::of_location(location).unwrap();
        assert_eq!(of("/a/b/fox.png"), (OutputTarget::Folder("/a/b".into()), "fox.png".to_owned()));
        let (target, key) = of("s3://foxes/a/fox.png");
        assert_eq!((target, &*key), (OutputTarget::new("s3://foxes/a").unwrap(), "fox.png"));
    }
}
