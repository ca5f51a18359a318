//! The finetune that a request uses, and the one that it trains.

use std::time::Duration;

use serde_json::Value;

use imagekiln_painter::paint::OperationKind;

use crate::{
    billing::accounts::{Accounts, ProjectRef, is_finetune_name},
    contract::{Submission, Violation},
};

const USED: &str = "finetune_id";

/// The field with the name of a new finetune. The contract leaves the fields open, so the simulator
/// has chosen this one itself.
const NEW: &str = "name";

/// Reads what a validated body says about finetunes. Fails if it uses a finetune that the project
/// may not use, or if it gives a new finetune a name that the organization already has. Returns the
/// name of the new finetune, if the request sets one.
pub(crate) fn read(
    accounts: &Accounts,
    (project, submission, body): (&ProjectRef, &Submission, &Value),
    unix: Duration,
) -> Result<Option<String>, Vec<Violation>> {
    let wrong = |name: &str, problem| {
        Err(vec![Violation::value(vec!["body".into(), name.into()], problem)])
    };
    let used = body.get(USED).and_then(Value::as_str).filter(|_| submission.takes_finetune());
    if used.is_some_and(|id| !accounts.knows_finetune(project, id, unix)) {
        return wrong(USED, "the project has no finetune of this name");
    }
    let trains = submission.rules.kind == OperationKind::Finetune;
    let Some(name) = body.get(NEW).and_then(Value::as_str).filter(|_| trains) else {
        return Ok(None);
    };
    if !is_finetune_name(name) {
        return wrong(NEW, "a finetune name must not be empty or contain a slash");
    }
    if accounts.has_finetune(project, name) {
        return wrong(NEW, "the organization already has a finetune of this name");
    }
    Ok(Some(name.to_owned()))
}
