//! What is typed: the hidden input of `kiln config login`, standard input with `-`, and what is
//! typed in an editor.

use std::fs;

use crate::{
    bench::Place,
    terminal::{Setup, Terminal},
};

#[test]
fn a_typed_key_is_not_shown() {
    let place = Place::new();
    let mut terminal = Terminal::start(place.kiln("config login --profile work"));
    terminal.until("API key of profile `work`:");
    terminal.press("sk-typed\r");
    terminal.end().ok();
    let stored = format!(
        "API key of profile `work`:\nstored the API key of profile `work` in {}",
        place.config("keys/work.key").display()
    );
    assert_eq!(terminal.text(), stored);
    assert!(!terminal.raw().contains("sk-"), "{}", terminal.raw());
    assert_eq!(fs::read_to_string(place.config("keys/work.key")).unwrap(), "sk-typed\n");
}

#[test]
fn a_prompt_and_jobs_can_be_typed() {
    let place = Place::new();
    let small = ["--size", "64x64", "-q", "--simulate", "-o", "fox.png"];
    let words = [&["generate", "-"], &small[..]].concat();
    let mut terminal = Terminal::start(place.kiln(&words));
    terminal.until("type the prompt, and then Ctrl-D on an empty line");
    terminal.press("a fox\r\x04");
    terminal.end().ok();
    assert!(place.files().contains(&"fox.png".to_owned()));

    let jobs = ["batch", "run", "-", "--format", "text", "-o", "foxes", "--dry-run"];
    let mut terminal = Terminal::start(place.kiln(&jobs));
    terminal.until("waiting for jobs on standard input; Ctrl-D ends them");
    terminal.press("a fox\r\x04");
    terminal.end().ok();
    assert!(terminal.text().contains("1 job from stdin"), "{}", terminal.text());
}

#[test]
fn images_and_tasks_are_not_typed() {
    let place = Place::new();
    for (words, what) in
        [(&["edit", "a hat", "-"][..], "an image"), (&["task", "save", "-"], "a task")]
    {
        let mut terminal = Terminal::start(place.kiln(words));
        let problem = format!("could not read {what} from standard input: it is a terminal");
        terminal.until(&problem);
        terminal.end().fails(2);
    }
}

#[test]
fn ctrl_c_at_a_hidden_input_shows_typed_text_again() {
    let place = Place::new();
    let mut terminal = Terminal::start(place.kiln("config login"));
    terminal.until("API key of profile `default`:");
    assert!(!terminal.echoes());
    terminal.press("sk-ty");
    terminal.interrupt();
    terminal.end().fails(130);
    assert!(terminal.echoes());
    let shown = "API key of profile `default`:\nerror: interrupted\nadvice: nothing was changed";
    assert_eq!(terminal.text(), shown);
    assert!(!place.config("keys").exists());
}

#[test]
fn an_editor_opens_the_file_which_is_checked_afterwards() {
    let place = Place::new();
    place.write("editor", "echo \"$1 = '$2'\" > \"$3\"; exit ${CODE:-0}");
    let edit = |editor: &str, code: &str, expected: i32| {
        let mut command = place.kiln("config edit");
        command.env("VISUAL", editor).env("EDITOR", "false").env("CODE", code);
        let setup = Setup { columns: 200, ..Setup::default() };
        let mut terminal = Terminal::start_with(command, setup);
        terminal.end().fails(expected);
        terminal.text()
    };
    let file = || fs::read_to_string(place.config("config.toml")).unwrap();
    edit("sh editor size 64x64", "0", 0);
    assert_eq!(file(), "size = '64x64'\n");
    let wrong = edit("sh editor size large", "0", 2);
    assert!(wrong.contains("line 1: invalid `size`"), "{wrong}");
    assert_eq!(file(), "size = 'large'\n");
    let wrong = edit("sh editor base_url x", "0", 2);
    assert!(wrong.contains("the base URL is not a URL"), "{wrong}");
    assert!(wrong.contains("(`base_url` in "), "{wrong}");
    let failed = edit("sh editor size 64x64", "3", 1);
    assert!(failed.contains("could not run the editor `sh editor size 64x64`"), "{failed}");
    assert!(edit("nowhere-17", "0", 1).contains("set VISUAL or EDITOR"));
}
