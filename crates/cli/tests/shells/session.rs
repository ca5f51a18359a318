//! Shells on a pseudo-terminal, with the script that `kiln config completions` prints.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{bench::Place, terminal::Terminal};

/// The text that is typed before Tab, and the arguments that kiln then gets.
type Case<'a> = (&'a str, &'a [&'a str]);

/// The cases that every shell completes in the same way.
const CASES: [Case<'static>; 11] = [
    (
        "kiln generate 'a fox' --model gen-2-flex --gu",
        &["generate", "a fox", "--model", "gen-2-flex", "--guidance"],
    ),
    ("kiln generate x -m 'gen-2-flex' --gu", &["generate", "x", "-m", "gen-2-flex", "--guidance"]),
    ("kiln generate x --model=gen-2-fl", &["generate", "x", "--model=gen-2-flex"]),
    ("kiln generate x --output-format j", &["generate", "x", "--output-format", "jpeg"]),
    ("kiln run gen-tools/de", &["run", "gen-tools/deblur-v1"]),
    ("kiln edit x my", &["edit", "x", "my fox.png"]),
    ("kiln edit x 'my", &["edit", "x", "my fox.png"]),
    ("kiln edit x a:", &["edit", "x", "a:b.png"]),
    ("kiln generate @no", &["generate", "@notes.txt"]),
    ("kiln task save @l", &["task", "save", "@last"]),
    ("kiln --profile wo", &["--profile", "work"]),
];

pub fn bash() {
    let place = place();
    place.write("rc", format!("{}\nPS1='$ '\n{PRINT}", script(&place, "bash")));
    let mut command = shell(&place, "bash");
    command.args(["--noprofile", "--rcfile", "rc", "-i"]);
    completes(
        &place,
        command,
        &[
            ("kiln run {", &["run", "{base_model}-finetuned"]),
            ("kiln generate x --model=\"gen-2-fl", &["generate", "x", "--model=gen-2-flex"]),
            ("kiln edit x my\\ f", &["edit", "x", "my fox.png"]),
            ("kiln edit x ~/my", &["edit", "x", "HOME/my fox.png"]),
            ("true && kiln run gen-2-fl", &["run", "gen-2-flex"]),
        ],
    );
}

/// The cases of shells with backslashes and `&&`.
const OF_POSIX: [Case<'static>; 4] = [
    ("kiln run \\{", &["run", "{base_model}-finetuned"]),
    ("kiln edit x my\\ f", &["edit", "x", "my fox.png"]),
    ("kiln edit x ~/my", &["edit", "x", "HOME/my fox.png"]),
    ("true && kiln run gen-2-fl", &["run", "gen-2-flex"]),
];

pub fn zsh() {
    let place = place();
    let command = zsh_with_script(&place);
    completes(&place, command, &OF_POSIX);
}

/// zsh asks before it lists more than `LISTMAX` candidates. It would count empty places as
/// candidates if it listed those with the same help side by side.
pub fn zsh_counts() {
    let place = place();
    submit(&place, "an owl");
    submit(&place, "an owl");
    let mut terminal = Terminal::start(zsh_with_script(&place));
    terminal.until_it("a prompt", |terminal| !terminal.text().trim().is_empty());
    terminal.press("LISTMAX=1\rkiln task save @\t");
    // @last, @3, @2 and @1
    terminal.until("do you wish to see all 4 possibilities");
}

/// The script is in a directory of `fpath`.
fn zsh_with_script(place: &Place) -> Command {
    fs::create_dir(place.path("zfunc")).unwrap();
    place.write("zfunc/_kiln", script(place, "zsh"));
    let rc = "fpath=(~/zfunc $fpath); autoload -Uz compinit; compinit -u -d ~/dump; PS1='$ '";
    place.write(".zshrc", format!("{rc}\n{PRINT}"));
    let mut command = shell(place, "zsh");
    command.args(["-d", "-i"]).env("ZDOTDIR", place.path(""));
    command
}

pub fn fish() {
    let place = place();
    let print = "function kiln; printf '<%s>' $argv; echo; end";
    place.write("rc", format!("{}\n{print}", script(&place, "fish")));
    let mut command = shell(&place, "fish");
    command.args(["--no-config", "--init-command", "source rc", "-i"]);
    completes(&place, command, &OF_POSIX);
}

pub fn elvish() {
    let place = place();
    let print = "fn kiln {|@words| each {|word| print '<'$word'>' } $words; echo }";
    place.write("rc", format!("{}\n{print}", script(&place, "elvish")));
    let mut command = shell(&place, "elvish");
    command.args(["-rc", "rc"]);
    completes(&place, command, &[("kiln run '{", &["run", "{base_model}-finetuned"])]);
}

/// Prints the arguments of `kiln` between angle brackets. The scripts still run the program.
const PRINT: &str = "kiln() { printf '<%s>' \"$@\"; echo; }\n";

/// Whether the program can be run.
pub fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

/// A home directory with images, a prompt, a profile and a history.
fn place() -> Place {
    let place = Place::new();
    for name in ["my fox.png", "a:b.png", "notes.txt"] {
        place.write(name, "");
    }
    place.configure("[profile.work]\nmodel = \"gen-2-flex\"\n");
    submit(&place, "a red fox");
    place
}

fn submit(place: &Place, prompt: &str) {
    let kiln = env!("CARGO_BIN_EXE_kiln");
    place.run(&["simulate", "--", kiln, "task", "submit", "gen-2-pro", "--prompt", prompt]).ok();
}

fn script(place: &Place, shell: &str) -> String {
    place.run(&["config", "completions", shell]).ok().text()
}

/// A shell whose PATH has this kiln.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn shell(place: &Place, program: &str) -> Command {
    let mut command = place.command(program);
    let kiln = Path::new(env!("CARGO_BIN_EXE_kiln")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap();
    let path = env::join_paths([kiln].into_iter().chain(env::split_paths(&path))).unwrap();
    command.env("PATH", path).env("HOME", home(place)).env("LC_ALL", "C.UTF-8");
    command
}

fn home(place: &Place) -> PathBuf {
    place.path("rc").parent().unwrap().to_owned()
}

/// Types each line with Tab and Enter, and reads what kiln gets.
fn completes(place: &Place, command: Command, more: &[Case]) {
    let home = home(place);
    let mut terminal = Terminal::start(command);
    // A shell may lose what is typed before its first prompt.
    terminal.until_it("a prompt", |terminal| !terminal.text().trim().is_empty());
    for (at, (typed, arguments)) in CASES.iter().chain(more).enumerate() {
        let expected: String = arguments.iter().map(|word| format!("<{word}>")).collect();
        // elvish shows a menu if the candidate has quotes, and the first Enter chooses from it.
        terminal.press(&format!("{typed}\t\r\r"));
        let expected = expected.replace("HOME", home.to_str().unwrap());
        terminal.until_it(&expected, |terminal| {
            terminal.text().matches(&expected).count() > repeated(at, arguments, more)
        });
    }
}

/// How many cases before this one have the same arguments.
fn repeated(at: usize, arguments: &[&str], more: &[Case]) -> usize {
    CASES.iter().chain(more).take(at).filter(|(_, earlier)| *earlier == arguments).count()
}
