//! The simulator understands each request as it was set.

use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use serde_json::Value;

use super::{
    case,
    images::{JPEG, PNG, WEBP},
    runner,
    witness::Witness,
};
use imagekiln::FieldKind;

/// The simulator's log summarizes images, and shows no secrets and no queries.
#[test]
fn the_simulator_understands_what_was_asked() {
    let witness = Witness::start();
    let result = runner(1).run(&case::valid(), |case| {
        let Ok(task) = witness.submit(&case) else { return Ok(()) };
        let logged = witness.simulator.task(task.id()).unwrap().request;
        for (name, asked) in &case.body {
            let (field, shown) = (case.operation.field(name).unwrap(), &logged[name]);
            prop_assert!(is_shown_as(shown, asked, &field.kind), "{}: {}", name, shown);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

fn is_shown_as(shown: &Value, asked: &Value, kind: &FieldKind) -> bool {
    match (kind, shown, asked) {
        (FieldKind::Image { .. }, Value::String(shown), Value::String(asked)) => {
            *shown == summary(asked)
        }
        (FieldKind::Secret, Value::String(shown), Value::String(secret)) => {
            shown != secret && !shown.is_empty()
        }
        (FieldKind::Address, Value::String(shown), Value::String(asked)) => {
            let (asked, _) = asked.split_once('?').unwrap_or((asked, ""));
            shown.starts_with(asked)
        }
        _ => shown == asked,
    }
}

fn summary(text: &str) -> String {
    let Ok(bytes) = STANDARD.decode(text.rsplit(',').next().unwrap_or_default()) else {
        let host = text.split('/').nth(2).unwrap_or_default();
        return format!(
            "[an image at {}, not fetched]",
            host.split(':').next().unwrap_or_default()
        );
    };
    let formats = [(&PNG, "png"), (&JPEG, "jpeg"), (&WEBP, "webp")];
    let (_, format) = formats.into_iter().find(|(image, _)| ***image == bytes).unwrap();
    format!("[image/{format} of 8 x 6 pixels, {} bytes]", bytes.len())
}
