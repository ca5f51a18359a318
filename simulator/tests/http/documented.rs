//! Compares `docs/simulator.md` with the code.

use imagekiln_simulator::{Config, Permission, Role, Simulator};

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
