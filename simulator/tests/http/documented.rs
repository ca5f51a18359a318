//! Compares `docs/simulator.md` with the code.

use std::fmt::Write as _;

use imagekiln_simulator::{Config, FaultPlace, Faults, KnownFault, Permission, Role, Simulator};

fn page() -> &'static str {
    imagekiln_testbed::page("docs/simulator.md")
}

/// The cells of the rows of the document's tables.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = page().lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.map(|row| row.split('|').map(str::trim).collect())
}

/// The name of a value in settings and JSON.
fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_examples_of_settings_are_valid() {
    let blocks: Vec<_> =
        page().split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 5, "{blocks:?}");
    for block in blocks {
        let config = Config::from_toml(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
        Simulator::start(config)
            .await
            .unwrap_or_else(|error| panic!("{error}\n{block}"))
            .shutdown()
            .await;
    }
}

#[test]
fn every_setting_is_listed() {
    let error = Config::from_toml("nonsense = 1").unwrap_err().to_string();
    let names: Vec<_> = error.split('`').skip(3).step_by(2).collect();
    assert!(names.len() > 20 && names.contains(&"seed"), "{error}");
    for name in names {
        let listed = rows().any(|row| row[0].split(", ").any(|cell| cell == format!("`{name}`")));
        assert!(listed, "no table lists the setting `{name}`");
    }
}

#[test]
fn the_permission_table_is_correct() {
    for permission in Permission::ALL {
        let name = format!("`{}`", written(&permission));
        let row = rows()
            .find(|row| row[0].starts_with(&name))
            .unwrap_or_else(|| panic!("{name} is not listed"));
        let listed: Vec<_> = row[1..].iter().map(|cell| *cell == "yes").collect();
        assert_eq!(listed, Role::ALL.map(|role| role.permits(permission)), "{name}");
    }
}

#[test]
fn the_documents_contain_the_table_of_faults() {
    let mut table = "| name | places | value; default | effect |\n|---|---|---|---|\n".to_owned();
    for KnownFault { name, places, value, effect, .. } in Faults::known() {
        let places: Vec<_> = places.iter().map(FaultPlace::to_string).collect();
        writeln!(table, "| `{name}` | {} | {value} | {effect} |", places.join(", ")).unwrap();
    }
    let is_in_guide = page().contains(&format!("\n\n{table}\n"));
    assert!(is_in_guide, "replace the table in docs/simulator.md by:\n{table}");
    let path = "simulator/src/faults/table.md";
    assert_eq!(imagekiln_testbed::page(path), table, "replace {path}");
}

/// A text without the names of its parameters: `/api/tasks/{}` for `/api/tasks/{id}`.
fn nameless(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().into_iter();
    first
        .chain(parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest)))
        .collect::<Vec<_>>()
        .join("{}")
}

/// The program does not show its routes, so this reads them from the source.
#[test]
fn every_route_of_the_control_interface_is_listed() {
    let page = nameless(page());
    let mut routes = 0;
    for file in ["mod", "accounts", "accounts/projects", "faults", "tasks"] {
        let source = imagekiln_testbed::page(&format!("simulator/src/control/{file}.rs"));
        let literals = source.split('"').skip(1).step_by(2);
        let is_route = |text: &&str| {
            ["/api/", "/healthz", "/metrics"].iter().any(|path| text.starts_with(path))
        };
        for route in literals.filter(is_route) {
            routes += 1;
            let route = nameless(route);
            let is_listed =
                ["`", "?", " "].iter().any(|end| page.contains(&format!("{route}{end}")));
            assert!(is_listed, "docs/simulator.md does not list {route}");
        }
    }
    assert!(routes > 35, "only {routes} routes in the source");
}
