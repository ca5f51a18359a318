//! Describes the machine, because every figure depends on it.

use std::{fs, process::Command, thread};

/// Returns lines with a name and a value, separated by a tab.
pub fn describe() -> String {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    let facts = [
        ("machine.processor", processor()),
        ("machine.cores", cores.to_string()),
        ("machine.kernel", output("uname", &["-sr"])),
        ("machine.rust", output("rustc", &["--version"])),
        ("machine.date", output("date", &["-u", "+%Y-%m-%d"])),
    ];
    facts.into_iter().map(|(name, value)| format!("{name}\t{value}\n")).collect()
}

/// Returns the value of a line that [`describe`] wrote.
pub fn fact<'a>(lines: &'a str, name: &str) -> &'a str {
    let facts = lines.lines().filter_map(|line| line.split_once('\t'));
    facts.filter(|(known, _)| *known == name).map(|(_, value)| value).next().unwrap_or("unknown")
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.and_then(|rest| rest.split_once(": ")).map_or("unknown", |(_, name)| name).to_owned()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().map(|output| output.stdout);
    let text = String::from_utf8(output.unwrap_or_default()).unwrap_or_default();
    match text.trim() {
        "" => "unknown".to_owned(),
        text => text.to_owned(),
    }
}
