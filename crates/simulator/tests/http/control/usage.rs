//! The usage export.

use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn the_usage_has_what_each_task_cost() {
    let bench = Bench::new().await;
    let submit = async |prompt: &str| {
        let task = bench.submit("/v1/gen-2-pro", &json!({ "prompt": prompt })).await;
        task["id"].as_str().unwrap().to_owned()
    };
    let (fox, owl) = (submit("a fox").await, submit("an \"owl\",\nat night").await);
    let table = bench.control("GET", "/api/usage", None).await;
    assert_eq!(table.headers["content-type"], "text/csv; charset=utf-8");
    let text = String::from_utf8(table.body.to_vec()).unwrap();
    let (heading, rows) = text.split_once("\r\n").unwrap();
    assert_eq!(heading, "time,task_id,model,cost,prompt");
    let (first, second) = rows.split_once("\r\n").unwrap();
    let (time, first) = first.split_once(',').unwrap();
    assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
    assert_eq!(first, format!("{fox},gen-2-pro,4,\"a fox\""));
    let expected = format!(",{owl},gen-2-pro,4,\"an \"\"owl\"\",\nat night\"\r\n");
    assert_eq!(second.split_at(20).1, expected);
    let list = bench.control("GET", "/api/usage?format=json", None).await.json();
    let entry = json!({
        "time": time, "task_id": fox, "model": "gen-2-pro", "cost": 4.0, "prompt": "a fox",
    });
    assert_eq!(list["usage"][0], entry);
    assert_eq!(bench.control("GET", "/api/usage?format=xml", None).await.status, 400);
}
