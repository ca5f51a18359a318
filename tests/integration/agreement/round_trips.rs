//! A request that was stored and read is the same, and each request arrives as it was set.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Map, Value};
use tokio::runtime::Builder;

use super::{
    case::{self, Case},
    images::{JPEG, PNG, WEBP},
    runner,
    witness::Witness,
};
use crate::support::{
    reply::Reply,
    samples::{self, polling_url},
    scripted::ScriptedServer,
};
use imagekiln::{FieldKind, ImageInput, Operation, Request};

/// Sets the images of a request in this form instead of as text.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Bytes,
    Path,
}

fn forms() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Text), Just(Form::Bytes), Just(Form::Path)]
}

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fn request(case: &Case, form: Form) -> Request {
    let text = Case { body: Map::new(), ..case.clone() }.request();
    case.body.iter().fold(text, |request, (name, value)| {
        match (form, image(case.operation, name, value)) {
            (Form::Bytes, Some(bytes)) => request.image(name, ImageInput::bytes(bytes)),
            (Form::Path, Some(bytes)) => {
                let path = FOLDER.path().join(format!("{}-bytes", bytes.len()));
                if !path.exists() {
                    std::fs::write(&path, bytes).unwrap();
                }
                request.image(name, ImageInput::path(path))
            }
            _ => request.field(name, value.clone()),
        }
    })
}

/// The bytes of a valid image.
fn image(operation: &Operation, name: &str, value: &Value) -> Option<Vec<u8>> {
    let field = operation.field(name)?;
    let text = value.as_str().filter(|_| matches!(field.kind, FieldKind::Image { .. }))?;
    STANDARD.decode(text.rsplit(',').next()?).ok()
}

/// The secret is not stored.
#[test]
fn any_request_to_any_operation_round_trips() {
    let result = runner(4).run(&(case::any(), forms()), |(mut case, form)| {
        let stored = request(&case, form).to_json().unwrap();
        case.body.remove("webhook_secret");
        let read = Request::from_json(&stored)
            .map_err(|error| TestCaseError::fail(format!("{error}: {:?}", error.violations())))?;
        prop_assert_eq!(&read, &request(&case, form));
        prop_assert_eq!(read.to_json().unwrap(), request(&case, form).to_json().unwrap());
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_body_that_arrives_is_what_was_asked() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(ScriptedServer::start());
    let client = samples::builder(&server).regional_base_url(server.url("")).build().unwrap();
    let result = runner(1).run(&(case::valid(), forms()), |(case, form)| {
        let accepted = serde_json::json!({ "id": "t1", "polling_url": polling_url(&server, "t1") });
        server.reply(Reply::json(200, &accepted));
        let _ = runtime.block_on(client.submit(request(&case, form))).unwrap();
        let arrived = server.received().pop().unwrap().json();
        let arrived = arrived.as_object().unwrap();
        prop_assert_eq!(arrived.len(), case.body.len());
        for (name, asked) in &case.body {
            match image(case.operation, name, asked) {
                Some(bytes) => {
                    let found = image(case.operation, name, &arrived[name]);
                    prop_assert_eq!(found.as_ref(), Some(&bytes), "{}", name);
                }
                None => prop_assert_eq!(&arrived[name], asked, "{}", name),
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

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
