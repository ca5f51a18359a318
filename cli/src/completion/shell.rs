//! The shells: the form in which each passes a command line and reads the candidates.

use clap_complete::Shell;

use super::{
    candidates::{self, Candidate},
    words::{quoted, split, unquote},
};

/// The candidates for what is typed, in the form that the script of the shell reads.
pub fn complete(shell: Shell, typed: &[String]) -> String {
    let (current, before) = typed.split_last().map_or(("", typed), |(a, b)| (a.as_str(), b));
    let text = |word: &str| unquote(word).0;
    match shell {
        Shell::Zsh => {
            let before = before.iter().map(|word| text(word)).collect();
            lines(candidates::of(before, &text(current)), for_zsh)
        }
        // The words before the last one are without quotes already.
        Shell::Fish => lines(candidates::of(before.to_vec(), &text(current)), with_help),
        Shell::PowerShell => {
            let current = text(current.strip_prefix('=').unwrap_or(current));
            lines(candidates::of(before.to_vec(), &current), with_help)
        }
        Shell::Elvish => lines(candidates::of(before.to_vec(), current), with_help),
        _ => for_bash(before.first().map_or("", String::as_str), current),
    }
}

/// bash passes the line to the cursor, and the end of it that the chosen candidate replaces. That
/// starts after the last quote, `=` or `:`, so the part of each candidate before it is left out.
fn for_bash(line: &str, replaced: &str) -> String {
    let mut words = split(line);
    let current = words.pop().unwrap_or_default();
    let (kept, quote) = unquote(current.strip_suffix(replaced).unwrap_or_default());
    let before = words.into_iter().map(|word| unquote(word).0).collect();
    lines(candidates::of(before, &unquote(current).0), |Candidate { value, .. }| {
        quoted(value.strip_prefix(&kept).unwrap_or(value), quote)
    })
}

fn lines(candidates: Vec<Candidate>, line: impl Fn(&Candidate) -> String) -> String {
    candidates.iter().map(|candidate| line(candidate) + "\n").collect()
}

fn with_help(candidate: &Candidate) -> String {
    match candidate.help.as_str() {
        "" => candidate.value.clone(),
        help => format!("{}\t{help}", candidate.value),
    }
}

/// zsh separates the help with a colon.
fn for_zsh(candidate: &Candidate) -> String {
    let value = candidate.value.replace('\\', "\\\\").replace(':', "\\:");
    match candidate.help.as_str() {
        "" => value,
        help => format!("{value}:{}", help.replace('\\', "\\\\")),
    }
}
