//! Optional bytes in a snapshot, as base64.

use axum::body::Bytes;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub(crate) fn serialize<S: Serializer>(
    bytes: &Option<Bytes>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Bytes>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let bytes = text.map(|text| STANDARD.decode(text).map(Bytes::from));
    bytes.transpose().map_err(de::Error::custom)
}
