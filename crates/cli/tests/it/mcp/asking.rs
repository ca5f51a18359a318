//! Clients that ask the person about a picture above the budget.

use serde_json::{Value, json};

use super::{agent::Agent, assert_paid, fox_with};
use crate::bench::Bench;

const SERVER: [&str; 5] = ["mcp", "--budget", "4", "--answer-within", "2"];

fn seed(seed: u64) -> Value {
    fox_with(json!({ "seed": seed }))
}

#[test]
fn the_person_decides_above_the_budget() {
    let bench = Bench::new();
    let mut agent = Agent::start_with(&mut bench.kiln(&SERVER), json!({ "elicitation": {} }));
    assert_eq!(agent.call("make", seed(1))["state"], "saved");
    for (action, why) in [(Some("decline"), "declined"), (None, "did not answer in time")] {
        agent.action = action;
        let refused = agent.call("make", seed(2));
        assert_eq!(refused["paid"], "no");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("1.00 are left of") && message.contains(why), "{refused}");
        assert_paid(&bench, 1);
    }
    agent.action = Some("accept");
    let made = agent.call("make", seed(2));
    assert_eq!(
        (&made["state"], &made["budget"]["over_this_start"]),
        (&json!("saved"), &json!(2.0))
    );
    let is_question = |message: &&Value| message["method"] == "elicitation/create";
    let questions: Vec<_> = agent.messages().iter().filter(is_question).collect();
    let text = questions[0]["params"]["message"].as_str().unwrap();
    assert!(questions.len() == 3 && text.contains("a red fox"), "{questions:?}");
    assert_paid(&bench, 2);
    let mut mute = bench.kiln("mcp --budget 2");
    let refused = Agent::start(&mut mute).call("make", seed(3));
    assert!(refused["message"].as_str().unwrap().ends_with("of this start"), "{refused}");
    assert_paid(&bench, 2);
}

/// Since 2026-07-28, a result asks, and the call is repeated with the answer.
#[test]
fn a_result_may_ask() {
    let bench = Bench::new();
    let mut agent = Agent::start(&mut bench.kiln(&SERVER));
    agent.call("make", seed(1));
    let mut call = |answer: Option<&str>| {
        let mut call = json!({ "name": "make", "arguments": seed(2), "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        } });
        if let Some(action) = answer {
            call["inputResponses"] = json!({ "budget": { "action": action } });
        }
        agent.request("tools/call", call)["result"].clone()
    };
    let asking = call(None);
    assert_eq!(asking["resultType"], "input_required", "{asking}");
    assert_eq!(asking["inputRequests"]["budget"]["method"], "elicitation/create");
    assert_eq!(call(Some("decline"))["structuredContent"]["paid"], "no");
    assert_paid(&bench, 1);
    assert_eq!(call(Some("accept"))["structuredContent"]["state"], "saved");
    assert_paid(&bench, 2);
}
