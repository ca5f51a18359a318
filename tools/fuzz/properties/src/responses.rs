//! Responses to polls and to submissions.

use std::sync::LazyLock;

use imagekiln::{Request, SubmissionResponse, Submit, TaskRef, TaskStatus, types::Gen2Pro};
use url::Url;

use crate::{
    exchange::{
        BASE, CLIENT, KEY, SECRET, SIGNATURE, assert_kept, assert_none_of, assert_safe, client,
        in_pieces, plain_object, response,
    },
    service::{Response, call},
};

/// The secrets that the client knows when it polls, and when it submits.
const OF_A_POLL: [&str; 2] = [KEY, SIGNATURE];
const OF_A_SUBMISSION: [&str; 2] = [KEY, SECRET];

static TASK: LazyLock<TaskRef> = LazyLock::new(|| {
    let url = format!("{BASE}/v1/get_result?id=t1&signature={SIGNATURE}");
    TaskRef::new("t1", url, Some("gen-2-pro".to_owned()))
});

/// A poll response is an update or an error about the task, however it arrives. The update has a
/// picture exactly if the status is `Ready`, and keeps every member. Nothing contains a secret.
pub fn poll_response(data: &[u8]) {
    let response = response(data);
    let task = CLIENT.task(TASK.clone());
    let poll = |response: &Response| call(response, task.poll()).0;
    let (outcome, pieces) = (poll(&response), poll(&in_pieces(&response)));
    assert_eq!(format!("{outcome:?}"), format!("{pieces:?}"), "the chunks matter");
    let update = match outcome {
        Ok(update) => update,
        Err(error) => {
            assert_eq!(error.task(), Some(&*TASK));
            return assert_safe(&error, &OF_A_POLL);
        }
    };
    assert_printable(&response, &format!("{update:?}"), &OF_A_POLL);
    let status = update.status();
    assert_eq!(TaskStatus::from(status.as_str()), *status);
    assert!(!status.to_string().contains(char::is_control), "{status}");
    assert_eq!(update.picture().is_some(), *status == TaskStatus::Ready);
    if let Some(picture) = update.picture() {
        let url = Url::parse(picture.address().reveal()).expect("the delivery URL is a URL");
        assert!(matches!(url.scheme(), "http" | "https") && url.has_host(), "{url}");
    }
    if let Some(object) = plain_object(&response) {
        assert_kept(&object, &serde_json::to_value(update.response()).expect("JSON"));
    }
}

/// A submission response is a task that can be polled, or an error. The task is the same after it
/// was stored, the response keeps every member, and nothing contains a secret.
pub fn submission_response(data: &[u8]) {
    static REQUEST: LazyLock<Request> = LazyLock::new(|| {
        Gen2Pro::new("a red fox in the snow").webhook_secret(SECRET).into_request()
    });
    let response = response(data);
    // A client waits after lost responses, and for its tasks, which never end here.
    let client = client();
    let submit = |response: &Response| {
        let submitted = call(response, client.submit(REQUEST.clone())).0;
        submitted.map(|task| (without_submission(task.reference()), task.response().cloned()))
    };
    let (outcome, pieces) = (submit(&response), submit(&in_pieces(&response)));
    assert_eq!(format!("{outcome:?}"), format!("{pieces:?}"), "the chunks matter");
    let (task, read) = match outcome {
        Ok(accepted) => accepted,
        Err(error) => return assert_safe(&error, &OF_A_SUBMISSION),
    };
    assert_printable(&response, &format!("{task:?} {read:?}"), &OF_A_SUBMISSION);
    assert!(!task.id().is_empty());
    assert!(Url::parse(task.polling_url().reveal()).is_ok(), "{task:?}");
    let stored = serde_json::to_string(&task).expect("JSON");
    assert_eq!(serde_json::from_str::<TaskRef>(&stored).expect("a reference"), task);
    assert_response_kept(&response, read.as_ref());
}

/// The id of a submission in a journal is random.
fn without_submission(task: &TaskRef) -> TaskRef {
    let mut stored = serde_json::to_value(task).expect("JSON");
    stored.as_object_mut().expect("an object").remove("submission");
    serde_json::from_value(stored).expect("a reference")
}

/// What is printed has no secret, except in the host and path of a URL, which the client needs.
fn assert_printable(response: &Response, shown: &str, secrets: &[&str]) {
    let body = response.chunks.concat();
    let may_have_url = |part: &[u8]| part.starts_with(b"http") || part.starts_with(b"\\u");
    if !body.windows(4).any(may_have_url) {
        assert_none_of(secrets, shown);
    }
}

/// The client replaces the id and the polling URL by those that it uses.
fn assert_response_kept(response: &Response, read: Option<&SubmissionResponse>) {
    let Some(mut object) = plain_object(response) else { return };
    // The task may be in a member of the object.
    if object.get("id").is_none() {
        return;
    }
    let kept = match read {
        Some(SubmissionResponse::Async(response)) => serde_json::to_value(response),
        Some(SubmissionResponse::Webhook(response)) => serde_json::to_value(response),
        _ => return,
    };
    let members = object.as_object_mut().expect("an object");
    let usable =
        |id: &serde_json::Value| id.is_number() || id.as_str().is_some_and(|id| !id.is_empty());
    if members.get("id").is_some_and(usable) {
        members.retain(|name, _| name != "id" && name != "polling_url");
        assert_kept(&object, &kept.expect("JSON"));
    }
}
