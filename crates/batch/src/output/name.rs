//! Other names for pictures.

use imagekiln_label::{MAX_COMPONENT, shortened};

/// The maximum length of a task id in a name, in characters.
const LONGEST_ID: usize = 100;

/// Returns another key in the same directory, for a picture whose key is already taken. The task id
/// comes from the service, so it must not be able to name another directory.
pub(crate) fn beside(key: &str, task_id: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let id: String = task_id.chars().filter(is_plain).take(LONGEST_ID).collect();
    let (directory, name) = match key.rfind('/') {
        Some(slash) => key.split_at(slash + 1),
        None => ("", key),
    };
    // A dot at the start of a name does not begin an extension.
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    let room = MAX_COMPONENT.saturating_sub(id.len() + 1 + extension.len());
    format!("{directory}{}-{id}{extension}", shortened(stem, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_is_in_the_same_directory() {
        assert_eq!(beside("a/fox.png", "t-1"), "a/fox-t-1.png");
        assert_eq!(beside("a/fox", "../../b"), "a/fox-b");
        assert_eq!(beside(".fox", "b"), ".fox-b");
        let long = beside(&format!("{}.png", "é".repeat(98)), &"b".repeat(300));
        assert!(long.len() <= MAX_COMPONENT && long.ends_with("b.png"), "{long}");
    }
}
