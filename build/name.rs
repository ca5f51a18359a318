//! The names of generated types.

/// Returns for example `GenToolsDeblurV1` for `gen-tools/deblur-v1`.
pub fn camel_case(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric()).map(capitalized).collect()
}

pub fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
