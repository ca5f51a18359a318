//! A poll, against reqwest with the same checks: one at a time, and 64 at a time.

use std::{sync::Arc, time::Duration};

use imagekiln::{Client, TaskRef};
use tokio::runtime::Runtime;
use url::Url;

use super::{
    careful,
    measure::{Candidate, Plan, compare},
    server::Server,
};

/// How long a poll may take.
pub const DEADLINE: Duration = Duration::from_secs(30);

pub const KEY: &str = "key-of-a-program";

const PATH: &str = "/v1/get_result?id=f7a1c9";

pub fn run(runtime: &Runtime, server: &Server) {
    for (subject, at_once, polls) in [("poll.1", 1, 4000), ("poll.64", 64, 8000)] {
        compare(runtime, subject, Plan::new(15, polls), &clients(server, at_once));
    }
}

/// Compares the client with reqwest over HTTP/2, whose connection carries all polls.
pub fn run_http2(runtime: &Runtime, server: &Server) {
    for (subject, at_once, polls) in [("poll_http2.1", 1, 2000), ("poll_http2.64", 64, 8000)] {
        compare(runtime, subject, Plan::new(15, polls), &clients(server, at_once));
    }
}

/// Returns the client, and reqwest with the same checks, each with this many polls at once.
fn clients<'a>(server: &'a Server, at_once: u32) -> [Candidate<'a>; 2] {
    let client = Client::builder().api_key(KEY).base_url(&*server.url).build().unwrap();
    let task = Arc::new(client.task(TaskRef::new("f7a1c9", polling_url(server), None)));
    let ours = Candidate::repeated("imagekiln", at_once, move || {
        let task = Arc::clone(&task);
        async move { assert!(!task.poll().await.unwrap().status().is_final()) }
    });
    let service = Arc::new(Url::parse(&server.url).unwrap());
    let http = reqwest::Client::new();
    let careful = Candidate::repeated("reqwest_with_checks", at_once, move || {
        let (http, service) = (http.clone(), Arc::clone(&service));
        async move {
            let polled = careful::poll(&http, &service, &polling_url(server)).await;
            assert_eq!((polled.id.as_deref(), &*polled.status), (Some("f7a1c9"), "Pending"));
            assert!(polled.result.is_none() && polled.unlisted.contains_key("progress"));
        }
    });
    [ours, careful]
}

fn polling_url(server: &Server) -> String {
    format!("{}{PATH}", server.url)
}
