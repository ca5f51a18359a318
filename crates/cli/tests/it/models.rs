//! `kiln models`: the table, one model, and the models that each command accepts.

use serde_json::Value;

use crate::{
    assert_shown,
    bench::{Place, png},
};
use imagekiln::operations;

fn listed(place: &Place, words: &[&str]) -> Vec<Value> {
    let models = place.run(&[&["models", "--json"], words].concat()).ok().json();
    models.as_array().unwrap().clone()
}

fn names(models: &[Value]) -> Vec<&str> {
    models.iter().map(|model| model["name"].as_str().unwrap()).collect()
}

#[test]
fn the_table_of_models() {
    assert_shown!("models", Place::new().run("models").ok().text());
}

#[test]
fn one_model() {
    let place = Place::new();
    let text = |name: &str| place.run(&["models", name]).ok().text();
    let models = ["gen-pro-1.0-fill-finetuned", "gen-tools/vto-v2", "gen-2-klein-9b-kv-finetuned"];
    let shown = models.map(|name| format!("$ kiln models {name}\n{}", text(name)));
    assert_shown!("one_model", shown.join("\n"));
    for model in operations().iter().filter(|operation| operation.submits) {
        let shown = text(model.name);
        for field in model.fields {
            let line = shown.lines().find(|line| line.starts_with(&format!("  {} ", field.name)));
            let line = line.unwrap_or_else(|| panic!("{model}: {}", field.name));
            assert!(line.ends_with(field.limits_text), "{model}: {line}");
            assert_eq!(line.contains("required"), field.required, "{model}: {line}");
        }
        let json = place.run(&["models", model.id, "--json"]).ok().json();
        assert_eq!(json["name"], model.name);
    }
}

#[test]
fn the_models_for_programs() {
    let place = Place::new();
    let models = listed(&place, &[]);
    let submissions = operations().iter().filter(|operation| operation.submits);
    assert_eq!(names(&models), submissions.map(|model| model.name).collect::<Vec<_>>());
    let flex = models.iter().find(|model| model["name"] == "gen-2-flex").unwrap();
    let fields = flex["fields"].as_array().unwrap();
    let guidance = fields.iter().find(|field| field["name"] == "guidance").unwrap();
    assert_shown!("models_json_guidance", format!("{guidance:#}"));
}

#[test]
fn the_models_that_can_do_something() {
    let place = Place::new();
    let can = |task: &str| {
        let models = listed(&place, &["--can", task]);
        models.iter().map(|model| model["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(can("inpaint"), ["gen-pro-1.0-fill", "gen-pro-1.0-fill-finetuned"]);
    assert_eq!(can("try-on")[0], "gen-tools/vto-v2");
    assert!(can("generate").contains(&"gen-2-klein-4b".to_owned()));
    assert!(!can("edit").contains(&"gen-pro-1.0-expand".to_owned()));
    let table = place.run("models --can deblur").ok().text();
    assert_eq!(table.lines().count(), 2);
    assert!(table.contains("\ngen-tools/deblur-v1 "), "{table}");
}

#[test]
fn each_tool_states_its_default_and_lists_it_first() {
    let place = Place::new();
    for (command, default) in [
        ("inpaint", "gen-pro-1.0-fill"),
        ("outpaint", "gen-tools/outpainting-v1"),
        ("expand", "gen-pro-1.0-expand"),
        ("erase", "gen-tools/erase-v1"),
        ("deblur", "gen-tools/deblur-v1"),
        ("try-on", "gen-tools/vto-v2"),
        ("video", "gen-3-video"),
    ] {
        let help = place.run(&["tool", command, "--help"]).ok().text();
        assert!(help.contains(&format!("[default: {default}]")), "{command}");
        assert_eq!(listed(&place, &["--can", command])[0]["name"], default, "{command}");
    }
}

#[test]
fn a_command_accepts_every_model_that_is_good_for_it() {
    let place = Place::new();
    for name in ["cat.png", "mask.png"] {
        place.write(name, png(256, 256));
    }
    let mut count = 0;
    for model in listed(&place, &[]) {
        let name = model["name"].as_str().unwrap();
        for command in model["good_for"].as_array().unwrap() {
            let words: &[&str] = match command.as_str().unwrap() {
                "generate" => &["generate", "a fox"],
                "edit" => &["edit", "a hat", "cat.png"],
                "inpaint" => &["tool", "inpaint", "a hat", "cat.png", "--mask", "mask.png"],
                "outpaint" => &["tool", "outpaint", "cat.png", "-s", "512x512"],
                "expand" => &["tool", "expand", "cat.png", "--left", "64"],
                "erase" => &["tool", "erase", "cat.png", "--mask", "mask.png"],
                "deblur" => &["tool", "deblur", "cat.png"],
                "try-on" => &["tool", "try-on", "cat.png", "cat.png"],
                "video" => &["tool", "video", "a fox", "cat.png"],
                other => panic!("{other}"),
            };
            let fields = model["fields"].as_array().unwrap();
            let mut needed = fields.iter().filter(|field| field["required"] == true);
            let parameter: &[&str] = if model["path_parameters"][0].is_string() {
                &["--base-model", "gen-2-klein-9b-kv"]
            } else {
                &[]
            };
            let finetune: &[&str] = if needed.any(|field| field["name"] == "finetune_id") {
                &["--finetune-id", "x"]
            } else {
                &[]
            };
            let model = ["--model", name, "--simulate", "--dry-run", "--json"];
            let shown = place.run(&[words, &model, parameter, finetune].concat()).ok().json();
            assert_eq!(shown["operation"], name);
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}
