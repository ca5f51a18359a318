//! Tips for words that are not commands of `kiln`, but that people and assistants try because other
//! programs have such commands.

use clap::Command;

/// Words that are tried as commands of the program, and the tip about them.
const OF_PROGRAM: [(&str, &str); 23] = [
    (
        "init configure auth signin sign-in start key apikey api-key token register signup",
        "'kiln setup' stores the base URL and the key",
    ),
    ("signout sign-out", "'kiln config logout' deletes the stored key"),
    (
        "image images imagine create make new draw paint picture pic photo prompt gen txt2img \
         text2img text-to-image t2i render produce",
        PROMPT,
    ),
    ("img2img image-to-image i2i modify change transform remix inpainting", EDIT),
    ("list ls log logs status tasks find search recent ps top pending", HISTORY),
    (
        "vary variation variations grid",
        "'kiln again @3 --vary guidance=3,5,7' makes a picture again with other values",
    ),
    (
        "view info inspect cat display details describe preview",
        "'kiln show @3' shows a picture of 'kiln history'",
    ),
    ("open browse xdg-open", "'kiln show @3 --open' opens a picture"),
    (
        "album pictures photos compare favourites favorites",
        "'kiln gallery' writes a page with all your pictures, to search and compare them",
    ),
    (
        "retry repeat redo rerun regenerate reroll",
        "'kiln again @3' makes a picture again, and pays for it again; 'kiln resume' continues \
         what is paid",
    ),
    ("continue recover sync download fetch get poll pull", RESUME),
    (
        "cancel stop abort kill undo refund",
        "the service cancels no task: it is paid when it is submitted; 'kiln batch jobs cancel' \
         cancels jobs that are not",
    ),
    (
        "delete remove rm del clean clear prune",
        "pictures are files: delete them, or use 'kiln gallery --serve'; 'kiln task dismiss @3' \
         gives up an unfinished task",
    ),
    (
        "price prices pricing cost costs estimate",
        "'--dry-run' shows the price of a request, if it is known, and sends nothing",
    ),
    (
        "balance credits usage account billing quota",
        "'kiln spending' shows what your submissions have cost; the service has the balance",
    ),
    ("model operations engines", "'kiln models' lists the models"),
    ("upscale enlarge uncrop extend", "'kiln tool expand IMAGE' adds to the sides of an image"),
    ("sharpen enhance", "'kiln tool deblur IMAGE' sharpens an image"),
    (
        "check test ping debug diagnose whoami verify me",
        "'kiln doctor' checks the settings, the connection and the key",
    ),
    ("serve server mock simulator sandbox", "'kiln simulate' runs a simulator of the service"),
    ("bulk queue csv many", "'kiln batch run FILE' runs the jobs of a file"),
    (
        "settings set preferences profile update upgrade",
        "'kiln config' shows and changes the settings; kiln is updated as it was installed",
    ),
    (
        "help-me usage-help commands docs manual examples tutorial",
        "'kiln --help' lists the commands, with examples",
    ),
];

/// Words that are tried after `kiln batch`.
const OF_BATCH: [(&str, &str); 8] = [
    (
        "spending cost costs credits",
        "'kiln spending --ledger PLACE' shows what the submissions of a ledger have cost",
    ),
    ("pause hold stop", "'kiln batch limits --pause' stops submissions"),
    (
        "unpause resume continue start",
        "'kiln batch limits --unpause' ends a pause; 'kiln batch run' continues the jobs of a \
         ledger",
    ),
    (
        "limit budget price prices max-active cap rate",
        "'kiln batch limits' has the options --budget, --price, --max-active and --rate",
    ),
    ("redo again requeue", "'kiln batch jobs retry' queues jobs again"),
    (
        "delete remove rm clean prune",
        "'kiln batch jobs forget' and 'kiln batch jobs archive' remove jobs from the ledger",
    ),
    ("list ls show history log ps", "'kiln batch status --all' lists the jobs of a ledger"),
    (
        "add submit queue generate",
        "'kiln batch run' adds jobs and runs them; with --add-only, it only adds them",
    ),
];

/// Words that are tried after `kiln config`.
const OF_CONFIG: [(&str, &str); 2] = [
    ("show view print ls", "'kiln config' lists the settings"),
    ("key api-key apikey auth token", "'kiln config login' stores the key"),
];

const PROMPT: &str = "to make a picture from a prompt, use 'kiln generate PROMPT'";
const EDIT: &str = "to change images, use 'kiln edit PROMPT IMAGE...'";
const HISTORY: &str = "'kiln history' lists the submissions and their states; 'kiln batch status' \
                       is about a batch";
const RESUME: &str = "'kiln resume' waits for every unfinished task and saves its picture; 'kiln \
                      task' is about one task";

/// Returns the tip for a word that is not a command. `command` is the first word of the command
/// line. `program` is the whole grammar, in which the word may be a subcommand of another command.
pub fn tip(program: &Command, command: &str, word: &str) -> Option<String> {
    if !word.is_ascii() || word.contains(char::is_whitespace) {
        return Some(PROMPT.to_owned());
    }
    let word = word.to_lowercase();
    let group = program.find_subcommand(command);
    let meant: &[(&str, &str)] = match command {
        "batch" => &OF_BATCH,
        "config" => &OF_CONFIG,
        _ => &OF_PROGRAM,
    };
    let own = meant.iter().find(|(words, _)| words.split(' ').any(|other| other == word));
    let own = own.map(|(_, tip)| (*tip).to_owned());
    own.or_else(|| {
        let found = paths(
            group.unwrap_or(program),
            group.map_or("kiln".into(), |group| format!("kiln {}", group.get_name())),
            &word,
        );
        let found: Vec<_> = found.iter().map(|path| format!("'{path}'")).collect();
        (!found.is_empty()).then(|| format!("the command is {}", found.join(" or ")))
    })
}

/// Returns the command lines below a command that end with a word. The caller has checked that the
/// word is not the name of a model, which is a subcommand of `kiln run`, too.
fn paths(command: &Command, path: String, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for inner in command.get_subcommands() {
        let path = format!("{path} {}", inner.get_name());
        if inner.get_name() == word {
            found.push(path.clone());
        }
        found.extend(paths(inner, path, word));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{commands::grammar, models};

    #[test]
    fn each_word_has_one_meaning_and_is_no_command() {
        let program = grammar(models::default(), &|_| true);
        let mut seen = HashSet::new();
        let tables = [("", &OF_PROGRAM[..]), ("batch", &OF_BATCH), ("config", &OF_CONFIG)];
        for (command, meant) in tables {
            let group = program.find_subcommand(command).unwrap_or(&program);
            for word in meant.iter().flat_map(|(words, _)| words.split(' ')) {
                assert!(seen.insert((command, word)), "{word}");
                assert!(group.find_subcommand(word).is_none(), "{word} is a command");
            }
        }
    }
}
