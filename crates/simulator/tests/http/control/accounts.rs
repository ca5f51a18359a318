//! Organizations, projects, keys, credits and the logs.

use imagekiln_simulator::Config;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::{
    bench::{Bench, small},
    raw::{Raw, announce_and_wait},
};

const DEFAULT: &str = "/api/organizations/default";
const PROJECT: &str = "/api/organizations/default/projects/default";

/// The status code of a submission with this key.
async fn submit_with(bench: &Bench, key: &str) -> u16 {
    bench.post_as(key, "/v1/gen-2-pro", &small("x")).await.status.as_u16()
}

#[tokio::test]
async fn a_key_is_created_revealed_used_and_revoked() {
    let bench = Bench::new().await;
    bench.change("POST", &format!("{DEFAULT}/projects"), json!({ "name": "Night Shift" })).await;
    let keys = format!("{DEFAULT}/projects/night-shift/keys");
    let made = bench.change("POST", &keys, json!({ "name": "ci" })).await;
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert_eq!(submit_with(&bench, key).await, 200);
    assert_eq!(bench.show("/api/tasks").await["tasks"][0]["project"], "night-shift");
    for path in ["/api/organizations", "/api/audit", "/api/ledger"] {
        let shown = bench.show(path).await.to_string();
        assert!(!shown.contains(key) && !shown.contains(bench.sim.api_key()), "{path}: {shown}");
    }
    let revealed = bench.change("POST", &format!("/api/keys/{id}/reveal"), json!({})).await;
    assert_eq!(revealed, made);
    bench.change("DELETE", &format!("/api/keys/{id}"), json!({})).await;
    assert_eq!(submit_with(&bench, key).await, 403);
    let own = bench.change("POST", &keys, json!({ "name": "own", "key": "a-key-of-ours" })).await;
    assert_eq!(
        (own["key"].as_str(), submit_with(&bench, "a-key-of-ours").await),
        (Some("a-key-of-ours"), 200)
    );
    for (body, status) in [
        (json!({ "name": "again", "key": "a-key-of-ours" }), 409),
        (json!({ "name": "invalid", "key": "a b" }), 422),
    ] {
        assert_eq!(bench.control("POST", &keys, Some(body)).await.status, status);
    }
}

#[tokio::test]
async fn settings_of_a_project_apply_to_the_next_request() {
    let bench = Bench::new().await;
    let key = bench.sim.api_key().to_owned();
    for (setting, close, closed, open) in [
        ("limits", json!({ "daily": 1 }), 402, json!({})),
        ("endpoints", json!({ "endpoints": ["gen-dev"] }), 403, json!({ "endpoints": null })),
        (
            "max_active_tasks",
            json!({ "max_active_tasks": 0 }),
            429,
            json!({ "max_active_tasks": null }),
        ),
    ] {
        let path = format!("{PROJECT}/{setting}");
        let changed = bench.change("PUT", &path, close).await;
        assert_eq!(changed["id"], "default");
        assert_eq!(submit_with(&bench, &key).await, closed, "{setting}");
        bench.change("PUT", &path, open).await;
        assert_eq!(submit_with(&bench, &key).await, 200, "{setting}");
    }
}

#[tokio::test]
async fn credits_are_granted_and_transferred() {
    let bench = Bench::new().await;
    let lab = bench
        .change("POST", "/api/organizations", json!({ "name": "Lab", "owner": "owner" }))
        .await;
    assert_eq!((&lab["id"], &lab["balance"]), (&json!("lab"), &json!(0.0)));
    let granted =
        bench.change("POST", "/api/organizations/lab/credits", json!({ "amount": 12.5 })).await;
    assert_eq!(granted["balance"], 12.5);
    let transfer = json!({ "from": "default", "to": "lab", "amount": 7.25 });
    let both = bench.change("POST", "/api/transfers", transfer).await;
    let balance = |id: &str| {
        let all = both["organizations"].as_array().unwrap();
        all.iter().find(|organization| organization["id"] == id).unwrap()["balance"].clone()
    };
    assert_eq!((balance("lab"), balance("default")), (json!(19.75), json!(999_992.75)));
    for (body, status) in [
        (json!({ "from": "default", "to": "lab", "amount": 1e9 }), 409),
        (json!({ "from": "default", "to": "default", "amount": 1 }), 422),
        (json!({ "from": "default", "to": "nowhere", "amount": 1 }), 404),
        (json!({ "from": "default", "to": "lab", "amount": -1 }), 422),
        (json!({ "from": "default", "to": "lab", "amount": 0 }), 422),
    ] {
        assert_eq!(bench.control("POST", "/api/transfers", Some(body)).await.status, status);
    }
    let ledger = bench.show("/api/ledger?limit=1").await;
    assert_eq!(ledger["entries"][0]["amount"], 7.25);
    let sum: f64 =
        ledger["balances"].as_object().unwrap().values().map(|sum| sum.as_f64().unwrap()).sum();
    assert_eq!(sum, 0.0);
    let audit = bench.show("/api/audit?limit=10").await;
    let actions: Vec<_> =
        audit["entries"].as_array().unwrap().iter().map(|entry| &entry["done"]).collect();
    assert!(actions.contains(&&json!(true)) && actions.contains(&&json!(false)), "{audit}");
}

#[tokio::test]
async fn a_user_can_do_what_the_role_permits() {
    let bench = Bench::new().await;
    let table = bench.show("/api/roles").await;
    let member = |user: &str| format!("{DEFAULT}/members/{user}");
    for row in table["roles"].as_array().unwrap() {
        let role = row["role"].as_str().unwrap();
        let permits =
            |permission: &str| row["permissions"].as_array().unwrap().contains(&permission.into());
        bench.change("PUT", &member(role), json!({ "role": role })).await;
        for (permission, method, path, body) in [
            ("manage-keys", "POST", format!("{PROJECT}/keys"), json!({ "name": role })),
            (
                "manage-finetunes",
                "PUT",
                format!("{DEFAULT}/finetunes/{role}"),
                json!({ "shared": true }),
            ),
            ("manage-projects", "POST", format!("{DEFAULT}/projects"), json!({ "name": role })),
            ("set-limits", "PUT", format!("{PROJECT}/limits"), json!({ "daily": 100 })),
            ("manage-credits", "POST", format!("{DEFAULT}/credits"), json!({ "amount": 1 })),
            ("manage-members", "PUT", member("viewer"), json!({ "role": "viewer" })),
        ] {
            let response = bench.control_as(role, method, &path, Some(body)).await;
            assert_eq!(
                response.status == 200,
                permits(permission),
                "{role} {permission}: {response:?}"
            );
            assert!(response.status == 200 || response.status == 403);
        }
        let seen = bench.control_as(role, "GET", "/api/audit", None).await.json();
        assert_eq!(seen["entries"] != json!([]), permits("view-audit-log"), "{role}");
        let ledger = bench.control_as(role, "GET", "/api/ledger", None).await.json();
        assert_eq!(
            (ledger["entries"] != json!([]), &ledger["balances"]),
            (permits("manage-credits"), &Value::Null)
        );
    }
    let stranger = bench.control_as("nobody", "GET", "/api/organizations", None).await.json();
    assert_eq!(stranger["organizations"], json!([]));
    assert_eq!(bench.control_as("nobody", "GET", DEFAULT, None).await.status, 404);
}

#[tokio::test]
async fn members_and_finetunes_are_added_and_removed() {
    let bench = Bench::new().await;
    let path = format!("{DEFAULT}/members/mia");
    let changed = bench.change("PUT", &path, json!({ "role": "viewer" })).await;
    assert_eq!(changed["members"], json!([{ "user": "mia", "role": "viewer", "projects": {} }]));
    let changed =
        bench.change("PUT", &path, json!({ "role": "developer", "project": "default" })).await;
    assert_eq!(changed["members"][0]["projects"], json!({ "default": "developer" }));
    assert_eq!(bench.change("DELETE", &path, json!({})).await["members"], json!([]));
    assert_eq!(bench.control("DELETE", &path, None).await.status, 404);

    let path = format!("{DEFAULT}/finetunes/owl-style");
    let names = |organization: &Value| {
        let all = organization["finetunes"].as_array().unwrap().clone();
        all.into_iter().map(|finetune| finetune["name"].clone()).collect::<Vec<_>>()
    };
    let changed = bench.change("PUT", &path, json!({ "shared": true })).await;
    assert_eq!(names(&changed), ["fox-style", "owl-style"]);
    assert_eq!(names(&bench.change("DELETE", &path, json!({})).await), ["fox-style"]);
    for path in [
        "/api/organizations/nowhere",
        "/api/organizations/nowhere/credits",
        "/api/keys/none/reveal",
    ] {
        let method = if path.ends_with("nowhere") { "GET" } else { "POST" };
        assert_eq!(
            bench.control(method, path, Some(json!({ "amount": 1 }))).await.status,
            404,
            "{path}"
        );
    }
}

/// The server asks for the body after it has checked the key.
#[tokio::test]
async fn a_key_that_is_revoked_during_the_body_does_not_pay() {
    let bench = Bench::new().await;
    let keys = format!("{DEFAULT}/projects/default/keys");
    let made = bench.change("POST", &keys, json!({ "name": "ci" })).await;
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let body = small("x").to_string();
    let mut stream = announce_and_wait(bench.sim.base_url(), key, &body).await;
    bench.change("DELETE", &format!("/api/keys/{id}"), json!({})).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    assert_eq!(Raw::read(stream).await.summary(), "403 application/json");
    assert_eq!(bench.sim.counts().accepted, 0);
}

#[tokio::test]
async fn a_fault_after_acceptance_waits_for_a_submission_that_can_be_paid() {
    let config = Config::from_toml("organizations = [{ name = 'Default', credits = 0 }]").unwrap();
    let bench = Bench::with(config).await;
    bench.sim.faults().add("error-after:once").unwrap();
    let key = bench.sim.api_key().to_owned();
    assert_eq!(submit_with(&bench, &key).await, 402);
    assert!(bench.sim.counts().faults.is_empty());
    bench.change("POST", &format!("{DEFAULT}/credits"), json!({ "amount": 10 })).await;
    assert_eq!(submit_with(&bench, &key).await, 500);
    assert_eq!(submit_with(&bench, &key).await, 200);
    assert_eq!(bench.sim.counts().accepted, 2);
}
