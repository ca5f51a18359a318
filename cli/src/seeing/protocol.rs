//! The protocol with which a terminal shows pictures, by the variables that it sets.

/// A way to show a picture, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Kitty,
    Iterm2,
    /// Half blocks of these colours.
    Blocks(Colours),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// 24 bits for each pixel.
    True,
    /// The palette of 256 colours that most terminals share.
    Palette,
}

/// Values of `TERM_PROGRAM` of terminals with the protocol of iTerm2.
const LIKE_ITERM2: [&str; 3] = ["iTerm.app", "WezTerm", "mintty"];

/// Finds the best protocol. `variable` returns variables of the environment. `None` if the terminal
/// can't show pictures.
pub fn detect(variable: impl Fn(&str) -> String) -> Option<Protocol> {
    let is_set = |name| !variable(name).is_empty();
    let (term, program) = (variable("TERM"), variable("TERM_PROGRAM"));
    if term == "dumb" || (term.is_empty() && cfg!(unix)) {
        return None;
    }
    let is_true = ["truecolor", "24bit"].contains(&&*variable("COLORTERM")) || cfg!(windows);
    let blocks = Protocol::Blocks(if is_true { Colours::True } else { Colours::Palette });
    // A multiplexer inherits the variables of its terminal, but does not pass on its protocols.
    let is_nested = ["TMUX", "STY", "ZELLIJ"].into_iter().any(is_set)
        || ["tmux", "screen"].iter().any(|name| term.starts_with(name));
    if !is_nested {
        let is_kitty = ["kitty", "ghostty"].iter().any(|name| term.contains(name));
        if is_kitty || is_set("KITTY_WINDOW_ID") {
            return Some(Protocol::Kitty);
        }
        if LIKE_ITERM2.contains(&&*program) || variable("LC_TERMINAL") == "iTerm2" {
            return Some(Protocol::Iterm2);
        }
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: Protocol = Protocol::Blocks(Colours::Palette);

    fn of(variables: &[(&str, &str)]) -> Option<Protocol> {
        detect(|name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned()).unwrap_or_default()
        })
    }

    #[test]
    fn the_variables_tell_the_protocol() {
        for (variables, protocol) in [
            (&[("TERM", "xterm-kitty")][..], Protocol::Kitty),
            (&[("TERM", "xterm-ghostty")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Protocol::Iterm2),
            (&[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")], Protocol::Iterm2),
            (&[("TERM", "linux")], BLOCKS),
            (&[("TERM", "xterm")], BLOCKS),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], BLOCKS),
            (&[("TERM", "xterm"), ("COLORTERM", "truecolor")], Protocol::Blocks(Colours::True)),
        ] {
            assert_eq!(of(variables), Some(protocol), "{variables:?}");
        }
    }

    #[test]
    fn a_multiplexer_is_not_its_terminal() {
        let tmux = [("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/tmux")];
        assert_eq!(of(&tmux), Some(BLOCKS));
        let screen = [("TERM", "screen"), ("LC_TERMINAL", "iTerm2")];
        assert_eq!(of(&screen), Some(BLOCKS));
    }

    #[test]
    fn a_dumb_terminal_shows_no_picture() {
        assert_eq!(of(&[("TERM", "dumb"), ("TERM_PROGRAM", "iTerm.app")]), None);
    }
}
