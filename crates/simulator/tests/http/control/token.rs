//! The token of the control interface.

use std::net::SocketAddr;

use serde_json::json;

use crate::bench::Bench;
use imagekiln_simulator::Config;

const TOKEN: &str = "a-token-of-24-characters";
const REMOTE: &str = "kiln.example:8316";

async fn bench() -> Bench {
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let token = Some(TOKEN.into());
    Bench::with(Config { control_listen: Some(any), control_token: token, ..Config::default() })
        .await
}

#[tokio::test]
async fn without_the_token_nothing_is_served() {
    let bench = bench().await;
    let bearer = format!("Bearer {TOKEN}");
    for path in ["/", "/api/state", "/api/requests", "/page.css", "/try/global/v1/get_result?id=x"]
    {
        for wrong in [
            vec![],
            vec![("authorization", TOKEN)],
            vec![("authorization", "Bearer a-token-of-24-character")],
            vec![("cookie", "imagekiln-control=")],
            vec![("x-key", bench.sim.api_key())],
        ] {
            let response = bench.visit(path, &wrong).await;
            assert_eq!(response.status, 401, "{path} {wrong:?}");
            assert!(
                response.json()["detail"].is_string()
                    && !response.headers.contains_key("set-cookie")
            );
        }
        // Other machines call it by another name.
        let right = [("authorization", bearer.as_str()), ("host", REMOTE)];
        assert_ne!(bench.visit(path, &right).await.status, 401, "{path}");
    }
    let reset = format!("{}/api/reset", bench.sim.control_url());
    let body = json!({}).to_string();
    let json = ("content-type", "application/json");
    assert_eq!(bench.send("POST", &reset, &[json], body.clone()).await.status, 401);
    let headers = [json, ("authorization", bearer.as_str())];
    assert_eq!(bench.send("POST", &reset, &headers, body).await.status, 200);
    assert_eq!(bench.visit("/healthz", &[]).await.status, 200);
}

#[tokio::test]
async fn the_page_exchanges_the_token_for_a_cookie() {
    let bench = bench().await;
    assert_eq!(bench.visit("/?token=wrong", &[]).await.status, 401);
    let entered = bench.visit(&format!("/?token={TOKEN}"), &[("host", REMOTE)]).await;
    assert_eq!(
        (entered.status.as_u16(), &entered.headers["location"]),
        (303, &"/".parse().unwrap())
    );
    let cookie = entered.headers["set-cookie"].to_str().unwrap();
    let (cookie, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "HttpOnly; SameSite=Strict; Path=/");
    let with_cookie = [("cookie", cookie), ("host", REMOTE)];
    assert_eq!(bench.visit("/", &with_cookie).await.status, 200);
    assert_eq!(bench.visit("/api/state", &with_cookie).await.status, 200);
    let foreign = [with_cookie[0], with_cookie[1], ("origin", "http://other.example")];
    assert_eq!(bench.visit("/api/state", &foreign).await.status, 403);
    let behind_tls = [with_cookie[0], with_cookie[1], ("origin", "https://kiln.example:8316")];
    assert_eq!(bench.visit("/api/state", &behind_tls).await.status, 200);
}
