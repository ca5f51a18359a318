//! The names of pictures that are saved in a directory.

use crate::TaskRef;

/// The maximum lengths of the operation and the id in a name. A whole name then fits in the 255
/// bytes of a file name.
const LONGEST_OPERATION: usize = 80;
const LONGEST_ID: usize = 120;

/// The number of names to try for a picture, if other files have the first ones.
const MAX_NAMES: u32 = 100;

/// Returns the file names for the picture of a task in the order of preference, without an
/// extension, for example `gen-2-pro-f7a1c9`. The id comes from the service, so characters that
/// could lead to another directory are replaced.
///
/// If the operation or the id had to be changed, the changed names of two tasks may be equal. All
/// names then contain a hash of the identity of the task. Otherwise the first name has no hash.
pub(super) fn file_stems(task: &TaskRef) -> impl Iterator<Item = String> + Send + use<> {
    let (operation, id) = (task.operation().unwrap_or("picture"), task.id());
    let (plain_operation, plain_id) = (plain(operation, LONGEST_OPERATION), plain(id, LONGEST_ID));
    let is_unchanged = plain_operation == operation && plain_id == id && !id.is_empty();
    let stem = format!("{plain_operation}-{plain_id}");
    let hashed = format!("{stem}-{}", task.digest());
    let numbered = (1..=MAX_NAMES).map(move |number| match number {
        1 => hashed.clone(),
        _ => format!("{hashed}-{number}"),
    });
    is_unchanged.then_some(stem).into_iter().chain(numbered)
}

fn plain(text: &str, longest: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let text: String = text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let text: String = text.trim_matches(['-', '.']).chars().take(longest).collect();
    text.trim_end_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn names(operation: &str, id: &str) -> Vec<String> {
        let task = TaskRef::new(id, "http://localhost/", Some(operation.to_owned()));
        file_stems(&task).collect()
    }

    #[test]
    fn a_file_name_cannot_leave_its_directory() {
        for (operation, id, stem) in [
            ("gen-tools/deblur-v1", "../../etc", "gen-tools-deblur-v1-etc-"),
            ("{base_model}-finetuned", "\u{e9}", "base_model--finetuned--"),
            ("gen-2-pro", "", "gen-2-pro--"),
            ("gen-2-pro", "t1.", "gen-2-pro-t1-"),
        ] {
            let names = names(operation, id);
            let digest = names[0].strip_prefix(stem).unwrap();
            assert!(digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
            assert_eq!(names[1], format!("{stem}{digest}-2"));
        }
        let longest = names(&"a".repeat(300), &"b".repeat(300)).pop().unwrap();
        assert!(longest.len() < 240, "{longest}");
    }

    #[test]
    fn a_plain_id_is_the_name() {
        let names = names("gen-2-pro", "1a2b3c4d-5e6f");
        assert_eq!(names[0], "gen-2-pro-1a2b3c4d-5e6f");
        assert!(names[1].starts_with("gen-2-pro-1a2b3c4d-5e6f-"));
        assert_eq!(names.len(), 101);
        let nameless = TaskRef::new("x", "http://localhost/", None);
        assert_eq!(file_stems(&nameless).next().unwrap(), "picture-x");
    }

    #[test]
    fn tasks_whose_ids_look_alike_have_different_names() {
        let long = "b".repeat(200);
        let ids = ["t 1", "t/1", "t-1", "-t-1", "t-1.", &format!("{long}1"), &format!("{long}2")];
        let first: HashSet<_> = ids.iter().map(|id| names("gen-2-pro", id).remove(0)).collect();
        assert_eq!(first.len(), ids.len(), "{first:?}");
    }

    proptest! {
        #[test]
        fn every_name_is_plain(operation in "(?s).{0,200}", id in "(?s).{0,200}") {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            for name in names(&operation, &id) {
                prop_assert!(name.len() < 240 && name.chars().all(is_plain), "{name}");
                prop_assert!(!name.starts_with('.'), "{name}");
            }
        }
    }
}
