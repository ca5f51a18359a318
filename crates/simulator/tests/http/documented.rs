//! Compares the manual of the simulator with the code.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use crate::bench::{Bench, small};
use imagekiln_simulator::{Config, FaultPlace, Faults, KnownFault, Permission, Role, Simulator};

const SETTINGS: &str = "docs/simulator/settings.md";
const BEHAVIOUR: &str = "docs/simulator/behaviour.md";
const REFERENCE: &str = "docs/simulator/reference.md";

fn page(path: &str) -> &'static str {
    imagekiln_testbed::page(path)
}

/// The cells of the rows of a page's tables.
fn rows(path: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = page(path).lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.map(|row| row.split('|').map(str::trim).collect())
}

/// The parts of a text between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The names that a program lists instead of `nonsense`, in an error about an unknown field.
fn expected(error: &str) -> BTreeSet<String> {
    let after = error.split_once("unknown field `nonsense`").map_or("", |(_, after)| after);
    code(after).map(str::to_owned).collect()
}

/// The name of a value in settings and JSON.
fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_examples_of_settings_are_valid() {
    let blocks: Vec<_> = page(SETTINGS)
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 2, "{blocks:?}");
    for block in blocks {
        let config = Config::from_toml(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
        Simulator::start(config)
            .await
            .unwrap_or_else(|error| panic!("{error}\n{block}"))
            .shutdown()
            .await;
    }
}

/// The names of all settings. Those of a table are written with its name: `prices.submission`.
fn names_of_settings() -> BTreeSet<String> {
    let names =
        |text: &str| expected(&Config::from_toml(text).map(|_| ()).unwrap_err().to_string());
    let mut all = names("nonsense = 1");
    for table in ["moderation", "prices", "webhooks"] {
        assert!(all.remove(table), "{table}");
        let members = names(&format!("[{table}]\nnonsense = 1"));
        all.extend(members.into_iter().map(|name| format!("{table}.{name}")));
    }
    all
}

#[test]
fn every_setting_is_listed_with_its_default() {
    let default = format!("{:?}", Config::default());
    let mut listed = BTreeSet::new();
    let rows = rows(SETTINGS).skip_while(|row| row[0] != "setting").skip(2);
    for row in rows.take_while(|row| row.len() == 3) {
        let (names, defaults): (Vec<_>, Vec<_>) = (code(row[0]).collect(), code(row[1]).collect());
        assert!(defaults.is_empty() || defaults.len() == names.len(), "{row:?}");
        for (index, name) in names.into_iter().enumerate() {
            match defaults.get(index) {
                Some(value) => {
                    let config = Config::from_toml(&format!("{name} = {value}"));
                    let config = config.unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert_eq!(format!("{config:?}"), default, "{name} = {value}");
                }
                None => assert!(default.contains(&format!(" {name}: None")), "{name}: {default}"),
            }
            assert!(listed.insert(name.to_owned()), "{name} is listed twice");
        }
    }
    assert_eq!(listed, names_of_settings());
}

#[test]
fn the_permissions_of_each_role_are_listed() {
    let mut listed = BTreeSet::new();
    for role in Role::ALL {
        let name = format!("`{}`", written(&role));
        let row = rows(SETTINGS).find(|row| row[0] == name);
        let row = row.unwrap_or_else(|| panic!("{name} is not listed"));
        let permissions: BTreeSet<_> = code(row[1]).map(str::to_owned).collect();
        let permitted = Permission::ALL.into_iter().filter(|one| role.permits(*one));
        let permitted: BTreeSet<_> = permitted.map(|permission| written(&permission)).collect();
        if row[1].starts_with("all") {
            assert_eq!(permitted.len(), Permission::ALL.len(), "{name}");
        } else {
            assert_eq!(permissions, permitted, "{name}");
        }
        listed.extend(permissions);
    }
    let all = Permission::ALL.map(|permission| written(&permission));
    assert_eq!(listed, BTreeSet::from(all));
}

#[tokio::test]
async fn words_select_the_listed_statuses() {
    let bench = Bench::new().await;
    let mut words = 0;
    for row in rows(BEHAVIOUR).filter(|row| row[0].starts_with("`[[")) {
        words += 1;
        let prompt = format!("a fox {}", row[0].trim_matches('`'));
        let body = small(&prompt);
        let task = bench.submit("/v1/gen-2-pro", &body).await;
        let last = match row[1].strip_prefix("while in progress") {
            Some(_) => bench.poll(&task).await,
            None => bench.finish(&task).await,
        };
        assert_eq!(last["status"].as_str(), code(row[1]).next(), "{row:?}");
    }
    assert_eq!(words, 5);
}

#[test]
fn the_table_of_faults_is_that_of_the_code() {
    let mut table = "| name | places | value; default | effect |\n|---|---|---|---|\n".to_owned();
    for KnownFault { name, places, value, effect, .. } in Faults::known() {
        let places: Vec<_> = places.iter().map(FaultPlace::to_string).collect();
        writeln!(table, "| `{name}` | {} | {value} | {effect} |", places.join(", ")).unwrap();
    }
    let path = "crates/simulator/src/faults/table.md";
    assert_eq!(page(path), table, "replace {path}");
}

/// A route as `/api` describes it.
#[derive(Debug)]
struct Route {
    methods: BTreeSet<String>,
    /// With `1` instead of each parameter.
    path: String,
    parameters: BTreeSet<String>,
    /// The fields of the body.
    fields: BTreeSet<String>,
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    names.map(str::to_owned).collect()
}

/// A path with `1` instead of each parameter.
fn filled(path: &str) -> String {
    let mut parts = path.split('{');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |path, part| format!("{path}1{}", part.split_once('}').unwrap().1))
}

/// The route with this path and text, `METHODS ?PARAMETERS {FIELDS}: MEANING`.
fn described_route(path: &str, text: &str) -> Route {
    let signature = text.split(": ").next().unwrap();
    let methods = signature.split(['?', '{']).next().unwrap();
    let listed = |start: char| {
        let list = signature.split_once(start).map_or("", |(_, rest)| rest);
        let list = list.split([' ', '}']).next().unwrap();
        names(list.split(',').filter(|name| !name.is_empty()))
    };
    Route {
        methods: names(methods.split([',', ' ']).filter(|name| !name.is_empty())),
        path: filled(path),
        parameters: listed('?'),
        fields: listed('{'),
    }
}

/// The fields that a pattern of the journal may have, which the manual lists in a text.
fn is_pattern(path: &str) -> bool {
    path.starts_with("/api/requests")
}

#[tokio::test]
async fn the_index_of_the_control_port_describes_each_route() {
    let bench = Bench::new().await;
    let index = bench.show("/api").await;
    let paths = index["paths"].as_object().unwrap();
    assert!(paths.len() > 30, "{paths:?}");
    for (path, text) in paths {
        let route = described_route(path, text.as_str().unwrap());
        // No route has this method, so the response names the others.
        let refused = bench.control("PATCH", &route.path, Some(json!({}))).await;
        assert_eq!(refused.status, 405, "{route:?}");
        let allowed = refused.headers["allow"].to_str().unwrap();
        let allowed = names(allowed.split(',').filter(|method| *method != "HEAD"));
        assert_eq!(allowed, route.methods, "{route:?}");
        if is_pattern(&route.path) {
            continue;
        }
        assert_eq!(parameters_of(&bench, &route).await, route.parameters, "{route:?}");
        assert_eq!(fields_of(&bench, &route).await, route.fields, "{route:?}");
    }
}

/// The reason for which a request with an unknown name is refused.
async fn refusal(bench: &Bench, method: &str, path: &str, body: Option<Value>) -> String {
    let response = bench.control(method, path, body).await;
    let is_json =
        response.headers.get("content-type").is_some_and(|kind| kind == "application/json");
    let detail = is_json.then(|| response.json()["detail"].as_str().map(str::to_owned));
    detail.flatten().unwrap_or_default()
}

/// The parameters that the program knows.
async fn parameters_of(bench: &Bench, route: &Route) -> BTreeSet<String> {
    // The stream of events does not end, and takes no parameters.
    if !route.methods.contains("GET") || route.path == "/api/events" {
        return BTreeSet::new();
    }
    let path = &route.path;
    let mut known = expected(&refusal(bench, "GET", &format!("{path}?nonsense=1"), None).await);
    if known.is_empty() {
        // This route ignores unknown parameters, but not an unknown value.
        for name in &route.parameters {
            let path = format!("{path}?{name}=nonsense");
            let refused = refusal(bench, "GET", &path, None).await;
            known.extend((!refused.is_empty()).then(|| name.clone()));
        }
    }
    known
}

/// The fields of the body that the program knows.
async fn fields_of(bench: &Bench, route: &Route) -> BTreeSet<String> {
    let mut change = ["POST", "PUT"].into_iter();
    match change.find(|method| route.methods.contains(*method)) {
        Some(method) => {
            let body = Some(json!({ "nonsense": 1 }));
            expected(&refusal(bench, method, &route.path, body).await)
        }
        None => BTreeSet::new(),
    }
}

#[tokio::test]
async fn the_values_of_a_pattern_are_listed() {
    let bench = Bench::new().await;
    let body = Some(json!({ "nonsense": 1 }));
    let known = expected(&refusal(&bench, "POST", "/api/requests/verify", body).await);
    assert!(known.contains("violation"), "{known:?}");
    let section = page(REFERENCE).split("\n### The journal\n").nth(1).unwrap();
    let section = section.split("A pattern has").nth(1).unwrap().split("\n\n").next().unwrap();
    let listed = names(code(section));
    assert!(known.is_subset(&listed), "{known:?}, but the manual lists {listed:?}");
}
