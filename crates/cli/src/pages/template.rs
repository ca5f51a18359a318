//! Fills in HTML templates. Text is escaped, so that markup in a prompt is harmless.

/// The value of a marker in a template.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// Text, which is escaped, so that it is also valid in a quoted attribute.
    Text(&'a str),
    /// Markup to insert as it is.
    Html(&'a str),
}

/// Replaces each marker, such as `{{title}}`, with its value. Markers in values stay as they are.
///
/// # Panics
///
/// If a marker has no value. Templates are part of the program, and the tests fill all of them.
#[expect(clippy::panic, reason = "a template without a value is a mistake in this crate")]
pub fn fill(template: &str, values: &[(&str, Value<'_>)]) -> String {
    let mut parts = template.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, text) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        match value.unwrap_or_else(|| panic!("the marker {name} has no value")).1 {
            Value::Text(text) => filled += &escape(text),
            Value::Html(html) => filled += html,
        }
        filled += text;
    }
    filled
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // HTML cannot contain a NUL.
            '\0' => escaped.push(char::REPLACEMENT_CHARACTER),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_an_element_or_an_attribute() {
        let hostile = "<script>&'\"></script>\0\u{2028}";
        let filled = fill(r#"<p title="{{text}}">{{text}}</p>"#, &[("text", Value::Text(hostile))]);
        let escaped = "&lt;script&gt;&amp;&#39;&quot;&gt;&lt;/script&gt;\u{fffd}\u{2028}";
        assert_eq!(filled, format!(r#"<p title="{escaped}">{escaped}</p>"#));
    }

    #[test]
    fn markers_in_values_are_text() {
        let values = [("one", Value::Text("{{two}}")), ("two", Value::Html("<b>{{one}}</b>"))];
        assert_eq!(fill("{{one}}, {{two}}", &values), "{{two}}, <b>{{one}}</b>");
    }
}
