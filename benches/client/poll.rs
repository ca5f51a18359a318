//! A poll, against reqwest with the same checks, against bare reqwest, and against bare hyper
//! connections: one at a time, and 64 at a time.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use imagekiln::{Client, TaskRef};
use serde_json::Value;
use tokio::{net::TcpStream, runtime::Runtime, sync::Mutex};
use url::Url;

use super::{
    careful,
    measure::{Candidate, Plan, compare},
    server::Server,
};

/// How long a poll may take, in all clients but hyper.
pub const DEADLINE: Duration = Duration::from_secs(30);

pub const KEY: &str = "key-of-a-program";

const PATH: &str = "/v1/get_result?id=f7a1c9";

pub fn run(runtime: &Runtime, server: &Server) {
    for (subject, at_once, polls) in [("poll.1", 1, 4000), ("poll.64", 64, 8000)] {
        let connections = runtime.block_on(connect(server, at_once));
        let [ours, careful, bare] = clients(server, at_once);
        let hyper = Candidate::new("hyper", |polls| {
            let connections = &connections;
            async move {
                join_all(connections.iter().map(|connection| async move {
                    for _ in 0..polls.div_ceil(at_once) {
                        poll_hyper(&mut *connection.lock().await).await;
                    }
                }))
                .await;
            }
        });
        compare(runtime, subject, Plan::new(15, polls), &[ours, careful, bare, hyper]);
    }
}

/// Compares the client with reqwest over HTTP/2, whose connection carries all polls.
pub fn run_http2(runtime: &Runtime, server: &Server) {
    for (subject, at_once, polls) in [("poll_http2.1", 1, 2000), ("poll_http2.64", 64, 8000)] {
        let candidates = clients(server, at_once);
        compare(runtime, subject, Plan::new(15, polls), &candidates);
    }
}

/// Returns the client, and reqwest with and without the same checks, each with this many polls at
/// once.
fn clients<'a>(server: &'a Server, at_once: u32) -> [Candidate<'a>; 3] {
    let client = Client::builder().api_key(KEY).base_url(&*server.url).build().unwrap();
    let task = Arc::new(client.task(TaskRef::new("f7a1c9", polling_url(server), None)));
    let ours = repeated("imagekiln", at_once, move || {
        let task = Arc::clone(&task);
        async move { assert!(!task.poll().await.unwrap().status().is_final()) }
    });
    let service = Arc::new(Url::parse(&server.url).unwrap());
    let http = reqwest::Client::new();
    let careful = repeated("reqwest_with_checks", at_once, move || {
        let (http, service) = (http.clone(), Arc::clone(&service));
        async move {
            let polled = careful::poll(&http, &service, &polling_url(server)).await;
            assert_eq!((polled.id.as_deref(), &*polled.status), (Some("f7a1c9"), "Pending"));
            assert!(polled.result.is_none() && polled.unlisted.contains_key("progress"));
        }
    });
    let http = reqwest::Client::new();
    let bare = repeated("reqwest", at_once, move || poll_reqwest(http.clone(), server));
    [ours, careful, bare]
}

/// A candidate that always has this many polls in progress.
fn repeated<'a, F: Future<Output = ()> + 'a>(
    name: &'static str,
    at_once: u32,
    poll: impl Fn() -> F + Clone + 'a,
) -> Candidate<'a> {
    Candidate::new(name, move |polls| {
        let poll = poll.clone();
        async move {
            let poll = &poll;
            let some_polls = || async move {
                for _ in 0..polls.div_ceil(at_once) {
                    poll().await;
                }
            };
            join_all((0..at_once).map(|_| some_polls())).await;
        }
    })
}

fn polling_url(server: &Server) -> String {
    format!("{}{PATH}", server.url)
}

async fn poll_reqwest(http: reqwest::Client, server: &Server) {
    let request = http.get(polling_url(server)).header("x-key", KEY);
    let response = request.timeout(DEADLINE).send().await.unwrap().error_for_status().unwrap();
    check(&response.bytes().await.unwrap());
}

fn check(body: &[u8]) {
    let document: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(document["status"].as_str(), Some("Pending"));
}

type Connection = Mutex<SendRequest<Empty<Bytes>>>;

async fn connect(server: &Server, count: u32) -> Vec<Connection> {
    let authority = server.url.strip_prefix("http://").unwrap();
    let mut connections = Vec::new();
    for _ in 0..count {
        let stream = TcpStream::connect(authority).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        connections.push(Mutex::new(sender));
    }
    connections
}

async fn poll_hyper(connection: &mut SendRequest<Empty<Bytes>>) {
    let request = Request::get(PATH).header("host", "127.0.0.1").header("x-key", KEY);
    connection.ready().await.unwrap();
    let response = connection.send_request(request.body(Empty::new()).unwrap()).await.unwrap();
    assert!(response.status().is_success());
    check(&response.into_body().collect().await.unwrap().to_bytes());
}
