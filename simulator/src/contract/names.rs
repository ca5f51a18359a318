//! Names of operations in settings: paths without `/v1/`, or prefixes of them followed by `*`.

use axum::http::Method;

use super::{Action, Contract, Found, Operation, Submission};
use crate::values::names::nearest;

const VERSION: &str = "/v1/";

impl Contract {
    /// Checks that a pattern matches a submission's operation. The error has the nearest name.
    pub(crate) fn check_pattern(&self, pattern: &str) -> Result<(), String> {
        let known = match pattern.strip_suffix('*') {
            Some(beginning) => {
                let beginning = format!("{VERSION}{beginning}");
                self.submissions().any(|operation| operation.path.can_start_with(&beginning))
            }
            None => self.submission(pattern).is_some(),
        };
        if known {
            return Ok(());
        }
        let paths: Vec<_> =
            self.submissions().map(|operation| operation.path.to_string()).collect();
        let names = paths.iter().filter_map(|path| path.strip_prefix(VERSION));
        let star = if pattern.ends_with('*') { "*" } else { "" };
        let meant = nearest(pattern.trim_end_matches('*'), names).unwrap_or_default();
        Err(format!("`{pattern}` matches no operation: did you mean `{meant}{star}`?"))
    }

    /// The id and the rules of a submission's operation, named without `/v1/`.
    pub(crate) fn submission(&self, name: &str) -> Option<(&str, &Submission)> {
        let found = self.find(&Method::POST, &format!("{VERSION}{name}"));
        let Found::Operation(Operation { id, action: Action::Submit(submission), .. }) = found
        else {
            return None;
        };
        Some((id, submission))
    }

    fn submissions(&self) -> impl Iterator<Item = &Operation> {
        self.operations().filter(|operation| matches!(operation.action, Action::Submit(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_must_match_an_operation() {
        let contract = Contract::built_in().unwrap();
        for known in [
            "*",
            "gen-*",
            "gen-2-pro",
            "gen-2-klein-*",
            "gen-tools/erase-v1",
            "gen-tools/*",
            "gen-2-klein-9b-kv-finetuned",
            "gen-2-klein-9b-kv-*",
            "gen-2-klein-9b-kv-fine*",
            "finetune",
        ] {
            assert_eq!(contract.check_pattern(known), Ok(()), "{known}");
        }
        for (unknown, meant) in [
            ("gen-2-prp", "gen-2-pro"),
            ("xyz-2-pro", "gen-2-pro"),
            ("gen-2-pro-*x", "gen-2-pro"),
            ("get_result", "gen-dev"),
            ("gen-2-flux*", "gen-2-flex*"),
            ("gen-tools/vto-v22", "gen-tools/vto-v2"),
            ("/v1/gen-2-pro", "gen-2-pro"),
        ] {
            let error = contract.check_pattern(unknown).unwrap_err();
            let expected = format!("`{unknown}` matches no operation: did you mean `{meant}`?");
            assert_eq!(error, expected);
        }
    }
}
