//! The names of flags: those of the contract's fields, kept apart from the program's own.

use std::collections::BTreeSet;

use clap::{Args, Command};

use super::globals::Globals;

/// The flag of a field: `input_image_2` is set with `--input-image-2`. Where a flag of the program
/// has that name, it is `--field-...`.
pub fn of_field(name: &str, taken: &BTreeSet<String>) -> String {
    let flag = name.replace('_', "-");
    match taken.contains(&flag) || taken.contains(name) {
        true => format!("field-{flag}"),
        false => flag,
    }
}

/// The flags of every command, and those that the program has itself on this one.
pub fn taken(command: &Command) -> BTreeSet<String> {
    let globals = Globals::augment_args(Command::new("globals"));
    let own = command.get_arguments().chain(globals.get_arguments());
    own.filter_map(|arg| arg.get_long()).chain(["help", "version"]).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn a_field_never_takes_the_place_of_the_programs_own_flag() {
        let taken = taken(&Command::new("x").arg(Arg::new("o").long("output")));
        assert_eq!(of_field("input_image_2", &taken), "input-image-2");
        for name in ["output", "json", "allow_polling_host", "help"] {
            assert_eq!(of_field(name, &taken), format!("field-{}", name.replace('_', "-")));
        }
    }
}
