//! Values that come from this machine: submissions, profiles, files; and the names of models.

use super::{complete, models, offered, with_help};
use crate::bench::{Bench, Place};

#[test]
fn submissions_are_offered_by_number_with_what_became_of_them() {
    let bench = Bench::new();
    let small = ["--width", "64", "--height", "64"];
    let run = |words: &[&str]| bench.run(&[words, &small].concat()).ok();
    run(&["generate", "a blue cat"]);
    let submit = |prompt| run(&["task", "submit", "gen-2-pro", "--prompt", prompt]).json();
    submit("a red fox");
    let id = submit("an owl")["id"].as_str().unwrap().to_owned();
    bench.place.write("task.json", "");
    let place = &bench.place;

    let unfinished = "@last\tunfinished, gen-2-pro: an owl\n@3\tunfinished, gen-2-pro: an owl\n\
                      @2\tunfinished, gen-2-pro: a red fox\n";
    for action in ["save", "wait", "dismiss"] {
        assert_eq!(with_help(place, &["task", action, ""]), unfinished, "{action}");
    }
    let all = format!("{unfinished}@1\tsaved, gen-2-pro: a blue cat\n");
    assert_eq!(with_help(place, &["task", "status", ""]), all);
    // A picture can be saved again, but nobody dismisses it.
    assert_eq!(offered(place, &["task", "save", "@1"]), ["@1"]);
    assert!(offered(place, &["task", "dismiss", "@1"]).is_empty());
    assert_eq!(offered(place, &["task", "dismiss", "@2", "@l"]), ["@last"]);
    // Ids and files are offered once something is typed.
    assert_eq!(offered(place, &["task", "wait", &id[..4]]), [&*id]);
    assert_eq!(offered(place, &["task", "wait", "task."]), ["task.json"]);
    // A damaged file hides no other.
    std::fs::write(place.history().join("4.json"), "damaged").unwrap();
    assert_eq!(offered(place, &["task", "save", ""]), ["@last", "@3", "@2"]);
}

#[test]
fn profiles_are_those_with_settings_or_with_a_key() {
    let place = Place::new();
    place.configure("[profile.work]\noutput = \"pictures\"\n");
    place.run_with_stdin("config login --profile home", b"sk-home\n").ok();
    assert_eq!(offered(&place, &["--profile", ""]), ["home", "work"]);
    assert_eq!(offered(&place, &["generate", "x", "--profile=w"]), ["--profile=work"]);
}

#[test]
fn models_are_offered_by_name() {
    let place = Place::new();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let all = sorted(models().map(|model| model.name.to_owned()).collect());
    for words in [&["run", ""][..], &["models", ""], &["history", "-m", ""]] {
        assert_eq!(sorted(offered(&place, words)), all, "{words:?}");
    }
    for command in ["generate", "edit"] {
        let can = place.run(&["models", "--can", command, "--json"]).ok().json();
        let names = can.as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap());
        let fitting = sorted(names.map(str::to_owned).collect());
        assert!(fitting.len() < all.len() && fitting.contains(&"gen-2-pro".to_owned()));
        assert_eq!(sorted(offered(&place, &[command, "x", "-m", ""])), fitting, "{command}");
    }
    assert_eq!(
        with_help(&place, &["run", "{"]),
        "{base_model}-finetuned\tManaged LoRA inference (public beta)\n"
    );
    let fill = ["gen-pro-1.0-fill", "gen-pro-1.0-fill-finetuned"];
    assert_eq!(sorted(offered(&place, &["tool", "inpaint", "x", "b.png", "--model", ""])), fill);
    let second = ["batch", "run", "--model", "gen-dev,gen-2-fl"];
    assert_eq!(offered(&place, &second), ["gen-dev,gen-2-flex"]);
    let can = offered(&place, &["models", "--can", ""]);
    assert!(can.contains(&"edit".to_owned()) && can.contains(&"try-on".to_owned()), "{can:?}");
}

#[test]
fn settings_are_offered_with_their_values() {
    let place = Place::new();
    let names = offered(&place, &["config", "set", ""]);
    assert!(names.contains(&"ask_above".to_owned()) && !names.contains(&"api_key".to_owned()));
    assert_eq!(names, offered(&place, &["config", "unset", ""]));
    assert_eq!(offered(&place, &["config", "set", "describe", ""]), ["true", "false"]);
    assert_eq!(offered(&place, &["config", "set", "model", "gen-2-f"]), ["gen-2-flex"]);
    assert_eq!(offered(&place, &["config", "set", "prices", "gen-2-f"]), ["gen-2-flex="]);
    let flags = offered(&place, &["config", "set", "size", ""]);
    assert!(flags.iter().all(|flag| flag.starts_with('-')), "{flags:?}");
}

#[test]
fn pictures_of_the_history_are_offered_as_images() {
    let bench = Bench::new();
    bench.run("generate 'a fox' -s 64x64 -o fox.png").ok();
    for words in [
        &["edit", "x", "@"][..],
        &["tool", "inpaint", "x", "fox.png", "--mask", "@"],
        &["tool", "deblur", "@"],
        &["run", "gen-2-pro", "--input-image", "@"],
    ] {
        assert_eq!(offered(&bench.place, words), ["@last", "@1"], "{words:?}");
    }
    assert_eq!(offered(&bench.place, &["edit", "x", "fo"]), ["fox.png"]);
}

#[test]
fn the_jobs_of_a_ledger_are_offered() {
    let bench = Bench::new();
    let line = |name: &str, group: &str| {
        format!("{{\"name\":\"{name}\",\"group\":\"{group}\",\"prompt\":\"a fox\"}}\n")
    };
    bench.place.write("jobs.jsonl", line("red", "anna") + &line("blue", "ben"));
    bench.run("batch run jobs.jsonl -o pictures --add-only").ok();
    let place = &bench.place;
    let ledger = ["--ledger", "pictures"];
    let of = |words: &[&str], last: &str| offered(place, &[words, &ledger, &[last]].concat());
    assert_eq!(of(&["batch", "jobs", "cancel"], ""), ["blue", "red"]);
    assert_eq!(of(&["batch", "resolve", "--paid"], "r"), ["red"]);
    assert_eq!(offered(place, &["batch", "advance", "-o", "pictures", ""]), ["blue", "red"]);
    for words in
        [&["batch", "limits", "--pause"][..], &["batch", "jobs", "retry"], &["batch", "status"]]
    {
        let words = [words, &ledger, &["--group", ""]].concat();
        assert_eq!(offered(place, &words), ["anna", "ben"], "{words:?}");
    }
    assert_eq!(offered(place, &["batch", "limits", "--price", "gen-2-f"]), ["gen-2-flex="]);
    let flags = offered(place, &["batch", "jobs", "cancel", ""]);
    assert!(flags.iter().all(|flag| flag.starts_with('-')), "no ledger is here: {flags:?}");
    assert_eq!(bench.simulator.counts().accepted, 0);
}

#[test]
fn files_are_offered_where_a_path_is_expected() {
    let place = Place::new();
    place.write("notes.txt", "");
    std::fs::create_dir(place.path("night")).unwrap();
    let both = ["night/", "notes.txt"];
    for words in [
        &["edit", "x", "n"][..],
        &["tool", "erase", "n"],
        &["tool", "erase", "a.png", "--mask", "n"],
        &["tool", "video", "x", "a.png", "n"],
        &["generate", "x", "-o", "n"],
        &["batch", "run", "n"],
        &["webhook", "verify", "n"],
    ] {
        let mut found = offered(&place, words);
        found.sort();
        assert_eq!(found, both, "{words:?}");
    }
    assert_eq!(offered(&place, &["config", "man", "n"]), ["night/"]);
    assert_eq!(offered(&place, &["generate", "@no"]), ["@notes.txt"]);
    assert!(offered(&place, &["generate", "no"]).is_empty());
    assert!(offered(&place, &["generate", "@@no"]).is_empty());
    let extra = ["generate", "x", "--extra-image", "mask=no"];
    assert_eq!(offered(&place, &extra), ["mask=notes.txt"]);
}

/// The shell would read such a name as two candidates, or the terminal as a command.
#[cfg(unix)]
#[test]
fn a_name_with_control_characters_is_not_offered() {
    let place = Place::new();
    place.write("a\nb.png", "");
    place.write("a\u{1b}[2J.png", "");
    place.write("a.png", "");
    for shell in ["bash", "zsh"] {
        let words = match shell {
            "bash" => &["kiln edit x a", "a"][..],
            _ => &["kiln", "edit", "x", "a"],
        };
        assert_eq!(complete(&place, shell, words).text(), "a.png\n");
    }
}
