//! Completion in the real shells: the line after Tab, as the shell passes it to kiln. And the first
//! hours of two people and a killed batch, in a real terminal.

#[cfg(unix)]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with other tests")]
#[path = "../it/bench.rs"]
mod bench;
#[cfg(unix)]
mod hours;
#[cfg(unix)]
mod session;
#[cfg(unix)]
#[path = "../it/terminal/svg.rs"]
mod svg;
#[cfg(unix)]
#[allow(dead_code, unused_imports, reason = "shared with other tests")]
#[path = "../it/terminal/emulated.rs"]
mod terminal;

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() {
    use imagekiln_testbed::{Requirement, Runtime, run, test};

    const fn shell(
        name: &'static str,
        advice: &'static str,
        is_present: fn() -> bool,
    ) -> Requirement {
        Requirement { name, is_present, advice, variable: "IMAGEKILN_SHELL_TESTS" }
    }
    const BASH: Requirement = shell("bash", "apt-get install bash", || session::has("bash"));
    const ELVISH: Requirement =
        shell("elvish", "apt-get install elvish", || session::has("elvish"));
    const FISH: Requirement = shell("fish", "apt-get install fish", || session::has("fish"));
    const TMUX: Requirement = shell("tmux", "apt-get install tmux", || session::has("tmux"));
    const ZSH: Requirement = shell("zsh", "apt-get install zsh", || session::has("zsh"));

    let runtime = Runtime::CurrentThread;
    run(vec![
        test("bash_completes", &[BASH], runtime, async || session::bash()),
        test("elvish_completes", &[ELVISH], runtime, async || session::elvish()),
        test("fish_completes", &[FISH], runtime, async || session::fish()),
        test("zsh_completes", &[ZSH], runtime, async || session::zsh()),
        test("zsh_counts_candidates_once", &[ZSH], runtime, async || session::zsh_counts()),
        test("the_hour_with_a_liked_picture", &[BASH, TMUX], runtime, async || hours::liked()),
        test("the_hour_with_a_killed_batch", &[BASH, TMUX], runtime, async || hours::killed()),
        test("the_hour_with_many_pictures", &[BASH, TMUX], runtime, async || hours::many()),
    ]);
}
