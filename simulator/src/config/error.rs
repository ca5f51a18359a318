//! Errors in the text of a configuration.

/// An error in a configuration. It does not quote the text, which may contain keys.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ConfigError {
    /// The line, counted from 1; the last line if the location is not known.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

impl ConfigError {
    pub(crate) fn new(text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
        Self {
            line: before.matches('\n').count() + 1,
            problem: without_values(error.message().trim()),
        }
    }
}

/// Removes a string of the wrong type, which serde quotes and which may be a key.
fn without_values(message: &str) -> String {
    let quoted = message.split_once("string \"").and_then(|(before, rest)| {
        let (_, after) = rest.rsplit_once("\", expected")?;
        Some(format!("{before}a string, expected{after}"))
    });
    quoted.unwrap_or_else(|| message.to_owned())
}
