//! The reason for rejecting a webhook: a code for programs, and advice on what to check.

use crate::failure::Failure;
use imagekiln::webhook::Rejection;

/// The code of the reason.
pub fn reason(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Missing { .. } => "missing",
        Rejection::Malformed { .. } => "malformed",
        Rejection::Wrong { .. } => "wrong",
        Rejection::TooOld { .. } => "too_old",
        Rejection::FromFuture { .. } => "from_future",
        Rejection::TooLarge { .. } => "too_large",
        Rejection::NotJson => "not_json",
        _ => "other",
    }
}

/// The failure of a command that verifies one webhook.
pub fn failure(rejection: &Rejection) -> Failure {
    let failure =
        Failure::webhook(reason(rejection), format!("the webhook was rejected: {rejection}"));
    match advice(rejection) {
        Some(advice) => failure.advise(advice),
        None => failure,
    }
}

fn advice(rejection: &Rejection) -> Option<&'static str> {
    Some(match rejection {
        Rejection::Missing { .. } => {
            "check --scheme, --signature-header and each --header; `kiln webhook listen` without a \
             secret prints the headers that the service sends"
        }
        Rejection::Malformed { .. } => "check --scheme, --prefix and --encoding, and each --header",
        Rejection::Wrong { .. } => {
            "check the secret, and that the body is exactly what was received"
        }
        Rejection::TooOld { .. } => "pass a longer --max-age if the delivery is a recorded one",
        Rejection::FromFuture { .. } => "check this machine's clock, or pass a longer --max-age",
        Rejection::TooLarge { .. } => "check that the file contains the body of one webhook",
        Rejection::NotJson => {
            "check that the file contains the body of a webhook; its signature is valid"
        }
        _ => return None,
    })
}
