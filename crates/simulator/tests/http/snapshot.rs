//! Snapshots: taken from one simulator, and restored in another.

mod content;
mod invalid;
mod mutations;
mod operations;
mod restoring;
mod times;

use std::time::Duration;

use serde_json::{Value, json};

use super::bench::{Bench, Response, png, small};
use imagekiln_simulator::{Config, Organization, Project, ProjectKey};

/// The key of the project `web` of `acme`.
const ACME_KEY: &str = "the-key-of-acme-web";

/// Secrets that no snapshot contains.
const SECRETS: [&str; 6] =
    [ACME_KEY, "imagekiln-simulator-key", "s3cret", "hidden", "made-at-run-time", "987654321"];

fn config() -> Config {
    let keys = vec![ProjectKey { name: "ci".to_owned(), key: ACME_KEY.into() }];
    let web = Project { name: "Web".to_owned(), keys, ..Project::default() };
    let acme = Organization { projects: vec![web], ..Organization::new("Acme") };
    Config {
        organizations: vec![acme],
        ready_after: Duration::from_secs(10),
        // A stopped clock, so that nothing changes between two snapshots.
        speed: 0.0,
        seed: Some(987_654_321.into()),
        ..Config::default()
    }
}

impl Bench {
    /// A simulator at noon. Before midnight, what was spent on a day may be of another day a moment
    /// later.
    async fn at_noon(config: Config) -> Self {
        const DAY: f64 = 24.0 * 3600.0;
        let bench = Self::with(config).await;
        let time_of_day = bench.sim.clock().unix_now().as_secs_f64() % DAY;
        bench.advance((1.5 * DAY - time_of_day) % DAY);
        bench
    }

    async fn snapshot(&self) -> Value {
        self.show("/api/snapshot").await
    }

    async fn restore(&self, document: &Value) -> Response {
        self.control("PUT", "/api/snapshot", Some(document.clone())).await
    }

    /// Another simulator, with the state of this document.
    async fn restored(config: Config, document: &Value) -> Self {
        let bench = Self::at_noon(config).await;
        let response = bench.restore(document).await;
        assert_eq!((response.status.as_u16(), response.json()), (200, json!({ "restored": true })));
        bench
    }

    fn advance(&self, seconds: f64) {
        self.sim.clock().advance(Duration::from_secs_f64(seconds));
    }
}

/// A simulator with every kind of content, at a moment at which nothing is in between.
async fn prepared() -> Bench {
    let bench = Bench::at_noon(config()).await;
    accounts(&bench).await;
    bench.submit("/v1/gen-2-flex", &small("expired")).await;
    let dropped = json!({ "prompt": "a", "input_image": png(64, 64), "width": 64, "height": 64 });
    let dropped = bench.submit("/v1/gen-2-pro", &dropped).await;
    bench.advance(10.0);
    let sample = bench.sample(&dropped).await;
    assert_eq!(bench.fetch(&sample).await.status, 200);
    bench.advance(700.0);
    bench.sim.faults().add("html-502@poll:once").unwrap();
    bench.sim.faults().add("slow-body@delivery=0:0.5").unwrap();
    let ready = json!({
        "prompt": "a fox [[html:2x]] [[unknown-status]]", "input_image": png(64, 64),
        "width": 64, "height": 64,
        "seed": i64::MAX, "webhook_secret": "s3cret",
        "webhook_url": "http://127.0.0.1:9/hook?token=hidden", "colour": "red",
    });
    let ready = bench.submit("/v1/gen-2-pro", &ready).await;
    assert_eq!(bench.get(ready["polling_url"].as_str().unwrap()).await.status, 502);
    bench.poll(&ready).await;
    bench.submit("/v1/gen-2-flex", &small("gore [[error]]")).await;
    bench.submit("/v1/finetune", &json!({ "name": "trained" })).await;
    bench.advance(5.0);
    let video = json!({ "prompt": "waves", "width": 64, "height": 64, "duration": 1, "fps": 2 });
    assert_eq!(bench.post_as(ACME_KEY, "/v1/gen-3-video", &video).await.status, 200);
    bench.submit("/v1/finetune", &json!({ "name": "in-training" })).await;
    bench.advance(5.0);
    bench.fetch(&bench.sample(&ready).await).await;
    assert_eq!(bench.post("/v1/gen-2-flex", &json!({ "width": 1 })).await.status, 422);
    bench
}

/// Changes the accounts in every way.
async fn accounts(bench: &Bench) {
    let acme = "/api/organizations/acme";
    let web = "/api/organizations/acme/projects/web";
    for (method, path, body) in [
        ("POST", "/api/organizations".to_owned(), json!({ "name": "Ümlaut & Co", "owner": "eve" })),
        ("POST", format!("{acme}/credits"), json!({ "amount": 12.34 })),
        (
            "POST",
            "/api/transfers".to_owned(),
            json!({ "from": "acme", "to": "default", "amount": 1.5 }),
        ),
        ("PUT", format!("{acme}/members/bob"), json!({ "role": "viewer" })),
        ("PUT", format!("{acme}/members/bob"), json!({ "role": "developer", "project": "web" })),
        ("PUT", format!("{acme}/finetunes/house"), json!({ "shared": true })),
        ("PUT", format!("{web}/limits"), json!({ "daily": 3.01, "monthly": 500 })),
        ("PUT", format!("{web}/endpoints"), json!({ "endpoints": ["gen-3-video", "gen-2-*"] })),
        ("PUT", format!("{web}/max_active_tasks"), json!({ "max_active_tasks": 7 })),
        ("POST", format!("{web}/keys"), json!({ "name": "new", "key": "made-at-run-time" })),
        ("POST", format!("{web}/keys"), json!({ "name": "revoked", "key": "another-key" })),
        ("PUT", "/api/clock".to_owned(), json!({ "speed": 0 })),
    ] {
        bench.change(method, &path, body).await;
    }
    bench.change("DELETE", "/api/keys/key-4", json!({})).await;
}
