//! What people and assistants call the commands of `kiln`: the words of other programs.

/// Words, and the tip for each of them.
const MEANT: [(&[&str], &str); 18] = [
    (
        &["init", "configure", "auth", "signin", "sign-in", "start", "key", "apikey", "api-key"],
        "'kiln setup' stores the base URL and the key",
    ),
    (
        &[
            "image",
            "imagine",
            "create",
            "make",
            "new",
            "draw",
            "paint",
            "picture",
            "pic",
            "photo",
            "prompt",
            "txt2img",
            "text2img",
            "text-to-image",
            "t2i",
            "gen",
        ],
        "to make a picture from a prompt, use 'kiln generate PROMPT'",
    ),
    (
        &["img2img", "image-to-image", "i2i", "modify", "change", "transform", "vary", "remix"],
        "to change images, use 'kiln edit PROMPT IMAGE...'",
    ),
    (
        &["list", "ls", "log", "status", "tasks", "find", "search", "recent", "ps"],
        "'kiln history' lists the submissions and their states; 'kiln batch status' is about a \
         batch",
    ),
    (
        &["view", "info", "inspect", "cat", "display", "details", "describe"],
        "'kiln show @3' shows a picture of 'kiln history'",
    ),
    (
        &["browse", "album", "pictures", "photos", "compare", "favourites", "favorites"],
        "'kiln gallery' writes a page with all your pictures, to search and compare them",
    ),
    (
        &["retry", "repeat", "redo", "rerun", "regenerate", "reroll"],
        "'kiln again @3' makes a picture again, and pays for it again; 'kiln resume' continues \
         what is paid",
    ),
    (
        &["continue", "recover", "sync", "download", "fetch", "get", "wait", "poll", "save"],
        "'kiln resume' waits for every unfinished task and saves its picture; 'kiln task' is about \
         one task",
    ),
    (
        &["cancel", "stop", "abort", "kill"],
        "the service cancels no task: it is paid when it is submitted; 'kiln batch jobs cancel' \
         cancels jobs that are not",
    ),
    (
        &["delete", "remove", "rm", "del", "clean"],
        "pictures are files: delete them, or use 'kiln gallery --serve'; 'kiln task dismiss @3' \
         gives up an unfinished task",
    ),
    (
        &["price", "prices", "pricing", "cost", "costs"],
        "'--dry-run' shows the price of a request, if it is known, and sends nothing",
    ),
    (
        &["balance", "credits", "usage", "spending", "account", "billing"],
        "'kiln history' shows what each submission cost; the service has the balance",
    ),
    (&["model", "operations", "engines"], "'kiln models' lists the models"),
    (&["upscale", "enlarge", "uncrop"], "'kiln tool expand IMAGE' adds to the sides of an image"),
    (
        &["check", "test", "ping", "debug", "diagnose", "whoami", "verify"],
        "'kiln doctor' checks the settings, the connection and the key",
    ),
    (
        &["serve", "server", "mock", "simulator", "sandbox"],
        "'kiln simulate' runs a simulator of the service",
    ),
    (&["bulk", "jobs", "queue", "csv"], "'kiln batch run FILE' runs the jobs of a file"),
    (
        &["settings", "set", "preferences", "profile", "update", "upgrade"],
        "'kiln config' shows and changes the settings; kiln is updated as it was installed",
    ),
];

/// Those after `kiln batch`.
const MEANT_OF_BATCHES: [(&[&str], &str); 9] = [
    (&["pause", "hold", "stop"], "'kiln batch limits --pause' stops submissions"),
    (
        &["unpause", "resume", "continue", "start"],
        "'kiln batch limits --unpause' ends a pause; 'kiln batch run' continues the jobs of a \
         ledger",
    ),
    (
        &["limit", "budget", "price", "prices", "max-active", "cap", "rate"],
        "'kiln batch limits' has the options --budget, --price, --max-active and --rate",
    ),
    (&["retry", "redo", "again", "requeue"], "'kiln batch jobs retry' queues jobs again"),
    (&["cancel", "abort", "kill"], "'kiln batch jobs cancel' cancels jobs that are not submitted"),
    (&["priority", "prioritize"], "'kiln batch jobs priority' changes the order of jobs"),
    (
        &["forget", "archive", "delete", "remove", "rm", "clean", "prune"],
        "'kiln batch jobs forget' and 'kiln batch jobs archive' remove jobs from the ledger",
    ),
    (
        &["list", "ls", "show", "history", "log", "ps"],
        "'kiln batch status --all' lists the jobs of a ledger",
    ),
    (
        &["add", "submit", "queue", "generate"],
        "'kiln batch run' adds jobs and runs them; with --add-only, it only adds them",
    ),
];

/// The tip for a word that is no command. `command` is the first word of the command line.
pub fn tip(command: &str, word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let meant: &[(&[&str], _)] = match command {
        "batch" => &MEANT_OF_BATCHES,
        _ => &MEANT,
    };
    meant.iter().find(|(words, _)| words.contains(&&*word)).map(|(_, tip)| *tip)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{commands::grammar, models};

    #[test]
    fn each_word_has_one_meaning_and_is_no_command() {
        let model = models::find(models::DEFAULT).unwrap();
        let program = grammar(model, &|_| true);
        let batch = program.find_subcommand("batch").unwrap();
        for (command, meant) in [(&program, &MEANT[..]), (batch, &MEANT_OF_BATCHES)] {
            let words: Vec<_> = meant.iter().flat_map(|(words, _)| *words).collect();
            assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
            for command in command.get_subcommands() {
                let names = command.get_all_aliases().chain([command.get_name()]);
                names.for_each(|name| assert!(!words.contains(&&name), "{name} is a command"));
            }
        }
    }
}
