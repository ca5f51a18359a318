//! Questions to the person about a picture above the budget, if their client can ask them.

use std::{collections::BTreeMap, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, ProtocolVersion,
    },
    service::RequestContext,
};

/// The name of the question. A repeated call contains the answer under this name.
const NAME: &str = "budget";

pub enum Answer {
    Agreed,
    /// Nobody has agreed. The text is added to an error message, and says why.
    Refused(&'static str),
    /// The client asks, and repeats the call with the answer.
    Asking(InputRequiredResult),
}

const DECLINED: Answer = Answer::Refused("; the person was asked and declined");

/// Asks whether to make a picture. Since version 2026-07-28, the protocol has no requests to
/// clients: the result tells the client what to ask, and the client repeats the call with the
/// `answers`.
pub async fn ask(
    question: String,
    longest: Duration,
    answers: Option<InputResponses>,
    context: &RequestContext<RoleServer>,
) -> Answer {
    let elicitation = context.client_capabilities().and_then(|client| client.elicitation);
    // Without a mode, a client shows forms.
    if !elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none()) {
        return Answer::Refused("");
    }
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question,
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    };
    let first_without_requests = ProtocolVersion::V_2026_07_28;
    if context.protocol_version().is_some_and(|it| it.as_str() >= first_without_requests.as_str()) {
        return match answers.as_ref().and_then(|answers| answers.get(NAME)?.get("action")) {
            Some(action) if action == "accept" => Answer::Agreed,
            Some(_) => DECLINED,
            None => {
                let request = InputRequest::Elicitation(ElicitRequest::new(params));
                let requests = BTreeMap::from([(NAME.to_owned(), request)]);
                Answer::Asking(InputRequiredResult::from_input_requests(requests))
            }
        };
    }
    tokio::select! {
        () = context.ct.cancelled() => Answer::Refused("; the call was cancelled"),
        answer = context.peer.create_elicitation_with_timeout(params, Some(longest)) => {
            match answer.map(|answer| answer.action) {
                Ok(ElicitationAction::Accept) => Answer::Agreed,
                Ok(_) => DECLINED,
                Err(_) => Answer::Refused("; the person was asked and did not answer in time"),
            }
        }
    }
}
