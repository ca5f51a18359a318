//! The output of `--help` and `models`. It follows the contract, so the snapshots change with it.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::{assert_shown, bench::Place, options};
use imagekiln::{FieldKind, Operation, Region, operations};

/// The chapter of the book: the exit codes, the help of the program and of each command, and the
/// fields of the models.
#[test]
fn the_reference_has_the_options_and_the_fields() {
    let place = Place::new();
    let codes = place.run("exit-codes").ok().text();
    let explained = place.run("exit-codes --help").ok().text();
    let (_, explained) = explained.split_once("\n\nRETRY ").unwrap();
    let page = [
        "# Reference of kiln\n\nWhat the program prints. `kiln help config` has the settings.\n"
            .to_owned(),
        format!("\n## Exit codes\n{}", block(&format!("{codes}\nRETRY {explained}"))),
        of_commands(&HELPS),
        of_fields(),
    ];
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("reference", page.concat());
    });
}

fn block(text: &str) -> String {
    format!("\n```text\n{}\n```\n", text.trim_end())
}

/// The help of the program and of each command. What several have is shown once.
fn of_commands(helps: &[(String, String)]) -> String {
    let mut commands: BTreeMap<&str, usize> = BTreeMap::new();
    let options = || helps.iter().flat_map(|(_, help)| parts(help)).filter(|part| is_option(part));
    options().for_each(|option| *commands.entry(option).or_default() += 1);
    let is_common = |part: &str| commands.get(part).is_some_and(|count| *count > 1);
    let mut common: Vec<&str> = Vec::new();
    for option in options().filter(|option| is_common(option)) {
        if !common.contains(&option) {
            common.push(option);
        }
    }
    let mut page = String::from(
        "\n## Options of several commands\n\nBelow, each command says which of these it has. Every \
         command has `--json`, `--quiet`,\n`--verbose` and `--profile`.\n",
    );
    page += &block(&common.join("\n\n"));
    page += "\n## Commands\n";
    for (name, help) in helps {
        let help = without_models(help);
        let (also, own): (Vec<&str>, Vec<&str>) = parts(&help).partition(|part| is_common(part));
        let heading = format!("kiln {name}");
        page += &format!("\n### {}\n{}", heading.trim_end(), block(&own.join("\n\n")));
        // Every command but the program itself has the global options.
        let of_few = also.iter().filter(|option| commands[**option] < helps.len() - 1);
        let flags = of_few.filter_map(|option| {
            option.split_whitespace().find(|word| word.starts_with("--") && *word != "--help")
        });
        let flags: Vec<_> = flags.map(|flag| format!("`{}`", flag.replace("...", ""))).collect();
        if !flags.is_empty() {
            page += &format!("\nAlso: {}.\n", flags.join(", "));
        }
    }
    page
}

/// The table of the fields of all models.
fn of_fields() -> String {
    let mut page = "\n## Fields\n\n| field | limits | models |\n|---|---|---|\n".to_owned();
    let mut fields: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for model in submissions() {
        for field in model.fields {
            fields.entry((field.name, field.limits_text)).or_default().push(model.name);
        }
    }
    let all = submissions().count();
    for ((name, limits), models) in fields {
        let models = if models.len() == all { "all".to_owned() } else { models.join(", ") };
        page += &format!("| `{name}` | {} | {models} |\n", limits.replace('|', "\\|"));
    }
    page
}

/// The help of the program, whose name is empty, and of each listed command.
pub static HELPS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let place = Place::new();
    let mut names = vec![String::new()];
    let mut helps = Vec::new();
    while let Some(name) = names.pop() {
        let words: Vec<_> = name.split_whitespace().chain(["--help"]).collect();
        let help = place.run(&words).ok().text();
        let inner = subcommands(&help).map(|inner| format!("{name} {inner}").trim().to_owned());
        // The last one is taken first.
        names.extend(inner.collect::<Vec<_>>().into_iter().rev());
        helps.push((name, help));
    }
    helps
});

/// The names of the commands that do not only print their help.
pub fn commands() -> impl Iterator<Item = &'static str> {
    let is_group = |help: &str| {
        let usage = help.lines().find(|line| line.starts_with("Usage:"));
        usage.is_none_or(|usage| usage.ends_with(" <COMMAND>") || usage.ends_with(" <TOOL>"))
    };
    HELPS.iter().filter(move |(_, help)| !is_group(help)).map(|(name, _)| name.as_str())
}

/// The names in the list of commands, which is in groups in the help of the program.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    const GROUP: usize = "Follow up  ".len();
    let headings =
        [("\nCommands:\n", 2), ("\nTools:\n", 2), ("image generation service\n\n", GROUP)];
    let list = headings.iter().find_map(|(heading, at)| Some((help.split_once(heading)?.1, *at)));
    let (list, at) = list.unwrap_or_default();
    let lines = list.split("\n\n").next().into_iter().flat_map(str::lines);
    // The lines of a long summary are indented more.
    let names = lines.filter_map(move |line| line.get(at..)?.split(' ').next());
    names.filter(|name| !name.is_empty())
}

/// The paragraphs of a help, without those about the fields of a model.
fn parts(help: &str) -> impl Iterator<Item = &str> {
    let mut is_field = false;
    help.split("\n\n").filter_map(move |part| {
        let (heading, option) = part.split_once('\n').unwrap_or((part, ""));
        if !part.starts_with(' ') {
            is_field = ["Fields:", "Other fields:", "Path:"].contains(&heading);
        }
        // The heading of a list of options is in the way of a comparison.
        let has_heading = ["Options:", "Global options:"].contains(&heading);
        (!is_field).then_some(if has_heading { option } else { part }.trim_end())
    })
}

fn is_option(part: &str) -> bool {
    part.trim_start().starts_with('-')
}

fn without_shared_options(help: &str) -> String {
    let is_own = |part: &&str| {
        let shared = options::OPTIONS.map(|option| option[0]);
        let first = part.split_whitespace().next().unwrap_or_default();
        !shared.contains(&first) && !["-q,", "-v,", "--profile", "Global"].contains(&first)
    };
    help.split("\n\n").filter(is_own).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn the_short_help_has_the_common_flags_and_two_examples() {
    let place = Place::new();
    let commands: [&[&str]; 9] = [
        &[],
        &["generate"],
        &["edit"],
        &["tool", "inpaint"],
        &["tool", "try-on"],
        &["run"],
        &["task", "submit"],
        &["run", "gen-2-pro"],
        &["run", "gen-tools/erase-v1"],
    ];
    let mut texts = Vec::new();
    for words in commands {
        let short = place.run(&[words, &["-h"]].concat()).ok().text();
        let long = place.run(&[words, &["--help"]].concat()).ok().text();
        assert!(short.len() < long.len() || words.is_empty(), "{words:?}");
        let has_examples = !words.is_empty()
            && !words.contains(&"gen-2-pro")
            && !words.contains(&"gen-tools/erase-v1");
        if has_examples {
            assert_eq!(short.matches("\n  kiln ").count(), 2, "{short}");
        }
        texts.push(format!("$ kiln {} -h\n{}", words.join(" "), without_models(&short)));
    }
    assert_shown!("short_help", texts.join("\n"));
}

#[test]
fn help_and_version_are_commands() {
    let place = Place::new();
    let text = |words: &[&str]| place.run(words).ok().text();
    assert_eq!(text(&["help"]), text(&["--help"]));
    assert_eq!(text(&["help", "edit"]), text(&["edit", "--help"]));
    assert_eq!(text(&["help", "run", "gen-dev"]), text(&["run", "gen-dev", "--help"]));
    assert_eq!(text(&["version"]), text(&["--version"]));
    place.run("help nothing").fails(2);
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    place.run("config man pages/man1").ok();
    let page = |name: &str| String::from_utf8(place.read(&format!("pages/man1/{name}.1"))).unwrap();
    assert!(page("kiln").contains("kiln\\-generate(1)"));
    assert!(page("kiln-generate").contains("\\-\\-safety\\-tolerance"));
    for command in ["kiln-task-save", "kiln-batch-run", "kiln-webhook-verify"] {
        page(command);
    }
    for model in submissions() {
        let is_plain = !model.name.contains(['/', '{']);
        page(&format!("kiln-run-{}", if is_plain { model.name } else { model.id }));
    }
    place.write("file", "");
    place.run("config man file").fails(1).says("could not write the manual pages");
}

/// Replaces the list of all models, which the snapshot of the command `models` has.
fn without_models(help: &str) -> String {
    let Some((before, list)) = help.split_once("\nModels:\n") else { return help.to_owned() };
    let (list, after) = list.split_once("\n\n").unwrap();
    // The lines of a long summary are indented more.
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    assert_eq!(names, submissions().map(|model| model.name).collect::<Vec<_>>());
    format!("{before}\nModels:\n  [every model]\n\n{after}")
}

fn submissions() -> impl Iterator<Item = &'static Operation> {
    operations().iter().filter(|operation| operation.submits)
}

#[test]
fn a_few_models() {
    let place = Place::new();
    let models = [
        "gen-2-pro",
        "gen-2-klein-4b",
        "gen-pro-1.1-ultra-finetuned",
        "gen-tools/erase-v1",
        "{base_model}-finetuned",
    ];
    for model in models {
        let name = model.replace(['/', '{', '}'], "-");
        let help = place.run(&["run", model, "--help"]).ok().text();
        assert_shown!(format!("help_run_{name}"), without_shared_options(&help));
    }
}

#[test]
fn the_chosen_model_decides_the_flags() {
    let place = Place::new();
    let help = |arguments: &[&str]| place.run(arguments).ok().text();
    assert!(!help(&["generate", "--help"]).contains("--guidance"));
    assert!(help(&["generate", "--model", "gen-2-flex", "--help"]).contains("--guidance"));
    assert!(help(&["edit", "--help", "--model=gen_2_flex"]).contains("--guidance"));
    assert!(!help(&["tool", "inpaint", "--help"]).contains("--finetune-id"));
    let finetuned = ["tool", "inpaint", "-m", "gen-pro-1.0-fill-finetuned", "--help"];
    assert!(help(&finetuned).contains("--finetune-id"));
}

#[test]
fn the_help_of_every_model_lists_every_field_with_its_limits() {
    let place = Place::new();
    for model in submissions() {
        let help = place.run(&["run", model.name, "--help"]).ok().text();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for field in model.fields {
            let flag = format!("--{}", field.name.replace('_', "-"));
            // Numbered image fields are in the line of the first one.
            let first =
                field.name.rsplit_once('_').filter(|(_, number)| number.parse::<u32>().is_ok());
            if first.is_some_and(|(first, _)| model.field(first).is_some()) {
                assert!(!help.contains(&format!("{flag} <IMAGE>")), "{model}: {flag}");
                assert!(help.contains(" are more of them."), "{model}: {flag}");
                continue;
            }
            let (_, shown) = help
                .split_once(&format!("{flag} "))
                .or(help.split_once(&format!("{flag}[")))
                .unwrap_or_else(|| panic!("{model}: {flag}"));
            let text =
                format!("{}{}", field.description, if field.required { " [required]" } else { "" });
            assert!(shown.contains(&text), "{model} {flag}: {text}");
            assert!(shown.contains(field.limits_text), "{model} {flag}: {}", field.limits_text);
            assert!(
                field.kind != FieldKind::Boolean || shown.starts_with("=<true|false>]"),
                "{model} {flag}"
            );
        }
        for what in model.not_shown {
            assert!(help.contains(what), "{model}: {what}");
        }
        assert_eq!(help.contains("This model is deprecated"), model.deprecated, "{model}");
        assert_eq!(
            help.contains("It uses the regional base URL"),
            model.region == Region::Regional,
            "{model}"
        );
    }
}
