//! What clients show: resources, and tasks that they poll.

use std::fs;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{BUDGET, agent::Agent, assert_paid, fox, patient, start};
use crate::bench::{AGES, Bench};

#[test]
fn pictures_and_the_history_are_resources() {
    let bench = Bench::new();
    let mut agent = start(&bench, &[]);
    let large = json!({ "prompt": "noise", "fields": { "width": 1024, "height": 768 } });
    let made = agent.call("make", large);
    assert_eq!(made["content"][2]["type"], "resource_link");
    assert_eq!(made["content"][2]["uri"], "kiln://pictures/1");
    let listed = agent.request("resources/list", json!({}))["result"]["resources"].clone();
    assert_eq!([&listed[0]["uri"], &listed[1]["uri"]], ["kiln://history", "kiln://pictures/1"]);
    assert_eq!(listed[1]["description"], "noise");
    let templates = agent.request("resources/templates/list", json!({}));
    let templates = templates["result"]["resourceTemplates"].as_array().unwrap().len();
    assert_eq!(templates, 2);
    let mut read = |uri: &str| agent.request("resources/read", json!({ "uri": uri }));
    let bytes = |response: &Value| {
        let blob = response["result"]["contents"][0]["blob"].as_str();
        BASE64_STANDARD.decode(blob.unwrap_or_else(|| panic!("{response}"))).unwrap()
    };
    let preview = image::load_from_memory(&bytes(&read("kiln://pictures/1"))).unwrap();
    assert_eq!((preview.width(), preview.height()), (512, 384));
    let path = made["path"].as_str().unwrap();
    assert_eq!(bytes(&read("kiln://pictures/1/whole")), fs::read(path).unwrap());
    let history = read("kiln://history")["result"]["contents"][0]["text"].clone();
    assert!(history.as_str().unwrap().contains("noise"), "{history}");
    for uri in ["kiln://pictures/2", "kiln://pictures/../1", "kiln://other", "file:///etc/passwd"] {
        assert!(read(uri)["error"]["message"].is_string(), "{uri}");
    }
    fs::write(path, vec![0; 9 << 20]).unwrap();
    let large = read("kiln://pictures/1/whole")["error"]["message"].clone();
    assert!(large.as_str().unwrap().contains("too large"), "{large}");
}

#[test]
fn a_task_outlives_its_server() {
    let bench = patient();
    let start = || {
        let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        Agent::start_with(&mut bench.kiln(&BUDGET), tasks)
    };
    let mut agent = start();
    let call = json!({ "name": "make", "arguments": fox() });
    let task = agent.request("tools/call", call.clone())["result"].clone();
    assert_eq!((&task["taskId"], &task["status"]), (&json!("@1"), &json!("working")), "{task}");
    let id = json!({ "taskId": "@1" });
    // It is paid, and saved all the same.
    assert!(agent.request("tasks/cancel", id.clone())["result"].is_object());
    assert_eq!(agent.request("tasks/get", id.clone())["result"]["status"], "working");
    agent.kill();
    let mut agent = start();
    assert_eq!(agent.request("tools/call", call)["result"]["taskId"], "@1");
    bench.simulator.clock().advance(AGES);
    let done = loop {
        let task = agent.request("tasks/get", id.clone())["result"].clone();
        if task["status"] != "working" {
            break task;
        }
    };
    assert_eq!(done["result"]["structuredContent"]["state"], "saved", "{done}");
    assert!(agent.request("tasks/get", json!({ "taskId": "@2" }))["error"].is_object());
    assert_paid(&bench, 1);
}
