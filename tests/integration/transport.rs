//! Settings of the transport: headers, proxies, retries and deadlines.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    received::Received,
    reply::Reply,
    samples::{
        self, PNG, accepted, assert_kind, builder, fox, ready_body, ready_picture_with, seconds,
        served_with,
    },
    scripted::ScriptedServer,
};
use imagekiln::{ClientBuilder, ErrorKind, RetryPolicy};

/// The service has too many requests.
pub fn refused() -> Reply {
    Reply::json(429, &json!({ "detail": "slow down" }))
}

#[tokio::test(start_paused = true)]
async fn default_headers_are_sent_only_to_the_service() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = builder(&service)
        .default_header("X-Gateway", "gateway-secret")
        .user_agent_suffix("fox-farm/1.2")
        .build()
        .unwrap();
    service.reply(accepted(&service, "t1")).reply(samples::ready(&delivery));
    delivery.reply(Reply::png(PNG));

    client.submit(fox()).await.unwrap().wait().await.unwrap().bytes().await.unwrap();

    let agent = concat!("imagekiln/", env!("CARGO_PKG_VERSION"), " fox-farm/1.2");
    for request in service.received() {
        request.assert_has_key();
        assert_eq!(request.header("x-gateway"), Some("gateway-secret"));
        assert_eq!(request.header("user-agent"), Some(agent));
    }
    let download = delivery.only_request();
    download.assert_has_no_key();
    assert_eq!(download.header("x-gateway"), None);
    assert_eq!(download.header("user-agent"), Some(agent));
}

#[tokio::test(start_paused = true)]
async fn default_headers_are_secret() {
    let service = ScriptedServer::start().await;
    let settings = builder(&service).default_header("x-gateway", "gateway-secret");
    assert!(!format!("{settings:?}").contains("gateway-secret"));
    let echo = json!({ "detail": "the gateway does not know gateway-secret" });
    service.reply(Reply::json(403, &echo));
    let error = settings.build().unwrap().submit(fox()).await.unwrap_err();
    assert!(!error.to_string().contains("gateway-secret"), "{error}");
}

#[tokio::test]
async fn invalid_settings_are_named_in_the_error() {
    let server = ScriptedServer::start().await;
    let refused = |change: fn(ClientBuilder) -> ClientBuilder| {
        let error = change(builder(&server)).build().unwrap_err();
        assert_kind(&error, ErrorKind::Settings);
        error.to_string()
    };
    let errors = [
        refused(|builder| builder.default_header("x-key", "another")),
        refused(|builder| builder.default_header("Content-Length", "1")),
        refused(|builder| builder.default_header("no name", "1")),
        refused(|builder| builder.default_header("x-a", "line\nbreak")),
        refused(|builder| builder.user_agent_suffix("line\nbreak")),
        refused(|builder| builder.proxy("proxy.example.com:3128")),
        refused(|builder| builder.proxy("socks5://user:hidden@proxy.example.com")),
        refused(|builder| builder.poll_deadline(Duration::ZERO)),
        refused(|builder| builder.submit_deadline(Duration::ZERO)),
    ];
    let shown = errors.join("\n");
    assert!(!shown.contains("hidden"), "{shown}");
    insta::assert_snapshot!(shown);
}

/// Requests to loopback hosts do not use the proxy, so the service has a name that only the proxy
/// can resolve.
#[tokio::test]
async fn a_proxy_receives_every_request_except_to_loopback() {
    let (proxy, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    proxy.reply(accepted(&local, "t1")).reply(Reply::png(PNG));
    local.reply(Reply::json(200, &ready_body("http://cdn.test/fox.png")));
    let client = builder(&local)
        .base_url("http://service.test")
        .allow_http(true)
        .allow_polling_host(local.authority())
        .proxy(proxy.url("").replace("http://", "http://user:word@"))
        .build()
        .unwrap();

    let picture = client.submit(fox()).await.unwrap().wait().await.unwrap();
    assert_eq!(picture.bytes().await.unwrap(), PNG);

    let [submission, download] = proxy.received().try_into().unwrap();
    assert_eq!(submission.target, "http://service.test/v1/gen-2-pro");
    assert_eq!(submission.header("proxy-authorization"), Some("Basic dXNlcjp3b3Jk"));
    assert_eq!(download.target, "http://cdn.test/fox.png");
    download.assert_has_no_key();
}

#[tokio::test(start_paused = true)]
async fn the_retry_policy_limits_submission_attempts() {
    let service = ScriptedServer::start().await;
    service.reply(refused()).reply(refused());
    let client = builder(&service).retry(RetryPolicy::default().attempts(2)).build().unwrap();
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::RateLimited);
    assert_eq!(service.posts().len(), 2);

    service.reply(refused());
    let client = builder(&service).retry(RetryPolicy::default().attempts(0)).build().unwrap();
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::RateLimited);
    assert_eq!(service.posts().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_retry_policy_limits_retry_after() {
    let service = ScriptedServer::start().await;
    let policy = RetryPolicy::default().longest_retry_after(seconds(10));
    let client = builder(&service).retry(policy).build().unwrap();
    service.reply(refused().header("retry-after", "11"));
    let error = client.submit(fox()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(seconds(11)));
    assert_eq!(service.posts().len(), 1);

    service.reply(refused().header("retry-after", "600")).reply(samples::status("Error"));
    let started = Instant::now();
    let error = samples::task(&client, &service).wait().await.unwrap_err();
    assert_kind(&error, ErrorKind::TaskFailed);
    assert!((10..15).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_patience_is_longer_than_time() {
    let service = ScriptedServer::start().await;
    let policy = RetryPolicy::default().longest_retry_after(Duration::MAX);
    let client = builder(&service).retry(policy).build().unwrap();
    let forever = u64::MAX.to_string();
    service.reply(refused().header("retry-after", &forever));
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::RateLimited);
    // The last poll is sent shortly before the deadline.
    service.reply(refused().header("retry-after", &forever)).reply(samples::status("Pending"));
    let error = samples::task(&client, &service).wait().await.unwrap_err();
    assert_kind(&error, ErrorKind::Deadline);
}

#[tokio::test(start_paused = true)]
async fn the_retry_policy_limits_download_attempts() {
    let (_service, delivery, picture) =
        ready_picture_with(|builder| builder.retry(RetryPolicy::default().attempts(1))).await;
    delivery.reply(Reply::json(503, &json!({})));
    assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Download);
    delivery.only_request();
}

#[tokio::test(start_paused = true)]
async fn a_poll_is_retried_after_its_deadline() {
    let (service, client) = served_with(|builder| builder.poll_deadline(seconds(3))).await;
    service.reply(Reply::silence()).reply(samples::status("Error"));
    let started = Instant::now();
    let error = samples::task(&client, &service).wait().await.unwrap_err();
    assert_kind(&error, ErrorKind::TaskFailed);
    assert!((3..5).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

/// A server may close an idle connection at any moment. Nobody knows whether it has received a
/// submission that was written into the closing.
#[tokio::test]
async fn each_submission_has_a_new_connection_and_other_requests_share_one() {
    let service = ScriptedServer::start().await;
    let settings = builder(&service).http_client(|http| http.pool_max_idle_per_host(8));
    let client = settings.build().unwrap();
    service.otherwise(|_| samples::status("Pending"));
    for _ in 0..3 {
        service.reply(accepted(&service, "t1"));
        let task = client.submit(fox()).await.unwrap();
        let _ = task.poll().await.unwrap();
    }
    let connections = |requests: Vec<Received>| -> Vec<_> {
        requests.into_iter().map(|request| request.connection).collect()
    };
    assert_eq!(connections(service.posts()), [1, 3, 4]);
    assert_eq!(connections(service.polls()), [2, 2, 2]);
}

/// reqwest panics if it has no TLS provider, which the features of another crate can cause.
#[tokio::test]
async fn an_http_client_that_panics_is_an_error() {
    let server = ScriptedServer::start().await;
    let error = builder(&server).http_client(|_| panic!("No provider set")).build().unwrap_err();
    assert_kind(&error, ErrorKind::Settings);
    assert!(error.advice().unwrap().contains("rustls"), "{error}");
}
