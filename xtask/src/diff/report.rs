//! Formats the differences.

use serde::Serialize;

use super::compare::{Change, Difference, Mark};

/// Text: grouped by operation, one line each.
pub fn text(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return "No differences.\n".to_owned();
    }
    let mut text = String::new();
    let mut operations = 0;
    let mut current = None;
    for difference in differences {
        if current != Some(&difference.operation) {
            let gap = if operations == 0 { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", difference.operation));
            current = Some(&difference.operation);
            operations += 1;
        }
        let place = difference.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let mark = match difference.mark {
            Mark::Breaking => "breaking",
            Mark::Compatible => "compatible",
        };
        text.push_str(&format!("  {mark:<10}  {place}{}\n", sentence(&difference.change)));
    }
    let breaking = count_breaking(differences);
    let compatible = differences.len() - breaking;
    let plural = if operations == 1 { "operation differs" } else { "operations differ" };
    text + &format!("\n{operations} {plural}: {breaking} breaking, {compatible} compatible\n")
}

/// JSON: a single object.
pub fn json(differences: &[Difference]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Report<'a> {
        breaking: usize,
        compatible: usize,
        differences: &'a [Difference],
    }
    let breaking = count_breaking(differences);
    let report = Report { breaking, compatible: differences.len() - breaking, differences };
    serde_json::to_string_pretty(&report).map(|text| text + "\n")
}

fn count_breaking(differences: &[Difference]) -> usize {
    differences.iter().filter(|difference| difference.mark == Mark::Breaking).count()
}

fn sentence(change: &Change) -> String {
    match change {
        Change::Added { what } => format!("added ({what})"),
        Change::Removed { what } => format!("removed ({what})"),
        Change::Changed { aspect, ours, theirs } => {
            format!("{aspect}: ours {ours}, theirs {theirs}")
        }
    }
}
