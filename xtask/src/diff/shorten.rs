//! Shortens values and lists for one line of the report.

/// As many names as fit into `width`, at least one, and how many more there are.
pub fn list(names: &[String], width: usize) -> String {
    let all = names.join(", ");
    if length(&all) <= width || names.len() < 2 {
        return all;
    }
    let mut shown = 1;
    let text =
        |shown: usize| format!("{} and {} more", names[..shown].join(", "), names.len() - shown);
    while shown + 1 < names.len() && length(&text(shown + 1)) <= width {
        shown += 1;
    }
    text(shown)
}

/// Two values in at most `width` characters, which show where the values start to differ. A short
/// value leaves more room to the other.
pub fn pair([from, to]: [&str; 2], width: usize) -> [String; 2] {
    /// The number of equal characters to show before the difference.
    const CONTEXT: usize = 6;
    let equal = from.chars().zip(to.chars()).take_while(|(from, to)| from == to).count();
    [(from, to), (to, from)].map(|(text, other)| {
        let width = width - length(other).min(width / 2);
        let start = if equal + CONTEXT < width { 0 } else { equal.saturating_sub(CONTEXT) };
        window(text, start, width)
    })
}

fn window(text: &str, start: usize, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let leading = if start == 0 { "" } else { "…" };
    let shown: String = text.chars().skip(start).collect();
    if length(&shown) + length(leading) <= width {
        return format!("{leading}{shown}");
    }
    let room = width.saturating_sub(length(leading) + 1);
    let shown: String = shown.chars().take(room).collect();
    format!("{leading}{shown}…")
}

pub fn length(text: &str) -> usize {
    text.chars().count()
}
