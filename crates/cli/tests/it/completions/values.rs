//! Values that come from this machine: submissions, profiles, files; and the names of models.

use super::{complete, models, offered, with_help};
use crate::bench::{Bench, Place};

#[test]
fn submissions_are_offered_by_number_with_what_became_of_them() {
    let bench = Bench::new();
    let small = ["--width", "64", "--height", "64"];
    let run = |words: &[&str]| bench.run(&[words, &small].concat()).ok();
    run(&["generate", "a blue cat"]);
    let submit = |prompt| run(&["submit", "gen-2-pro", "--prompt", prompt]).json();
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
    place.run_with_stdin(&["login", "--profile", "home"], b"sk-home\n").ok();
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
    for words in [&["run", ""][..], &["generate", "x", "-m", ""], &["models", ""]] {
        assert_eq!(sorted(offered(&place, words)), all, "{words:?}");
    }
    assert_eq!(
        with_help(&place, &["run", "{"]),
        "{base_model}-finetuned\tManaged LoRA inference (public beta)\n"
    );
    let fill = ["gen-pro-1.0-fill", "gen-pro-1.0-fill-finetuned"];
    assert_eq!(sorted(offered(&place, &["inpaint", "x", "b.png", "--model", ""])), fill);
    let second = ["batch", "run", "--model", "gen-dev,gen-2-fl"];
    assert_eq!(offered(&place, &second), ["gen-dev,gen-2-flex"]);
    let can = offered(&place, &["models", "--can", ""]);
    assert!(can.contains(&"edit".to_owned()) && can.contains(&"try-on".to_owned()), "{can:?}");
}

#[test]
fn files_are_offered_where_a_path_is_expected() {
    let place = Place::new();
    place.write("notes.txt", "");
    std::fs::create_dir(place.path("night")).unwrap();
    let both = ["night/", "notes.txt"];
    for words in [
        &["edit", "x", "n"][..],
        &["erase", "n"],
        &["erase", "a.png", "--mask", "n"],
        &["video", "x", "a.png", "n"],
        &["generate", "x", "-o", "n"],
        &["batch", "run", "n"],
        &["webhook", "verify", "n"],
    ] {
        let mut found = offered(&place, words);
        found.sort();
        assert_eq!(found, both, "{words:?}");
    }
    assert_eq!(offered(&place, &["man", "n"]), ["night/"]);
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
