//! Small values, and text for the terminal.

use imagekiln::{Address, AspectRatio, types::GenPro11Ultra};
use serde_json::Value;

use crate::exchange::{SECRET, assert_no_secret};

/// A ratio that is read is the same after it was printed, and `validate` accepts it exactly if it
/// is between 21:9 and 9:21.
pub fn aspect_ratio(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let json = Value::from(text);
    let Ok(ratio) = text.parse::<AspectRatio>() else {
        assert!(serde_json::from_value::<AspectRatio>(json).is_err(), "{text:?}");
        return;
    };
    assert_eq!(ratio.to_string().parse(), Ok(ratio));
    assert_eq!(serde_json::from_value::<AspectRatio>(json).ok(), Some(ratio));
    let (width, height) = (u64::from(ratio.width), u64::from(ratio.height));
    assert!(width > 0 && height > 0, "{ratio}");
    let is_allowed = width * 9 <= height * 21 && height * 9 <= width * 21;
    let request = GenPro11Ultra::new().aspect_ratio(ratio);
    assert_eq!(request.validate().is_ok(), is_allowed, "{ratio}");
}

/// Untrusted text is printed without control characters, and addresses without their queries.
pub fn printed_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let line = imagekiln_cli::fuzzing::one_line(&text);
    assert!(!line.contains(char::is_control) && line.chars().count() <= 103, "{line:?}");
    let value: Value =
        serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.to_string()));
    let line = imagekiln_cli::fuzzing::json_line(&value);
    assert!(!line.contains(char::is_control), "{line:?}");
    assert_eq!(serde_json::from_str::<Value>(&line).ok(), Some(value));
    let address = |part: &str| format!("https://user:{part}@a.example/p?{part}#{part}");
    for part in [SECRET.to_owned(), format!("{SECRET}{text}"), format!("{text}{SECRET}")] {
        let address = Address::from(address(&part));
        assert_no_secret_in_query(&format!("{address} {address:?}"), &part);
    }
}

/// A part that ends the user information or the query may become another part of the URL.
fn assert_no_secret_in_query(shown: &str, part: &str) {
    if !part.contains(['/', '?', '#', '@', '\\', '[', ']']) {
        assert_no_secret(shown);
    }
}
