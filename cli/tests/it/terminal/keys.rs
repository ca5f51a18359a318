//! The hidden input of `kiln login`.

use std::fs;

use crate::{bench::Place, terminal::Terminal};

#[test]
fn a_typed_key_is_not_shown() {
    let place = Place::new();
    let mut terminal = Terminal::start(place.kiln(&["login", "--profile", "work"]));
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
fn ctrl_c_at_a_hidden_input_shows_typed_text_again() {
    let place = Place::new();
    let mut terminal = Terminal::start(place.kiln(&["login"]));
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
