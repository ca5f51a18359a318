//! Where polling and delivery URLs lead.

use imagekiln_simulator::Config;
use serde_json::json;

use super::bench::{Bench, Response, small};

/// Submits a request with this host, and returns the response.
async fn submit(bench: &Bench, base: &str, headers: &[(&str, &str)]) -> Response {
    let own = [("x-key", bench.sim.api_key()), ("content-type", "application/json")];
    let body = small("a fox").to_string();
    let headers = [&own[..], headers].concat();
    bench.send("POST", &format!("{base}/v1/gen-2-pro"), &headers, body).await
}

#[tokio::test]
async fn urls_lead_back_to_the_host_that_the_client_named() {
    let bench = Bench::new().await;
    for base in [bench.sim.base_url(), bench.sim.regional_base_url()] {
        let port = base.rsplit(':').next().unwrap();
        let named = format!("http://localhost:{port}");
        let task = submit(&bench, &named, &[]).await.json();
        let polling_url = task["polling_url"].as_str().unwrap();
        assert!(polling_url.starts_with(&format!("{named}/v1/get_result?id=")), "{polling_url}");
        let sample = bench.sample(&task).await;
        assert!(sample.starts_with(&format!("{named}/delivery/")), "{sample}");
        assert_eq!(bench.fetch(&sample).await.status, 200);
    }
    let base = bench.sim.base_url();
    let task = submit(&bench, base, &[("host", "simulator:8811")]).await.json();
    let polling_url = task["polling_url"].as_str().unwrap();
    assert!(polling_url.starts_with("http://simulator:8811/v1/"), "{polling_url}");
    for odd in ["ann:secret@host", "a b"] {
        let response = submit(&bench, base, &[("host", odd)]).await;
        assert!(
            response.status == 400 || {
                let task = response.json();
                task["polling_url"].as_str().unwrap().starts_with(base)
            }
        );
    }
}

#[tokio::test]
async fn a_public_url_is_used_for_every_client() {
    let bench = Bench::with(Config {
        public_url: Some("https://images.example.com/sim/".to_owned()),
        ..Config::default()
    })
    .await;
    let task = submit(&bench, bench.sim.base_url(), &[]).await.json();
    let polling_url = task["polling_url"].as_str().unwrap();
    assert!(polling_url.starts_with("https://images.example.com/sim/v1/get_result?id="));
    let own = polling_url.replace("https://images.example.com/sim", bench.sim.base_url());
    bench.sim.clock().advance(std::time::Duration::from_secs(1));
    let sample = bench.get(&own).await.json()["result"]["sample"].clone();
    assert!(sample.as_str().unwrap().starts_with("https://images.example.com/sim/delivery/"));
    let regional = submit(&bench, bench.sim.regional_base_url(), &[]).await.json();
    let polling_url = regional["polling_url"].as_str().unwrap();
    assert!(polling_url.starts_with(bench.sim.regional_base_url()), "{polling_url}");
}

#[tokio::test]
async fn the_health_of_every_port_is_shown_without_a_key() {
    let bench = Bench::new().await;
    let ports = [bench.sim.base_url(), bench.sim.regional_base_url(), bench.sim.control_url()];
    for base in ports {
        let response = bench.fetch(&format!("{base}/healthz")).await;
        assert_eq!((response.status.as_u16(), response.json()), (200, json!({ "status": "ok" })));
    }
    assert_eq!(bench.sim.counts().polls, 0);
}
