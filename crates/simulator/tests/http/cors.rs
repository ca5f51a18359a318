//! Requests of web pages from other origins.

use super::bench::{Bench, Response};
use imagekiln_simulator::Config;

const PAGE: &str = "http://localhost:3000";

async fn bench(origins: &[&str]) -> Bench {
    let cors_origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    Bench::with(Config { cors_origins, ..Config::default() }).await
}

/// What a browser sends before a submission.
async fn preflight(bench: &Bench, origin: &str) -> Response {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type,x-key"),
    ];
    let url = format!("{}/v1/gen-2-pro", bench.sim.base_url());
    bench.send("OPTIONS", &url, &headers, "").await
}

fn allowed(response: &Response) -> Option<&str> {
    response.headers.get("access-control-allow-origin").map(|origin| origin.to_str().unwrap())
}

#[tokio::test]
async fn pages_may_call_the_service_only_if_they_are_listed() {
    let bench = bench(&[PAGE]).await;
    let response = preflight(&bench, PAGE).await;
    assert_eq!((response.status.as_u16(), allowed(&response)), (200, Some(PAGE)));
    assert_eq!(response.headers["access-control-allow-headers"], "content-type,x-key");
    assert_eq!(allowed(&preflight(&bench, "http://other.example").await), None);
    let refused = bench
        .send("POST", &format!("{}/v1/gen-2-pro", bench.sim.base_url()), &[("origin", PAGE)], "")
        .await;
    assert_eq!((refused.status.as_u16(), allowed(&refused)), (403, Some(PAGE)));
    // Scripts may read all headers of the response, such as `retry-after`.
    assert_eq!(refused.headers["access-control-expose-headers"], "*");
    let control = format!("{}/api/state", bench.sim.control_url());
    let control = bench.send("GET", &control, &[("origin", PAGE)], "").await;
    assert_eq!((control.status.as_u16(), allowed(&control)), (403, None));
}

#[tokio::test]
async fn by_default_no_page_and_with_a_star_every_page_may_call_it() {
    let response = preflight(&bench(&[]).await, PAGE).await;
    assert_eq!((response.status.as_u16(), allowed(&response)), (405, None));
    assert_eq!(allowed(&preflight(&bench(&["*"]).await, PAGE).await), Some("*"));
}
