//! Tasks, counts, the clock, the contract and the event stream.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::bench::{Bench, small};
use imagekiln_simulator::{Config, Organization, Project, ProjectKey};

/// A field of each task in a page.
fn texts<'a>(page: &'a Value, field: &str) -> Vec<&'a str> {
    page["tasks"].as_array().unwrap().iter().map(|task| task[field].as_str().unwrap()).collect()
}

fn ids(page: &Value) -> Vec<&str> {
    texts(page, "id")
}

#[tokio::test]
async fn tasks_are_listed_newest_first_in_pages() {
    let bench = Bench::new().await;
    let mut submitted = Vec::new();
    for number in 0..5 {
        let task = bench.submit("/v1/gen-2-pro", &small(&format!("number {number}"))).await;
        submitted.insert(0, task["id"].as_str().unwrap().to_owned());
    }
    let first = bench.show("/api/tasks?limit=2").await;
    assert_eq!((ids(&first), &first["total"]), (vec![&*submitted[0], &*submitted[1]], &json!(5)));
    let mut seen = ids(&first).iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let mut next = first["next"].clone();
    while let Some(before) = next.as_str() {
        let page = bench.show(&format!("/api/tasks?limit=2&before={before}")).await;
        seen.extend(ids(&page).iter().map(|id| (*id).to_owned()));
        next = page["next"].clone();
    }
    assert_eq!(seen, submitted);
    for (query, status) in
        [("before=unknown", 404), ("limit=x", 400), ("progress=none", 400), ("other=1", 400)]
    {
        let response = bench.control("GET", &format!("/api/tasks?{query}"), None).await;
        assert_eq!(response.status, status, "{query}");
        assert!(response.json()["detail"].is_string());
    }
}

#[tokio::test]
async fn tasks_are_found_by_progress_and_by_text() {
    let bench = Bench::new().await;
    bench.submit("/v1/gen-2-pro", &small("a Fox")).await;
    bench.submit("/v1/gen-2-flex", &small("a hen [[error]]")).await;
    bench.sim.clock().advance(Duration::from_secs(1));
    bench.submit("/v1/gen-2-pro", &small("an owl")).await;
    for (query, found) in [
        ("progress=active", vec!["an owl"]),
        ("progress=failed", vec!["a hen [[error]]"]),
        ("progress=ready", vec!["a Fox"]),
        ("search=fox", vec!["a Fox"]),
        ("search=gen-2-pro", vec!["an owl", "a Fox"]),
        ("search=error&progress=ready", vec![]),
        ("", vec!["an owl", "a hen [[error]]", "a Fox"]),
    ] {
        let page = bench.show(&format!("/api/tasks?{query}")).await;
        assert_eq!(texts(&page, "prompt"), found, "{query}");
    }
}

#[tokio::test]
async fn tasks_are_found_by_operation_region_and_project() {
    let key = ProjectKey { name: "ci".to_owned(), key: "web-key".into() };
    let web = Project { name: "Web".to_owned(), keys: vec![key], ..Project::default() };
    let acme = Organization { projects: vec![web], ..Organization::new("Acme") };
    let bench = Bench::with(Config { organizations: vec![acme], ..Config::default() }).await;
    bench.submit("/v1/gen-2-pro", &small("first")).await;
    let (path, second) = ("/v1/gen-2-flex", small("second").to_string());
    let second = bench.post_at(bench.sim.regional_base_url(), path, second).await;
    let third = bench.post_as("web-key", path, &small("third")).await;
    assert_eq!([second.status, third.status], [200, 200]);
    for (query, found) in [
        ("operation=gen-2-flex", vec!["third", "second"]),
        ("operation=gen-2", vec![]),
        ("region=regional", vec!["second"]),
        ("project=acme/web", vec!["third"]),
        ("project=default/default&operation=gen-2-flex", vec!["second"]),
    ] {
        let page = bench.show(&format!("/api/tasks?{query}")).await;
        assert_eq!(texts(&page, "prompt"), found, "{query}");
        assert_eq!(page["operations"], json!(["gen-2-flex", "gen-2-pro"]));
        assert_eq!(page["projects"], json!(["acme/web", "default/default"]));
    }
}

#[tokio::test]
async fn a_task_is_shown_with_its_request_and_its_picture() {
    let bench = Bench::new().await;
    let mut body = small("a fox");
    body["webhook_secret"] = "hidden".into();
    body["output_format"] = "png".into();
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    let path = format!("/api/tasks/{}", task["id"].as_str().unwrap());
    let shown = bench.show(&path).await;
    for (field, value) in [
        ("operation", json!("gen-2-pro")),
        ("organization", json!("default")),
        ("project", json!("default")),
        ("region", json!("global")),
        ("progress", json!("active")),
        ("status", json!("Pending")),
        ("picture", json!(null)),
        ("cost", task["cost"].clone()),
        ("output_mp", task["output_mp"].clone()),
        ("media_type", json!("image/png")),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    assert_eq!(shown["request"]["webhook_secret"], "[redacted]");
    let picture = format!("{path}/picture");
    assert_eq!(bench.control("GET", &picture, None).await.status, 404);

    let sample = bench.sample(&task).await;
    let shown = bench.show(&path).await;
    assert_eq!((&shown["progress"], &shown["picture"]), (&json!("ready"), &json!(picture)));
    let delivered = bench.fetch(&sample).await;
    bench.sim.clock().advance(Duration::from_secs(3600));
    assert_eq!(bench.fetch(&sample).await.status, 403);
    let response = bench.control("GET", &picture, None).await;
    assert_eq!(
        (response.headers["content-type"].as_bytes(), &response.body),
        (&b"image/png"[..], &delivered.body)
    );
    assert_eq!(bench.sim.counts().delivered, 1, "viewing is not a delivery");
    for unknown in ["/api/tasks/unknown", "/api/tasks/unknown/picture"] {
        assert_eq!(bench.control("GET", unknown, None).await.status, 404);
    }
    assert_eq!(bench.control("POST", &path, Some(json!({}))).await.status, 405);
}

#[tokio::test]
async fn the_state_has_counts_and_the_clock_advances() {
    let bench = Bench::new().await;
    bench.submit("/v1/gen-2-pro", &small("a")).await;
    bench.submit("/v1/gen-2-pro", &small("[[error]]")).await;
    bench.fetch(&format!("{}/v1/get_result", bench.sim.base_url())).await;
    let state = bench.show("/api/state").await;
    assert_eq!(state["base_url"], bench.sim.base_url());
    assert_eq!(state["regional_base_url"], bench.sim.regional_base_url());
    assert_eq!(state["counts"]["active"], 2);
    assert_eq!(state["counts"]["refused"], json!({ "403": 1 }));
    assert!(!state.to_string().contains(bench.sim.api_key()), "{state}");

    let before = bench.show("/api/clock").await["now"].as_f64().unwrap();
    let moved = bench.change("POST", "/api/clock/advance", json!({ "seconds": 86400.5 })).await;
    assert!(moved["now"].as_f64().unwrap() >= before + 86400.5);
    assert!(bench.sim.clock().now() >= Duration::from_secs_f64(86400.5));
    let counts = &bench.show("/api/state").await["counts"];
    assert_eq!(
        (&counts["active"], &counts["ready"], &counts["failed"]),
        (&json!(0), &json!(1), &json!(1))
    );
}

#[tokio::test]
async fn the_operator_sees_how_to_connect() {
    let bench = Bench::new().await;
    let mut expected = json!({
        "base_url": bench.sim.base_url(),
        "regional_base_url": bench.sim.regional_base_url(),
        "key": bench.sim.api_key(),
    });
    assert_eq!(bench.show("/api/connection").await, expected);
    expected["key"] = json!(null);
    let user = bench.control_as("bob", "GET", "/api/connection", None).await;
    assert_eq!(user.json(), expected);
    let audit = bench.show("/api/audit").await.to_string();
    assert!(!audit.contains("reveal"), "{audit}");
    let keys = &bench.show("/api/organizations").await["organizations"][0]["projects"][0]["keys"];
    let revoke = format!("/api/keys/{}", keys[0]["id"].as_str().unwrap());
    bench.control("DELETE", &revoke, None).await;
    assert_eq!(bench.show("/api/connection").await, expected);
}

#[tokio::test]
async fn the_contract_is_served_with_its_prefix_and_valid_examples() {
    let bench = Bench::with(Config { model_prefix: "xyz".to_owned(), ..Config::default() }).await;
    let document = bench.show("/api/openapi.json").await;
    assert_eq!(document["servers"][0]["url"], bench.sim.base_url());
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.keys().all(|path| !path.contains("gen-")), "{:?}", paths.keys());
    let text = document.to_string();
    assert!(["`gen-", "\"gen-", "\"^gen-"].iter().all(|name| !text.contains(name)));
    for (path, item) in paths {
        let Some(operation) = item.get("post") else { continue };
        // A model that has the operation as a tool reads only this.
        let text = operation["description"].as_str().unwrap();
        assert!(text.contains("polling_url") && text.contains("paid"), "{path}: {text}");
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        let server = operation["servers"][0]["url"].as_str().unwrap_or(bench.sim.base_url());
        assert_eq!(
            operation["x-region"] == "regional",
            server == bench.sim.regional_base_url(),
            "{path}"
        );
        let mut path = path.clone();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let (name, value) = (&parameter["name"], &parameter["example"]);
            let [name, value] = [name, value].map(|text| text.as_str().unwrap());
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let response = bench.post_at(server, &path, example.to_string()).await;
        assert_eq!(response.status, 200, "{path} {example}: {response:?}");
    }
}

#[tokio::test]
async fn the_contract_is_served_without_references_to_responses() {
    let bench = Bench::new().await;
    let mut expected = bench.show("/api/openapi.json").await;
    let inlined = bench.show("/api/openapi.json?responses=inline").await;
    let mut count = 0;
    for (path, item) in expected["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, reference) in operation["responses"].as_object().unwrap() {
                let name = reference["$ref"].as_str().and_then(|text| text.strip_prefix('#'));
                let response = name.map_or(reference, |name| expected.pointer(name).unwrap());
                let place = &inlined["paths"][path][method]["responses"][status];
                assert_eq!(place, response, "{path} {status}");
                count += usize::from(name.is_some());
            }
        }
    }
    assert!(count > 0);
    assert!(!inlined.to_string().contains("#/components/responses"));
    // The schemas and everything else are as before.
    expected["components"].as_object_mut().unwrap().remove("responses");
    assert_eq!(inlined["components"], expected["components"]);
    for other in ["responses=other", "keywords=other"] {
        let other = format!("/api/openapi.json?{other}");
        assert_eq!(bench.control("GET", &other, None).await.status, 400);
    }
}

#[tokio::test]
async fn the_contract_is_served_without_keywords_of_its_own() {
    let bench = Bench::new().await;
    let whole = bench.show("/api/openapi.json").await.to_string();
    let standard = bench.show("/api/openapi.json?keywords=standard").await.to_string();
    assert!(whole.contains("\"x-kind\":") && !standard.contains("\"x-kind\":"));
    assert!(standard.len() * 4 < whole.len() * 3, "{} of {} bytes", standard.len(), whole.len());
    assert!(whole.contains("\"webp\",null]") && !standard.contains("\"webp\",null]"));
    // The header of the key is a value.
    assert!(standard.contains("\"name\":\"x-key\""));
}

#[tokio::test]
async fn the_control_port_forwards_requests_to_the_service() {
    let bench = Bench::new().await;
    for (region, base) in
        [("global", bench.sim.base_url()), ("regional", bench.sim.regional_base_url())]
    {
        let url = format!("{}/try/{region}/v1/gen-2-pro", bench.sim.control_url());
        let headers = [("x-key", bench.sim.api_key()), ("content-type", "application/json")];
        let response = bench.send("POST", &url, &headers, small("x").to_string()).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert!(response.json()["polling_url"].as_str().unwrap().starts_with(base));
        assert_eq!(
            bench.send("POST", &url, &headers[1..], small("x").to_string()).await.status,
            403
        );
    }
    assert_eq!(bench.sim.counts().accepted, 2);
}

#[tokio::test]
async fn events_are_sent_even_if_only_time_passes() {
    let bench = Bench::with(Config {
        ready_after: Duration::from_secs(3600),
        in_progress: ["Queued", "Working"].map(str::to_owned).into(),
        ..Config::default()
    })
    .await;
    let mut events = bench.events().await;
    bench.submit("/v1/gen-2-pro", &small("x")).await;
    let event = events.next().await;
    assert!(
        event.starts_with("event: change\ndata: [\"tasks\",\"counts\",\"requests\",\"accounts\"]"),
        "{event}"
    );
    for seconds in [1800, 1800] {
        bench.sim.clock().advance(Duration::from_secs(seconds));
        let event = events.next().await;
        assert!(event.contains("data: [\"tasks\",\"counts\"]\n"), "{event}");
    }
    bench.change("POST", "/api/organizations/default/credits", json!({ "amount": 5 })).await;
    let event = events.next().await;
    assert!(event.contains("data: [\"accounts\"]\n"), "{event}");
    // The stream never ends by itself, and does not delay a shutdown.
    let Bench { sim, .. } = bench;
    sim.shutdown().await;
    assert!(events.0.frame().await.is_none_or(|frame| frame.is_err()));
}
