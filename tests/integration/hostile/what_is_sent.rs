//! The plainest request, and fields that are set twice. `wire` has the requests of all operations.

use serde_json::Value;

use crate::support::{
    received::Received,
    samples::{self, assert_kind, client, fox},
    scripted::ScriptedServer,
};
use imagekiln::{ErrorKind, types::GenPro11Ultra};

async fn sent(request: impl imagekiln::Submit) -> Received {
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1"));
    let _ = client(&service).submit(request).await.unwrap();
    service.only_request()
}

#[tokio::test(start_paused = true)]
async fn only_required_fields_and_no_defaults_are_sent() {
    let post = sent(fox()).await;

    assert_eq!((post.method.as_str(), post.target.as_str()), ("POST", "/v1/gen-2-pro"));
    assert_eq!(post.body, br#"{"prompt":"a red fox in the snow"}"#);
    let mut names: Vec<_> = post.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "content-length", "content-type", "host", "user-agent", "x-key"]);
    assert_eq!(post.header("content-type"), Some("application/json"));
    post.assert_has_key();

    assert_eq!(sent(GenPro11Ultra::new()).await.body, b"{}");
}

/// Even without validation, a JSON key is never written twice.
#[tokio::test(start_paused = true)]
async fn a_field_that_is_set_twice_is_never_sent() {
    let service = ScriptedServer::start().await;
    for validation in [true, false] {
        let client = samples::builder(&service).validation(validation).build().unwrap();

        let error = client.submit(fox().seed(7).extra("seed", Value::Null)).await.unwrap_err();

        assert_kind(&error, ErrorKind::Validation);
        assert_eq!(error.violations()[0].field(), Some("seed"));
    }
    service.assert_received_nothing();
}
