//! Suggestions for misspelled names.

/// The candidate that takes the fewest edits to get from `name`.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| strsim::osa_distance(name, candidate))
}

/// The same, unless more than a third of the characters differ.
pub(crate) fn similar<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let longest = |candidate: &str| name.chars().count().max(candidate.chars().count());
    nearest(name, candidates)
        .filter(|candidate| strsim::osa_distance(name, candidate) * 3 <= longest(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["aspect_ratio", "seed", "prompt"];
        for (name, suggested) in [
            ("aspect_ration", Some("aspect_ratio")),
            ("aspectRatio", Some("aspect_ratio")),
            ("promt", Some("prompt")),
            ("sede", Some("seed")),
            ("width", None),
        ] {
            assert_eq!(similar(name, names), suggested, "{name}");
        }
        assert_eq!(nearest("promotion", names), Some("prompt"));
        assert_eq!(nearest("x", []), None);
    }
}
