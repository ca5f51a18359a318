//! Help that fits the terminal.

use crate::{
    bench::Place,
    terminal::{Setup, Terminal},
};

#[test]
fn help_is_wrapped_at_the_width_of_the_terminal() {
    let place = Place::new();
    for columns in [60, 100] {
        let setup = Setup { columns, ..Setup::default() };
        let mut terminal = Terminal::start_with(place.kiln("run gen-2-pro --help"), setup);
        terminal.end().ok();
        assert_eq!(terminal.text(), terminal.screen(), "the terminal wraps no line");
        let widest = terminal.screen().lines().map(|line| line.chars().count()).max().unwrap();
        assert!((usize::from(columns) - 12..=columns.into()).contains(&widest), "{widest}");
    }
}
