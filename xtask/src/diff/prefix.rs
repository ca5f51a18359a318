//! Maps the model names of another listing to ours.

use std::str::FromStr;

use serde_json::Value;

/// The start of a model name in the other listing, and in ours.
///
/// A model name is the first segment of a path after `/v1/`. With `xyz=gen`, `/v1/xyz-2-pro`
/// becomes `/v1/gen-2-pro`, and `/v1/xyz-tools/deblur-v1` becomes `/v1/gen-tools/deblur-v1`. The
/// dash belongs to the match: `/v1/xyzzy` stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefix {
    pub theirs: String,
    ours: String,
}

impl Prefix {
    /// The path with our model name.
    pub fn path(&self, path: &str) -> String {
        let rest = path.strip_prefix(&format!("/v1/{}-", self.theirs));
        rest.map_or_else(|| path.to_owned(), |rest| format!("/v1/{}-{rest}", self.ours))
    }

    /// Whether the document has a path that starts with the prefix.
    pub fn occurs_in(&self, document: &Value) -> bool {
        let paths = document["paths"].as_object();
        paths.is_some_and(|paths| paths.keys().any(|path| self.path(path) != *path))
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = |name: &&str| {
            let is_known = |character: char| character.is_ascii_alphanumeric() || character == '-';
            !name.is_empty() && !name.ends_with('-') && name.chars().all(is_known)
        };
        let sides = text.split_once('=').map(|(theirs, ours)| [theirs, ours]);
        let [theirs, ours] = sides.filter(|sides| sides.iter().all(is_name)).ok_or(
            "expected THEIRS=OURS, for example xyz=gen: letters, digits and dashes, without a dash \
             at the end",
        )?;
        Ok(Self { theirs: theirs.to_owned(), ours: ours.to_owned() })
    }
}
