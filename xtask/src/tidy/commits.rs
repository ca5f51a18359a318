//! Checks that the messages of commits describe the change, its effect and its reason.

use std::process::Command;

use anyhow::Result;

use crate::{process, repository};

/// First words of subjects that hide the change. A verb would name it.
const RIDDLES: [&str; 6] = ["Say", "Let", "Know", "Hold", "Keep", "Put"];

/// The longest subject that git's own tools show whole.
const LONGEST: usize = 72;

/// Returns a warning for each commit since the last landing whose message is incomplete.
///
/// The last landing is where the branch left its upstream, or the newest tag if it has none.
pub fn warnings() -> Result<Vec<String>> {
    let root = repository::root()?;
    let git = |words: &[&str]| process::output(Command::new("git").args(words).current_dir(&root));
    let landed = git(&["merge-base", "HEAD", "@{upstream}"])
        .or_else(|_| git(&["describe", "--tags", "--abbrev=0"]));
    // A checkout without history, as of an archive, has nothing to warn about.
    let Ok(landed) = landed else { return Ok(Vec::new()) };
    let range = format!("{}..HEAD", landed.trim());
    let log = git(&["log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", &range])?;
    Ok(log.split('\u{1e}').filter_map(|commit| warning(commit.trim())).collect())
}

fn warning(commit: &str) -> Option<String> {
    let mut parts = commit.split('\u{1f}');
    let (hash, subject, body) = (parts.next()?, parts.next()?, parts.next()?);
    let first = subject.split(' ').next().unwrap_or_default();
    let problem = if RIDDLES.contains(&first) {
        format!(
            "starts with \"{first}\": name what changes, as in \"Resume polling after a reset\""
        )
    } else if !first.starts_with(char::is_uppercase) || subject.ends_with('.') {
        "its subject is not a capitalised phrase without a full stop".to_owned()
    } else if subject.chars().count() > LONGEST {
        format!("its subject has more than {LONGEST} characters")
    } else if body.trim().is_empty() {
        "has no body: say why, and how it was verified".to_owned()
    } else {
        return None;
    };
    Some(format!("commit {hash} ({subject}): {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_needs_a_plain_subject_and_a_body() {
        let warning = |subject: &str, body: &str| {
            warning(&format!("abc\u{1f}{subject}\u{1f}{body}")).unwrap_or_default()
        };
        assert_eq!(warning("Resume polling after a reset", "Why."), "");
        assert!(warning("Resume polling after a reset", "").contains("has no body"));
        assert!(
            warning("Say which of a wait is in its span", "Why.").contains("name what changes")
        );
        assert!(warning("resume polling", "Why.").contains("capitalised"));
        assert!(warning(&format!("Resume {}", "x".repeat(70)), "Why.").contains("72 characters"));
    }
}
