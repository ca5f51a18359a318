//! The form in which each shell passes words and reads candidates, and invalid calls.

use super::complete;
use crate::bench::{Bench, Place};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

#[test]
fn each_shell_passes_words_in_its_own_way() {
    let place = Place::new();
    place.write("my fox.png", "");
    let flex = "\tText-to-image and editing with control\n";
    for (shell, words, expected) in [
        ("bash", &["kiln run gen-2-fl", "gen-2-fl"][..], "gen-2-flex\n"),
        ("bash", &["kiln edit x -m=gen-2-fl", "gen-2-fl"], "gen-2-flex\n"),
        ("bash", &["kiln edit x \"my", "my"], "my fox.png\n"),
        ("bash", &["kiln edit x my", "my"], "my\\ fox.png\n"),
        ("elvish", &["kiln", "run", "gen-2-fl"], &format!("gen-2-flex{flex}")),
        ("fish", &["kiln", "run", "gen-2-fl"], &format!("gen-2-flex{flex}")),
        ("fish", &["kiln", "edit", "x", "my\\ "], "my fox.png\n"),
        ("powershell", &["kiln", "run", "=gen-2-fl"], &format!("gen-2-flex{flex}")),
        (
            "powershell",
            &["kiln", "config", "completions", "="],
            "bash\nelvish\nfish\npowershell\nzsh\n",
        ),
        ("zsh", &["kiln", "'run'", "gen-2-fl"], &format!("gen-2-flex{}", flex.replace('\t', ":"))),
        ("zsh", &["kiln", "edit", "'a fox'", "my\\ "], "my fox.png\n"),
    ] {
        assert_eq!(complete(&place, shell, words).text(), expected, "{shell}: {words:?}");
    }
}

#[test]
fn a_script_runs_the_kiln_in_path() {
    let place = Place::new();
    for shell in SHELLS {
        let script = place.run(&["config", "completions", shell]).ok().text();
        assert!(script.contains(&format!("__complete {shell} ")), "{shell}");
        assert!(!script.contains(env!("CARGO_BIN_EXE_kiln")), "{shell}");
    }
    place.run("config completions tcsh").fails(2);
}

#[test]
fn nothing_is_printed_if_nothing_fits_or_something_is_damaged() {
    let place = Place::new();
    for words in [
        &["kiln", "run", "gen-9"][..],
        &["kiln", "task", "dismiss", "@"],
        &["kiln", "--profile", ""],
        &["kiln", "nonsense", "nonsense"],
        &[],
    ] {
        for shell in SHELLS.into_iter().filter(|shell| *shell != "bash") {
            let outcome = complete(&place, shell, words);
            assert_eq!((outcome.text(), outcome.stderr), Default::default(), "{shell}: {words:?}");
        }
    }
    let unknown = place.run("__complete tcsh kiln ''").fails(1);
    assert_eq!((unknown.text(), unknown.stderr), Default::default());

    place.configure("[profile.work\n");
    std::fs::create_dir_all(place.history()).unwrap();
    std::fs::write(place.history().join("1.json"), "damaged").unwrap();
    for words in [&["kiln", "--profile", ""][..], &["kiln", "task", "dismiss", "@"]] {
        let outcome = complete(&place, "zsh", words);
        assert_eq!((outcome.text(), outcome.stderr), Default::default(), "{words:?}");
    }
    // The flags are those of the default model.
    let offered = complete(&place, "zsh", &["kiln", "generate", "x", "--disable-p"]);
    assert!(offered.text().starts_with("--disable-pup:"), "{}", offered.text());
}

#[test]
fn completion_writes_nothing_and_sends_nothing_and_shows_no_secrets() {
    let bench = Bench::new();
    bench.run("task submit gen-2-pro --prompt 'a fox' --width 64 --height 64").ok();
    bench.place.run_with_stdin("config login", b"sk-stored\n").ok();
    let polling_url = std::fs::read_to_string(bench.place.history().join("open/1.json")).unwrap();
    assert!(polling_url.contains("polling_url"), "{polling_url}");
    let files = || {
        let folders = ["open", "closed", "processes"].map(|name| bench.place.history().join(name));
        let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let mut names: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        names.sort();
        names
    };
    let lock = std::fs::read_dir(bench.place.history().join("processes")).unwrap().next();
    std::fs::remove_file(lock.unwrap().unwrap().path()).unwrap();
    let (before, requests) = (files(), bench.simulator.requests().len());
    for words in [
        &["task", "save", ""][..],
        &["task", "status", "@"],
        &["task", "wait", "-"],
        &["task", "dismiss", ""],
        &["--profile", ""],
        &["generate", "x", "--webhook-secret", ""],
        &["config", ""],
    ] {
        let outcome = bench.run(&[&["__complete", "fish", "kiln"], words].concat()).ok();
        let text = outcome.text();
        for secret in [bench.simulator.api_key(), "sk-stored", "http://"] {
            assert!(!text.contains(secret), "{words:?}: {text}");
        }
    }
    assert_eq!((files(), bench.simulator.requests().len()), (before, requests));
}
