//! Converts names in the contract to the names of generated types and their members.

/// Returns for example `GenToolsDeblurV1` for `gen-tools/deblur-v1`.
pub fn camel_case(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric()).map(capitalized).collect()
}

/// Returns for example `gen_tools_deblur_v1` for `gen-tools/deblur-v1`.
pub fn snake_case(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

pub fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Whether this can be the name of a field. A Rust keyword is allowed, see [`member_name`].
/// Underscores are only allowed between two words, because progenitor removes the other ones.
pub fn is_field_name(name: &str) -> bool {
    is_lowercase(name)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('_').all(|word| !word.is_empty())
}

/// Returns the name of the struct member for a field, with an underscore after a Rust keyword:
/// `type_` for `type`. progenitor uses the same names.
pub fn member_name(field: &str) -> String {
    if is_identifier(field) { field.to_owned() } else { format!("{field}_") }
}

fn is_lowercase(name: &str) -> bool {
    name.chars().all(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Whether this can be the name of a type or a variant.
pub fn is_camel_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
        && is_identifier(name)
}

fn is_identifier(name: &str) -> bool {
    // `gen` is a keyword since the 2024 edition, but `syn` accepts it as an identifier.
    name != "gen" && syn::parse_str::<syn::Ident>(name).is_ok()
}
