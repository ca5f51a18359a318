//! The types of the exercise's endpoints. `cargo xtask exercise` runs these tests in a copy of the
//! repository.

use serde_json::json;

use crate::{
    operations::{client_of, simulator},
    support::{
        reply::Reply,
        samples::{self, client},
        scripted::ScriptedServer,
    },
};
use imagekiln::{
    ErrorKind, ImageInput, Submit,
    types::{GenMotion1, GenMotion1Preview, GenToolsVtoV3, Mood, MotionQuality, MotionType},
};
use imagekiln_testbed::picture::encoded;

fn request() -> GenMotion1 {
    GenMotion1::new("a fox", ImageInput::url("https://example.com/first.png"))
}

#[test]
fn a_request_is_stored_and_read() {
    let request = request().beat(0.5).mood(Mood::Calm).type_(MotionType::Loop).quality("high");
    request.validate().unwrap();
    let stored = request.to_json().unwrap();
    assert_eq!(GenMotion1::from_json(&stored).unwrap().to_json().unwrap(), stored);
}

#[test]
fn endpoints_that_share_a_schema_share_its_types() {
    let (quality, first) = (MotionQuality::High, request());
    let first = first.quality(quality.clone());
    let keyframe = ImageInput::url("https://example.com/first.png");
    let preview = GenMotion1Preview::new("a fox", keyframe).quality(quality);
    first.validate().unwrap();
    preview.validate().unwrap();
}

#[test]
fn limits_hold() {
    let error = request().beat(11.0).mood("bored").quality("best").validate().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
    let places = error.violations().iter().map(|violation| violation.to_string());
    let places: Vec<_> =
        places.filter_map(|text| Some(text.split_once(':')?.0.to_owned())).collect();
    assert_eq!(places, ["beat", "mood", "quality"]);
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
    let task = client_of(&simulator).submit(request().quality("high")).await.unwrap();
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
