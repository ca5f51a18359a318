//! `kiln models`: lists the operations of the contract that create a task, or describes one.

use clap::{Args, builder::PossibleValuesParser};
use serde_json::{Value, json};

use super::tools;
use crate::{
    args::{
        completers,
        model::{description, not_listed},
    },
    context::Context,
    failure::Failure,
    models,
    text::{Table, wrapped},
};
use imagekiln::{Field, FieldKind, Need, NeedKind, Operation, Region, complete_model};

pub const NAME: &str = "models";

/// List the models, or describe one
#[derive(Args)]
#[command(after_help = help())]
pub struct Options {
    /// The name, path or id of the model to describe
    #[arg(conflicts_with = "can", add = completers::models())]
    model: Option<String>,
    /// List only the models that this command accepts
    #[arg(long, value_name = "COMMAND")]
    #[arg(value_parser = PossibleValuesParser::new(tools::model_commands()))]
    can: Option<String>,
}

/// Explains the columns, and the names that have a path parameter.
fn help() -> String {
    let explain =
        |model| Some(format!("{model} is written like {}.", models::example_name(model)?));
    format!(
        "GOOD FOR is the commands that accept the model; `kiln run` accepts every model.\n\
         IMAGES is the maximum number of reference images, if the contract states it.\n{}",
        models::models().filter_map(explain).collect::<Vec<_>>().join("\n")
    )
}

pub fn run(context: &Context, options: &Options) -> Result<(), Failure> {
    if let Some(name) = &options.model {
        let found = models::find(name).or_else(|| complete_model(name).map(|found| found.model));
        let model = found.ok_or_else(|| {
            let (message, tips) = models::unknown(name);
            Failure::usage(message).advise(tips.join("; "))
        })?;
        let people = || to_people(model, (context.process().stdout.columns)());
        return context.output.result(people, || to_programs(model));
    }
    let fits = |model: &&Operation| {
        let can = options.can.as_deref();
        can.is_none_or(|command| tools::suits(command, model))
    };
    let models = || models::models().filter(fits);
    context.output.result(
        || context.process().stdout.table(&table(models())),
        || models().map(to_programs).collect(),
    )
}

fn table(models: impl Iterator<Item = &'static Operation>) -> Table<5> {
    let heading = ["MODEL", "IMAGES", "REGION", "GOOD FOR", "WHAT"];
    let rows = models.map(|model| {
        [
            model.name.to_owned(),
            model.max_reference_images.map_or("-".to_owned(), |count| count.to_string()),
            if model.region == Region::Regional { "regional" } else { "-" }.to_owned(),
            tools::shown_commands_for(model),
            models::summary(model),
        ]
    });
    Table::with_heading(heading, rows).long(&[3, 4]).optional(&[1, 2, 3])
}

/// Describes a model for a terminal of this width: its purpose, its properties, its fields with
/// their limits, and what the contract does not say about it.
fn to_people(model: &'static Operation, width: Option<usize>) -> String {
    let mut parts = vec![description(model), properties(model, width)];
    if !model.fields.is_empty() {
        parts.push(fields(model, width));
    }
    if !model.needs.is_empty() {
        let needs: String = model.needs.iter().map(need).collect();
        parts.push(format!("Needed, although the contract leaves it optional:{needs}"));
    }
    parts.extend(not_listed(model));
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
        ("region", if model.region == Region::Regional { "regional" } else { "global" }.to_owned()),
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

fn to_programs(model: &'static Operation) -> Value {
    let path_parameters: Vec<&str> =
        model.path_parameters.iter().map(|parameter| parameter.name).collect();
    json!({
        "name": model.name,
        "id": model.id,
        "path": model.path,
        "summary": model.summary,
        "description": model.description,
        "good_for": tools::commands_for(model),
        "deprecated": model.deprecated,
        "regional": model.region == Region::Regional,
        "max_reference_images": model.max_reference_images,
        "max_input_megapixels": model.max_input_megapixels,
        "scaled_to_megapixels": model.scaled_to_megapixels,
        "needs": model.needs.iter().map(need_json).collect::<Vec<_>>(),
        "path_parameters": path_parameters,
        "all_fields_shown": model.all_fields_shown,
        "fields": model.fields.iter().map(field_json).collect::<Vec<_>>(),
        "not_shown": model.not_shown,
    })
}

fn need_json(need: &Need) -> Value {
    match need.kind {
        NeedKind::AnyOf { fields, unless_alpha_in, .. } => {
            json!({ "any_of": fields, "unless_alpha_in": unless_alpha_in, "why": need.why })
        }
        NeedKind::Images { count, .. } => json!({ "images": count, "why": need.why }),
        _ => json!({ "why": need.why }),
    }
}

fn field_json(field: &'static Field) -> Value {
    let (kind, details) = kind_json(&field.kind);
    let default = field.default.and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({
        "name": field.name,
        "description": field.description,
        "required": field.required,
        "nullable": field.nullable,
        "kind": kind,
        "details": details,
        "default": default,
        "minimum": field.limits.minimum,
        "maximum": field.limits.maximum,
        "multiple_of": field.limits.multiple_of,
        "min_length": field.limits.min_length,
        "max_length": field.limits.max_length,
    })
}

/// Returns the name of a kind, and its details.
fn kind_json(kind: &FieldKind) -> (&'static str, Value) {
    match kind {
        FieldKind::Text => ("text", Value::Null),
        FieldKind::Integer => ("integer", Value::Null),
        FieldKind::Number => ("number", Value::Null),
        FieldKind::Boolean => ("boolean", Value::Null),
        FieldKind::Choice { values, .. } => ("choice", json!({ "values": values })),
        FieldKind::Image { takes_url, mask_of, same_size, max_megapixels, .. } => (
            "image",
            json!({
                "takes_url": takes_url,
                "mask_of": mask_of,
                "same_size": same_size,
                "max_megapixels": max_megapixels,
            }),
        ),
        FieldKind::AspectRatio { narrowest, widest, .. } => {
            let ratio = |(width, height): &(u32, u32)| format!("{width}:{height}");
            ("aspect_ratio", json!({ "narrowest": ratio(narrowest), "widest": ratio(widest) }))
        }
        FieldKind::Address => ("address", Value::Null),
        FieldKind::Secret => ("secret", Value::Null),
        _ => ("json", Value::Null),
    }
}
