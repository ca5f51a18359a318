//! The hidden input of `kiln login`.

use std::fs;

use crate::{bench::Place, terminal::Terminal};

#[test]
fn a_typed_key_is_not_shown() {
    let place = Place::new();
    let mut terminal = Terminal::start(place.kiln(&["login", "--profile", "work"]));
    terminal.until("API key of profile `work`:");
    while terminal.echoes() {
        std::thread::yield_now();
    }
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
