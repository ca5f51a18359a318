//! Why a webhook was rejected: a code for programs, and advice on what to check.

use crate::failure::Failure;
use imagekiln::webhook::Refusal;

/// The code of the reason.
pub fn reason(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Missing { .. } => "missing",
        Refusal::Malformed { .. } => "malformed",
        Refusal::Wrong { .. } => "wrong",
        Refusal::TooOld { .. } => "too_old",
        Refusal::FromFuture { .. } => "from_future",
        Refusal::TooLarge { .. } => "too_large",
        Refusal::NotJson => "not_json",
        _ => "other",
    }
}

/// The failure of a command that verifies one webhook.
pub fn failure(refusal: &Refusal) -> Failure {
    let failure = Failure::webhook(reason(refusal), format!("the webhook was rejected: {refusal}"));
    match advice(refusal) {
        Some(advice) => failure.advise(advice),
        None => failure,
    }
}

fn advice(refusal: &Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::Missing { .. } => {
            "check --scheme, --signature-header and each --header; `kiln webhook listen` without a \
             secret prints the headers that the service sends"
        }
        Refusal::Malformed { .. } => "check --scheme, --prefix and --encoding, and each --header",
        Refusal::Wrong { .. } => "check the secret, and that the body is exactly what was received",
        Refusal::TooOld { .. } => "pass a longer --max-age if the delivery is a recorded one",
        Refusal::FromFuture { .. } => "check this machine's clock, or pass a longer --max-age",
        Refusal::TooLarge { .. } => "check that the file contains the body of one webhook",
        Refusal::NotJson => {
            "check that the file contains the body of a webhook; its signature is valid"
        }
        _ => return None,
    })
}
