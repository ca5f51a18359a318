//! A model for people.

use super::json::kind_json;
use crate::{
    args::model,
    commands::tools,
    models,
    text::table::{Table, wrapped},
};
use imagekiln::{Field, Need, NeedKind, Operation};

/// The purpose of the model, its properties, its fields with their limits, and the gaps of the
/// contract, for a terminal of this width.
pub fn text(model: &'static Operation, width: Option<usize>) -> String {
    let mut parts = vec![model::description(model), properties(model, width)];
    if !model.fields.is_empty() {
        parts.push(fields(model, width));
    }
    if !model.needs.is_empty() {
        let needs: String = model.needs.iter().map(need).collect();
        parts.push(format!("Needed, although the contract leaves it optional:{needs}"));
    }
    if !model.all_fields_shown {
        parts.push(
            "The contract does not list all fields: send others with --extra and --extra-image."
                .to_owned(),
        );
    }
    if !model.not_shown.is_empty() {
        let list: String = model.not_shown.iter().map(|what| format!("\n  - {what}")).collect();
        parts.push(format!("Not listed in the contract:{list}"));
    }
    let name = models::example_name(model).unwrap_or_else(|| model.name.to_owned());
    parts.push(format!("`kiln run {name} --help` describes the fields."));
    wrapped(&parts.join("\n\n"), width)
}

fn need(need: &Need) -> String {
    let what = match need.kind {
        NeedKind::AnyOf { fields, unless_alpha_in: Some(image), .. } => {
            return format!("\n  - {}, unless {image} has an alpha channel", fields.join(" or "));
        }
        NeedKind::AnyOf { fields, .. } => fields.join(" or "),
        NeedKind::Images { count: 1, .. } => "an image".to_owned(),
        NeedKind::Images { count, .. } => format!("{count} images"),
        _ => return String::new(),
    };
    format!("\n  - {what}: {}", need.why)
}

fn properties(model: &'static Operation, width: Option<usize>) -> String {
    let images = model.max_reference_images;
    let rows = [
        ("good for", tools::shown_commands_for(model)),
        ("path", model.path.to_owned()),
        ("region", if model.regional { "regional" } else { "global" }.to_owned()),
        ("deprecated", if model.deprecated { "yes" } else { "no" }.to_owned()),
        (
            "reference images",
            images.map_or("not stated".to_owned(), |count| format!("at most {count}")),
        ),
    ];
    let size = model.max_input_megapixels.map(|most| match model.scaled_to_megapixels {
        Some(scaled) => format!("larger ones than {most} megapixels are scaled to about {scaled}"),
        None => format!("at most {most} megapixels"),
    });
    let rows = rows.into_iter().chain(size.map(|size| ("size of images", size)));
    let rows = rows.map(|(name, value)| [name.to_owned(), value]);
    Table::new(rows).wrapped(&[1]).indented().text(width)
}

fn fields(model: &'static Operation, width: Option<usize>) -> String {
    let heading = ["FIELD", "KIND", "LIMITS"];
    let rows = model.fields.iter().map(|field| {
        [field.name.to_owned(), kind_json(&field.kind).0.replace('_', " "), limits(field)]
    });
    Table::with_heading(heading, rows).wrapped(&[2]).optional(&[1]).indented().text(width)
}

fn limits(field: &Field) -> String {
    let required = field.required.then_some("required");
    let limits = Some(field.limits_text).filter(|text| !text.is_empty());
    required.into_iter().chain(limits).collect::<Vec<_>>().join("; ")
}
