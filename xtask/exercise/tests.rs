//! The types of the exercise's endpoints. `cargo xtask exercise` runs these tests in a copy of the
//! repository.

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    operations::{client_of, simulator},
    support::{
        reply::Reply,
        samples::{self, client, large_png},
        scripted::ScriptedServer,
    },
};
use imagekiln::{
    ErrorKind, ImageInput, Submit,
    types::{
        GenMotion1, GenMotion1Preview, GenToolsVtoV3, Mood, MotionQuality, MotionStyle,
        MotionStylePalette, MotionType, Subject, SubjectRole,
    },
};
use imagekiln_testbed::picture::encoded;

fn keyframes() -> [ImageInput; 1] {
    [ImageInput::url("https://example.com/first.png")]
}

fn style() -> MotionStyle {
    let palette = MotionStylePalette::new(["#ffffff", "#3366cc"]).mood("calm");
    MotionStyle::new().grain(3).palette(palette)
}

#[test]
fn lists_and_objects_have_types() {
    let subject = Subject::new(ImageInput::url("https://example.com/fox.png"));
    let request = GenMotion1::new("a fox", keyframes())
        .beats([0.5, 1.0])
        .moods([Mood::Calm, Mood::Wild])
        .effects(["blur", "glow"])
        .type_(MotionType::Loop)
        .style(style())
        .subjects([subject.role(SubjectRole::Background).weight(0.5)])
        .quality("high");
    request.validate().unwrap();
    let stored = request.to_json().unwrap();
    assert_eq!(GenMotion1::from_json(&stored).unwrap().to_json().unwrap(), stored);
}

#[test]
fn endpoints_that_share_a_schema_share_its_types() {
    let quality = MotionQuality::High;
    let first = GenMotion1::new("a fox", keyframes()).quality(quality.clone()).style(style());
    let preview = GenMotion1Preview::new("a fox", keyframes()).quality(quality).style(style());
    first.validate().unwrap();
    preview.validate().unwrap();
}

#[test]
fn limits_hold_at_every_depth() {
    let palette = MotionStylePalette::new(["red"]).mood("bored");
    let request = GenMotion1::new("a fox", Vec::<ImageInput>::new())
        .beats([0.5, 11.0])
        .style(MotionStyle::new().grain(11).palette(palette))
        .subjects([Subject::new(ImageInput::base64("AAAA")).weight(2.0)])
        .quality("best");
    let error = request.validate().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
    let places = error.violations().iter().map(|violation| violation.to_string());
    let places: Vec<_> =
        places.filter_map(|text| Some(text.split_once(':')?.0.to_owned())).collect();
    assert_eq!(
        places,
        [
            "keyframes",
            "beats.1",
            "style.grain",
            "style.palette.colors.0",
            "style.palette.mood",
            "subjects.0.image",
            "subjects.0.weight",
            "quality",
        ]
    );
}

#[test]
fn a_field_of_an_object_is_set_once_and_to_what_json_has() {
    let style = style().extra("grain", 4).extra("depth", f64::NAN);
    let error = GenMotion1::new("a fox", keyframes()).style(style).validate().unwrap_err();
    let found: Vec<_> = error.violations().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        ["style.depth: is NaN; must be a finite number", "style.grain: is set twice; set it once"]
    );
}

#[tokio::test(start_paused = true)]
async fn images_in_lists_are_sent_again_with_a_retry() {
    let directory = TempDir::new().unwrap();
    let image = large_png(1_500_000);
    let path = directory.path().join("keyframe.png");
    fs::write(&path, &image).unwrap();
    let request =
        GenMotion1::new("a fox", [ImageInput::path(&path), ImageInput::bytes(image.clone())])
            .subjects([Subject::new(ImageInput::path(&path))]);
    assert!(request.clone().into_request().reads_files());
    let service = ScriptedServer::start().await;
    service.reply(Reply::json(429, &json!({}))).reply(samples::accepted(&service, "t1"));

    let _ = client(&service).submit(request).await.unwrap();

    let encoded = STANDARD.encode(&image);
    let expected = json!({
        "prompt": "a fox",
        "keyframes": [encoded, encoded],
        "subjects": [{ "image": encoded }],
    });
    let posts = service.posts();
    assert_eq!(posts.len(), 2);
    for post in posts {
        // Not `assert_eq`, which would print megabytes.
        assert!(post.json() == expected, "the body differs from plain serialization");
        assert_eq!(post.header("content-length"), Some(post.body.len().to_string().as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_field_of_the_poll_response_is_optional() {
    let service = ScriptedServer::start().await;
    let delivery = ScriptedServer::start().await;
    for value in [json!(0.5), json!(null), json!("half"), json!({ "device": 50 }), json!([[1]])] {
        let mut body = samples::ready_body(&samples::delivery_url(&delivery));
        for field in ["progress", "preview", "metrics", "frames"] {
            body[field] = value.clone();
        }
        service.reply(Reply::json(200, &body));
        let task = samples::task(&client(&service), &service);
        let _ = task.wait().await.expect("a ready task is ready, whatever the new field has");
    }
}

#[tokio::test(start_paused = true)]
async fn the_simulator_paints_a_picture() {
    let simulator = simulator().await;
    let request = GenMotion1::new("a fox", keyframes()).style(style()).quality("high");
    let task = client_of(&simulator).submit(request).await.unwrap();
    let picture = task.wait().await.unwrap().bytes().await.unwrap();
    image::load_from_memory(&picture).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_new_final_status_ends_a_task() {
    let service = ScriptedServer::start().await;
    let delivery = ScriptedServer::start().await;
    let mut success = samples::ready_body(&samples::delivery_url(&delivery));
    success["status"] = json!("Partially ready");
    service.reply(Reply::json(200, &success));
    let task = samples::task(&client(&service), &service);
    let _ = task.wait().await.expect("a success");
    service.reply(Reply::json(200, &json!({ "id": "t1", "status": "Output Expired" })));
    let error = samples::task(&client(&service), &service).wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFailed);
}

#[tokio::test(start_paused = true)]
async fn an_operation_of_an_existing_kind_is_painted_as_one() {
    let simulator = simulator().await;
    let png = |side| encoded(image::RgbImage::new(side, side), image::ImageFormat::Png);
    let [person, garment] = [900, 300].map(png);
    let request = GenToolsVtoV3::new()
        .into_request()
        .image("garment", ImageInput::bytes(garment))
        .image("person", ImageInput::bytes(person));
    let task = client_of(&simulator).submit(request).await.unwrap();
    let picture = task.wait().await.unwrap().bytes().await.unwrap();
    let picture = image::load_from_memory(&picture).unwrap();
    assert_eq!(picture.width(), 900, "the size of the person, which other kinds do not look for");
}
