//! Draws `docs/plan.svg`: the crates, and the folders of those that have layers, with the imports
//! between them. `cargo xtask regenerate` writes it, and `cargo xtask check` compares it.

mod layout;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;

use self::layout::{GAP, HEIGHT, Layout};
use crate::{
    process, repository,
    tidy::{circles, sources},
};

/// The path of the drawing in the repository.
pub const PATH: &str = "docs/plan.svg";

/// The crates whose folders are drawn.
const LAYERED: [&str; 4] = ["src", "batch/src", "simulator/src", "cli/src"];

/// The most width of drawings beside each other.
const WIDTH: f64 = 1000.0;

/// The space between drawings, and around all.
const MARGIN: f64 = 24.0;

/// What a drawing shows.
pub struct Graph {
    title: String,
    names: BTreeSet<String>,
    /// The first part of each pair imports the second one.
    arrows: BTreeSet<(String, String)>,
}

/// Returns the drawing.
pub fn drawing() -> Result<String> {
    let sources = sources::read()?;
    let mut graphs = vec![crates()?];
    for folder in LAYERED {
        let of_crate = sources.iter().filter(|source| source.crate_folder() == Some(folder));
        let of_crate: Vec<_> = of_crate.filter(|source| !source.is_test).collect();
        let modules = of_crate.iter().map(|source| {
            circles::module_of(source.path.strip_prefix(folder).unwrap_or(&source.path))
        });
        graphs.push(Graph {
            title: format!("{folder}/"),
            names: modules.filter_map(|module| module.into_iter().next()).collect(),
            arrows: circles::imports(folder, &of_crate)?,
        });
    }
    Ok(svg(&graphs))
}

/// Returns the graph of the workspace's crates, without what only tests need.
fn crates() -> Result<Graph> {
    let root = repository::root()?;
    let words = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let metadata: Value =
        serde_json::from_str(&process::output(&mut process::cargo(&root, &words))?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| text(&value["name"]).replace("imagekiln-", "");
    let packages: BTreeMap<_, _> = list(&metadata["packages"])
        .iter()
        .map(|package| (name(package), list(&package["dependencies"])))
        .collect();
    let mut arrows = BTreeSet::new();
    for (from, needs) in &packages {
        let needs = needs.iter().filter(|need| need["kind"] != "dev").map(name);
        let needs = needs.filter(|need| packages.contains_key(need));
        arrows.extend(needs.map(|need| (from.clone(), need)));
    }
    Ok(Graph { title: "crates".to_owned(), names: packages.into_keys().collect(), arrows })
}

fn svg(graphs: &[Graph]) -> String {
    let mut shapes = String::new();
    let (mut left, mut top, mut bottom, mut width) = (MARGIN, MARGIN, MARGIN, 0.0);
    for graph in graphs {
        let layout = Layout::new(&graph.names, &graph.arrows);
        if left + layout.width + MARGIN > WIDTH {
            (left, top) = (MARGIN, bottom);
        }
        shapes += &format!(
            "<text class=\"title\" x=\"{left:.0}\" y=\"{:.0}\">{}</text>\n",
            top + 14.0,
            graph.title,
        );
        draw(&layout, left, top + MARGIN, &mut shapes);
        left += layout.width + 2.0 * MARGIN;
        bottom = f64::max(bottom, top + layout.height() + 2.5 * MARGIN);
        width = f64::max(width, left - MARGIN);
    }
    format!(
        concat!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {bottom:.0}\" ",
            "width=\"{width:.0}\" height=\"{bottom:.0}\">\n",
            "<style>\n",
            "text {{ font: 13px sans-serif; text-anchor: middle; fill: #222 }}\n",
            ".title {{ font-weight: bold; text-anchor: start }}\n",
            "rect {{ fill: #fff; stroke: #444 }}\n",
            "path {{ fill: none; stroke: #888 }}\n",
            "</style>\n",
            "<rect width=\"100%\" height=\"100%\" style=\"stroke: none\"/>\n",
            "{shapes}</svg>\n",
        ),
        width = width,
        bottom = bottom,
        shapes = shapes,
    )
}

/// Adds the lines and boxes of a layout whose upper left corner is at `left` and `top`.
fn draw(layout: &Layout, left: f64, top: f64, shapes: &mut String) {
    let place = |index: usize| {
        let item = &layout.items[index];
        (item.x + left, item.layer as f64 * (HEIGHT + GAP) + top)
    };
    for (index, item) in layout.items.iter().enumerate() {
        for below in &item.below {
            let ((x, y), (to_x, to_y)) = (place(index), place(*below));
            // A line that passes a layer has no box there.
            let y = if item.name.is_some() { y + HEIGHT } else { y };
            let middle = f64::midpoint(y, to_y);
            *shapes += &format!(
                "<path d=\"M{x:.0} {y:.0}C{x:.0} {middle:.0} {to_x:.0} {middle:.0} {to_x:.0} \
                 {to_y:.0}\"/>\n",
            );
        }
    }
    for (index, item) in layout.items.iter().enumerate() {
        let (x, y) = place(index);
        if let Some(name) = &item.name {
            let (corner, baseline) = (x - item.width / 2.0, y + 17.0);
            *shapes += &format!(
                "<rect x=\"{corner:.0}\" y=\"{y:.0}\" width=\"{:.0}\" height=\"{HEIGHT}\" \
                 rx=\"3\"/><text x=\"{x:.0}\" y=\"{baseline:.0}\">{name}</text>\n",
                item.width,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(arrows: &[(&str, &str)]) -> Graph {
        let arrows: BTreeSet<_> =
            arrows.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let names = arrows.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
        Graph { title: "title".to_owned(), names, arrows }
    }

    #[test]
    fn imports_lead_down_and_those_that_follow_from_others_are_left_out() {
        let graph = graph(&[("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("d", "e")]);
        let layout = Layout::new(&graph.names, &graph.arrows);
        let layer = |name: &str| {
            let item = layout.items.iter().find(|item| item.name.as_deref() == Some(name));
            item.unwrap().layer
        };
        assert!(layer("a") < layer("b") && layer("b") < layer("c") && layer("d") < layer("e"));
        assert_eq!(svg(&[graph]).matches("<path ").count(), 4);
    }

    #[test]
    fn boxes_of_a_layer_do_not_overlap() {
        let graph = graph(&[("top", "one"), ("top", "another"), ("top", "third"), ("x", "third")]);
        let layout = Layout::new(&graph.names, &graph.arrows);
        for (index, item) in layout.items.iter().enumerate() {
            let others = layout.items[index + 1..].iter();
            for other in others.filter(|other| other.layer == item.layer) {
                let distance = (item.x - other.x).abs();
                assert!(distance >= f64::midpoint(item.width, other.width), "{distance}");
            }
        }
    }

    #[test]
    fn the_plan_has_the_folders_of_the_layered_crates() {
        let drawing = drawing().unwrap();
        for name in ["simulator", "blocking", "ledger", "endpoints", "commands"] {
            assert!(drawing.contains(&format!(">{name}</text>")), "{name}");
        }
    }
}
