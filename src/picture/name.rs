//! Derives a file name for a picture from its task.

use crate::TaskRef;

/// The maximum lengths of the operation and the id, within the 255 bytes of a file name.
const LONGEST_OPERATION: usize = 80;
const LONGEST_ID: usize = 150;

/// Returns for example `gen-2-pro-f7a1c9`. The id comes from the service, so it must not be able to
/// name another directory.
pub(super) fn file_stem(task: &TaskRef) -> String {
    let operation = plain(task.operation().unwrap_or("picture"), LONGEST_OPERATION);
    let id = plain(task.id(), LONGEST_ID);
    format!("{operation}-{id}")
}

fn plain(text: &str, longest: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let text: String = text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let text: String = text.trim_matches(['-', '.']).chars().take(longest).collect();
    text.trim_end_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_leave_its_directory() {
        let stem = |operation: &str, id: &str| {
            file_stem(&TaskRef::new(id, "http://localhost/", Some(operation.to_owned())))
        };
        assert_eq!(stem("gen-2-pro", "1a2b3c4d-5e6f"), "gen-2-pro-1a2b3c4d-5e6f");
        assert_eq!(stem("gen-tools/deblur-v1", "../../etc"), "gen-tools-deblur-v1-etc");
        assert_eq!(stem("{base_model}-finetuned", "é"), "base_model--finetuned-");
        assert!(stem(&"a".repeat(300), &"b".repeat(300)).len() < 240);
        assert_eq!(file_stem(&TaskRef::new("x", "http://localhost/", None)), "picture-x");
    }
}
