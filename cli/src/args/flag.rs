//! Flag names and ids of the contract's fields, kept distinct from those of the program's own
//! options.

use std::collections::BTreeSet;

use clap::Command;

use super::options;

/// The flag of a field: `--input-image-2` sets `input_image_2`. If the program already has a flag
/// of that name, the field's flag is `--field-...`.
pub fn of_field(name: &str, taken: &BTreeSet<String>) -> String {
    let flag = name.replace('_', "-");
    if taken.contains(&flag) || taken.contains(name) { format!("field-{flag}") } else { flag }
}

/// The flags that commands share, and this command's own.
pub fn taken(command: &Command) -> BTreeSet<String> {
    let shared = options::of_program(Command::new("shared"));
    let own = command.get_arguments().chain(shared.get_arguments());
    own.filter_map(|arg| arg.get_long()).chain(["help", "version"]).map(str::to_owned).collect()
}

/// Whether this is the id of a field or a path parameter.
pub fn is_of_request(id: &str) -> bool {
    id.starts_with("field ") || id.starts_with("parameter ")
}

/// The id of a field among the matches. The prefix avoids conflicts with the program's own options.
pub fn field_id(name: &str) -> String {
    format!("field {name}")
}

/// The id of a path parameter among the matches.
pub fn parameter_id(name: &str) -> String {
    format!("parameter {name}")
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn a_field_never_replaces_one_of_the_programs_own_flags() {
        let taken = taken(&Command::new("x").arg(Arg::new("o").long("output")));
        assert_eq!(of_field("input_image_2", &taken), "input-image-2");
        for name in ["output", "json", "allow_polling_host", "help"] {
            assert_eq!(of_field(name, &taken), format!("field-{}", name.replace('_', "-")));
        }
    }
}
