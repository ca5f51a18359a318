//! Requests that are not valid HTTP.

use tokio::io::AsyncReadExt as _;

use super::{
    bench::Bench,
    raw::{Raw, open},
};

/// The status line of a request that is not valid HTTP. Its response has no body.
const BAD_REQUEST: &str = "HTTP/1.1 400 ";

async fn response(bench: &Bench, request: &str) -> String {
    let mut response = String::new();
    open(bench.sim.base_url(), request).await.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn protocol_errors_reach_clients_that_send_everything_first() {
    let bench = Bench::new().await;
    let long = "x".repeat(1 << 20);
    let many = "a: b\r\n".repeat(200);
    let requests = [
        ("no HTTP at all\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nna me: x\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n".to_owned(), 400),
        (format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nhost: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
    ];
    for (request, status) in &requests {
        let response = response(&bench, request).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
        assert!(response.ends_with("\r\n\r\n"), "{response}");
    }
    let recorded = bench.sim.requests();
    let recorded: Vec<_> = recorded.iter().filter_map(|request| request.status).collect();
    assert_eq!(recorded, requests.map(|(_, status)| status));
}

#[tokio::test]
async fn a_protocol_error_follows_the_responses_before_it() {
    let bench = Bench::new().await;
    let requests = "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2);
    let all = response(&bench, &format!("{requests}no HTTP at all\r\n\r\n")).await;
    let (first, rest) = all.split_once(r#"{"detail":"Not Found"}"#).unwrap();
    assert!(first.starts_with("HTTP/1.1 404 "), "{all}");
    let (second, error) = rest.split_once(r#"{"detail":"Not Found"}"#).unwrap();
    assert!(second.starts_with("HTTP/1.1 404 "), "{all}");
    assert!(error.starts_with(BAD_REQUEST), "{all}");
}

/// The error waits until the client has read the picture before it.
#[tokio::test]
async fn a_protocol_error_does_not_damage_the_response_before_it() {
    let bench = Bench::new().await;
    let body = serde_json::json!({ "prompt": "x", "width": 1024, "height": 1024,
        "output_format": "png" });
    let sample = bench.sample(&bench.submit("/v1/gen-2-pro", &body).await).await;
    let picture = bench.fetch(&sample).await.body;
    let path = sample.strip_prefix(bench.sim.base_url()).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\nno HTTP at all\r\n\r\n");
    let received = Raw::read(open(&sample, request).await).await.body;
    let error = received.strip_prefix(&picture[..]).expect("another picture");
    assert!(error.starts_with(BAD_REQUEST.as_bytes()), "{error:?}");
}
