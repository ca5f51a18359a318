//! Images that are given by their URLs are fetched if the settings allow it.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use image::ImageFormat;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::bench::{Bench, png};
use imagekiln_simulator::{Config, FetchImages};
use imagekiln_testbed::{ClosedPort, picture};

const PATH: &str = "/v1/gen-tools/deblur-v1";

fn file() -> Bytes {
    picture::encoded(picture::gradient(128, 64), ImageFormat::Png).into()
}

/// Chunks of a kilobyte without an end.
fn endless() -> Body {
    let chunks =
        futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![0; 1024])));
    Body::from_stream(chunks)
}

async fn serve(headers: HeaderMap, request: Request) -> Response {
    let target = request.uri().query().unwrap_or_default().to_owned();
    match request.uri().path() {
        "/image" if headers.contains_key("x-key") => StatusCode::BAD_REQUEST.into_response(),
        "/image" => file().into_response(),
        "/to" => Redirect::temporary(&target).into_response(),
        "/loop" => Redirect::permanent("/loop").into_response(),
        "/cut" => file().slice(..file().len() - 20).into_response(),
        "/html" => ([(header::CONTENT_TYPE, "image/png")], "<html>").into_response(),
        "/endless" => endless().into_response(),
        "/silent" => std::future::pending().await,
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Starts a server of images and returns its base URL.
async fn images() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(get(serve));
    tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
    base
}

async fn bench(fetch_images: FetchImages) -> Bench {
    let config = Config { fetch_images, max_body_bytes: 100_000, ..Config::default() };
    Bench::with(config).await
}

/// The message of the only violation, which is that of the image.
async fn refusal(bench: &Bench, url: &str) -> String {
    let response = bench.post(PATH, &json!({ "image": url })).await;
    assert_eq!(response.violations(), ["body.image value_error"], "{url}");
    response.json()["detail"][0]["msg"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_fetched_image_is_like_one_in_the_request() {
    let (images, bench) = (images().await, bench(FetchImages::Loopback).await);
    let inline = bench.submit(PATH, &json!({ "image": png(128, 64), "seed": 7 })).await;
    let expected = bench.fetch(&bench.sample(&inline).await).await.body;
    for url in [
        format!("{images}/image?signature=hidden"),
        format!("{}/image", images.replace("127.0.0.1", "localhost")),
        format!("{}/image", images.replace("127.0.0.1", "[::ffff:127.0.0.1]")),
        format!("{images}/to?/to?{images}/image"),
    ] {
        let task = bench.submit(PATH, &json!({ "image": url, "seed": 7 })).await;
        assert_eq!((&task["input_mp"], &task["cost"]), (&json!(0.01), &inline["cost"]), "{url}");
        let view = bench.view(&task);
        assert_eq!((view.width, view.height), (128, 64));
        assert!(!view.request.to_string().contains("hidden"), "{}", view.request);
        let sample = bench.sample(&task).await;
        assert!(bench.fetch(&sample).await.body == expected, "{url}: another picture");
    }
    let body = json!({ "prompt": "x", "input_image": format!("{images}/image"),
        "input_image_2": format!("{images}/image"), "input_image_3": format!("{images}/image?3") });
    bench.submit("/v1/gen-2-pro", &body).await;
}

#[tokio::test]
async fn an_image_that_cannot_be_fetched_is_a_violation() {
    let (images, bench) = (images().await, bench(FetchImages::Any).await);
    let closed = ClosedPort::reserve();
    for (url, problem) in [
        (format!("{}/?hidden", closed.url()), "could not connect"),
        (format!("https://{}/?hidden", images.trim_start_matches("http://")), "TLS failed"),
        (format!("{images}/missing?hidden"), "has the status code 404"),
        (format!("{images}/loop?hidden"), "more than 3 redirects"),
        (format!("{images}/to?file:///etc/passwd"), "neither http nor https"),
        (format!("{images}/html?hidden"), "not a jpeg, png or webp image"),
        (format!("{images}/cut?hidden"), "could not decode the image"),
        (format!("{images}/endless?hidden"), "larger than `max_body_bytes`"),
        ("http://no-such-host.invalid/?hidden".to_owned(), "could not resolve"),
        ("http://0.0.0.0/?hidden".to_owned(), "not an address"),
    ] {
        let refusal = refusal(&bench, &url).await;
        let known = refusal.contains(problem) || refusal.contains("no trusted certificates");
        assert!(known && !refusal.contains("hidden"), "{url}: {refusal}");
    }
    assert_eq!(bench.sim.counts().accepted, 0);
}

#[tokio::test]
async fn only_what_the_setting_allows_is_fetched() {
    let elsewhere = "http://192.0.2.1/fox.png";
    let loopback = bench(FetchImages::Loopback).await;
    for url in [elsewhere, "http://fox.example/fox.png"] {
        assert!(refusal(&loopback, url).await.contains("is not on this machine"), "{url}");
    }
    let images = images().await;
    let redirected = refusal(&loopback, &format!("{images}/to?{elsewhere}")).await;
    assert!(redirected.contains("is not on this machine"), "{redirected}");
    let task = Bench::new().await.submit(PATH, &json!({ "image": elsewhere })).await;
    assert_eq!(task["input_mp"], Value::Null, "never fetched by default");
}

#[tokio::test]
async fn the_simulator_is_not_fetched_from() {
    let images = images().await;
    for setting in [FetchImages::Loopback, FetchImages::Any] {
        let bench = bench(setting).await;
        let sim = &bench.sim;
        for base in [sim.base_url(), sim.regional_base_url(), sim.control_url()] {
            for host in ["127.0.0.1", "127.0.0.2", "localhost", "[::1]", "[::ffff:127.0.0.1]"] {
                let url = format!("{}/healthz", base.replace("127.0.0.1", host));
                for url in [url.clone(), format!("{images}/to?{url}")] {
                    let refusal = refusal(&bench, &url).await;
                    assert!(
                        refusal.contains("does not send requests to itself"),
                        "{url}: {refusal}"
                    );
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_respond_is_given_up() {
    let (images, bench) = (images().await, bench(FetchImages::Loopback).await);
    let before = tokio::time::Instant::now();
    let refusal = refusal(&bench, &format!("{images}/silent")).await;
    assert!(refusal.contains("no response within 10 s"), "{refusal}");
    assert!(before.elapsed() < Duration::from_secs(11));
}
