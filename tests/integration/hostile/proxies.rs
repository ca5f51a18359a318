//! Loopback hosts are reached without a proxy, and all other hosts through the system proxy, by the
//! same client.
//!
//! The HTTP client reads its proxies from the environment of the process, so the client runs in a
//! child process. The servers, one of which is its proxy, run in the parent process.

use std::env;

use crate::support::{
    child,
    reply::Reply,
    samples::{KEY, PNG, accepted, fox, ready_body},
    scripted::ScriptedServer,
};
use imagekiln::Client;

const LOCAL: &str = "IMAGEKILN_TEST_LOCAL_SERVER";

async fn run_client(test: &'static str, proxy: &ScriptedServer, local: &ScriptedServer) {
    let (proxy, local) = (proxy.url(""), local.authority());
    let run = move || {
        child::run(
            &format!("hostile::proxies::{test}"),
            &[("HTTP_PROXY", &proxy), (LOCAL, &local)],
        );
    };
    tokio::task::spawn_blocking(run).await.unwrap();
}

fn targets(server: &ScriptedServer) -> Vec<String> {
    server.received().into_iter().map(|request| request.target).collect()
}

#[tokio::test]
async fn system_proxies_are_used_for_all_hosts_except_loopback() {
    if child::is_child() {
        return client_of_a_remote_service().await;
    }
    let (proxy, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    proxy.reply(accepted(&local, "t1")).reply(Reply::png(PNG));
    local
        .reply(Reply::json(200, &ready_body("http://cdn.test/fox.png")))
        .reply(Reply::json(200, &ready_body(&local.url("/fox.png"))))
        .reply(Reply::redirect(302, "/moved/fox.png"))
        .reply(Reply::png(PNG));

    run_client("system_proxies_are_used_for_all_hosts_except_loopback", &proxy, &local).await;

    assert_eq!(targets(&proxy), ["http://service.test/v1/gen-2-pro", "http://cdn.test/fox.png"]);
    let polled = "/poll/t1?signature=polling-signature-a90c44";
    assert_eq!(targets(&local), [polled, polled, "/fox.png", "/moved/fox.png"]);
    proxy.received()[1].assert_has_no_key();
}

async fn client_of_a_remote_service() {
    let local = env::var(LOCAL).unwrap();
    let client = Client::builder()
        .api_key(KEY)
        .base_url("http://service.test")
        .allow_http(true)
        .allow_polling_host(&local)
        .allow_delivery_host(&local)
        .build()
        .unwrap();
    let task = client.submit(fox()).await.unwrap();
    for _ in ["from cdn.test", "from loopback"] {
        let update = task.poll().await.unwrap();
        assert_eq!(update.picture().unwrap().bytes().await.unwrap(), PNG);
    }
}

#[tokio::test]
async fn system_proxies_are_used_for_remote_polls_of_a_local_service() {
    if child::is_child() {
        return client_of_a_local_service().await;
    }
    let (proxy, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    local.reply(Reply::json(
        200,
        &serde_json::json!({ "id": "t1", "polling_url": "http://polls.test/t1" }),
    ));
    // A redirect from a remote to a local host: the proxy is chosen again for each request.
    proxy
        .reply(Reply::json(200, &ready_body("http://cdn.test/fox.png")))
        .reply(Reply::redirect(302, &local.url("/fox.png")));
    local.reply(Reply::png(PNG));

    run_client("system_proxies_are_used_for_remote_polls_of_a_local_service", &proxy, &local).await;

    assert_eq!(targets(&proxy), ["http://polls.test/t1", "http://cdn.test/fox.png"]);
    assert_eq!(targets(&local), ["/v1/gen-2-pro", "/fox.png"]);
}

async fn client_of_a_local_service() {
    let local = env::var(LOCAL).unwrap();
    let client = Client::builder()
        .api_key(KEY)
        .base_url(format!("http://{local}"))
        .allow_http(true)
        .allow_polling_host("polls.test")
        .build()
        .unwrap();
    let update = client.submit(fox()).await.unwrap().poll().await.unwrap();
    assert_eq!(update.picture().unwrap().bytes().await.unwrap(), PNG);
}
