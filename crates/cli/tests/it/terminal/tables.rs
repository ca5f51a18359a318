//! Tables on a narrow terminal and in a pipe.

use crate::{
    bench::Bench,
    terminal::{Piped, Setup, Terminal},
};
use imagekiln_simulator::Config;

const COLUMNS: u16 = 40;

/// The commands that print a table.
const COMMANDS: [&str; 14] = [
    "models",
    "models --can generate",
    "models gen-2-pro",
    "models gen-pro-1.0-fill-finetuned",
    "models gen-tools/vto-v2",
    "history",
    "task list",
    "config",
    "doctor",
    "batch run prompts.txt --output pictures/of/foxes --dry-run",
    "batch run prompts.txt --output pictures --quiet",
    "batch status --all --ledger pictures",
    "spending --ledger pictures",
    "batch limits --ledger pictures",
];

#[test]
fn every_table_fits_a_narrow_terminal_and_is_complete_in_a_pipe() {
    let bench = Bench::with(Config { seed: Some(7.into()), ..Config::default() });
    let long = "🦊狐 a red fox in the snow, at night, near a river of ice";
    bench.place.write("prompts.txt", format!("{long}\na grey wolf\n"));
    bench.run(&["generate", long, "-s", "64x64", "-o", "狐.png"]).ok();
    bench.run("task submit gen-2-pro --prompt=x").ok();
    let mut shown = Vec::new();
    for line in COMMANDS {
        let words: Vec<&str> = line.split(' ').collect();
        let on = |piped| {
            let mut command = bench.kiln(&words);
            command.env("NO_COLOR", "1");
            let setup = Setup { columns: COLUMNS, rows: 100, piped };
            let mut terminal = Terminal::start_with(command, setup);
            (terminal.end().ok(), terminal)
        };
        let (_, terminal) = on(Piped::Nothing);
        // `text` joins the lines that the terminal has wrapped.
        assert_eq!(terminal.text(), terminal.screen(), "{line}");
        assert!(!terminal.text().is_empty(), "{line}");
        let (piped, _) = on(Piped::Stdout);
        assert!(!piped.text().contains('…'), "{line}: {}", piped.text());
        shown.push(format!("$ kiln {line}\n{}", terminal.text()));
        if line.starts_with("batch run") && line.ends_with("--quiet") {
            let words = ["batch", "limits", "--budget=50", "--ledger", "pictures"];
            bench.run(&[&words[..], &["--group", "狐狐狐狐狐狐"]].concat()).ok();
        }
    }
    let tables = shown.join("\n\n");
    for whole in [
        "gen-pro-1.1-ultra-finetuned  Ultra with…",
        "@1  saved       狐.png  🦊狐 a red fox …",
        "saved     2     8.00  gen-2-pro",
        "gen-2-pro   8.00\ntotal                   8.00",
        "regional_     http://127.   IMAGEKILN_\nbase_url ",
    ] {
        assert!(tables.contains(whole), "{whole}: {tables}");
    }
}
