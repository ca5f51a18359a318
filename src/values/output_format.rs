use std::{convert::Infallible, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The file format of a generated picture.
///
/// The contract knows three (schema `OutputFormat`); a name that it does not know is kept verbatim,
/// and `validate()` reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputFormat {
    /// `jpeg`: the default of all operations but deblur.
    Jpeg,
    /// `png`
    Png,
    /// `webp`
    Webp,
    /// A name that this version does not know.
    Unknown(String),
}

impl OutputFormat {
    /// The name as the contract writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::Webp => "webp",
            Self::Unknown(name) => name,
        }
    }

    /// The format that a file's ending asks for: `jpg` and `jpeg`, `png`, `webp`, in any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "png" => Some(Self::Png),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }
}

impl From<&str> for OutputFormat {
    fn from(name: &str) -> Self {
        match name {
            "jpeg" => Self::Jpeg,
            "png" => Self::Png,
            "webp" => Self::Webp,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

impl FromStr for OutputFormat {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(name.into())
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for OutputFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for OutputFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer)?.as_str().into())
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for OutputFormat {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OutputFormat".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": ["jpeg", "png", "webp"] })
    }
}
