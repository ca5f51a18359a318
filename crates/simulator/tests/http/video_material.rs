//! What videos are made from: keyframes and other videos.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{Rgb, RgbImage};
use serde_json::{Value, json};

use super::{
    bench::{Bench, base64, png},
    video::{Film, PATH, decode},
};

/// An image of one colour in base64.
fn plain(colour: [u8; 3]) -> String {
    base64(RgbImage::from_pixel(64, 48, Rgb(colour)))
}

/// The colour in the middle of the frame at this time, in milliseconds.
fn colour_at(film: &Film, milliseconds: u64) -> [u8; 3] {
    let frame = film.frames.iter().find(|frame| frame.timestamp == milliseconds).unwrap();
    decode(frame).get_pixel(160, 60).0
}

fn is_near(one: [u8; 3], other: [u8; 3]) -> bool {
    one.iter().zip(other).all(|(a, b)| a.abs_diff(b) < 16)
}

const RED: [u8; 3] = [200, 30, 30];
const GREEN: [u8; 3] = [30, 180, 40];
const BLUE: [u8; 3] = [30, 40, 200];

#[tokio::test]
async fn keyframes_are_shown_at_their_times() {
    let bench = Bench::new().await;
    let [red, green, blue] = [RED, GREEN, BLUE].map(plain);
    let film = async |fields: Value| {
        let mut body = json!({ "mode": "i2v", "fps": 4, "width": 320, "height": 180 });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Film::read(&bench.picture(PATH, &body).await)
    };
    let timed = film(json!({ "duration": 4, "keyframes": [
        { "image": red, "time": 0 }, { "image": green, "time": 1 }, { "image": blue, "time": 3.0 },
    ] }))
    .await;
    let even = film(json!({ "duration": 2, "keyframes": [red, green, blue] })).await;
    let pairs = json!([[0, red], [0.5, green], [1.5, blue]]);
    let paired = film(json!({ "duration": 2, "keyframes": pairs })).await;
    let apart = film(json!({ "duration": 1, "keyframes": [[0, red], [0.3, green]] })).await;
    let reversed = film(json!({ "duration": 2, "keyframes": [blue, green] })).await;
    for (film, time, colour) in [
        (&timed, 0, RED),
        (&timed, 1000, GREEN),
        (&timed, 3000, BLUE),
        (&timed, 3750, BLUE),
        (&even, 0, RED),
        (&even, 1000, GREEN),
        (&paired, 500, GREEN),
        (&paired, 1500, BLUE),
        (&apart, 300, GREEN),
        (&reversed, 0, BLUE),
    ] {
        let found = colour_at(film, time);
        assert!(is_near(found, colour), "{found:?} instead of {colour:?} at {time}");
    }
    let between = colour_at(&timed, 2000);
    assert!(!is_near(between, GREEN) && !is_near(between, BLUE), "{between:?} at 2000");
}

#[tokio::test]
async fn a_video_can_be_made_from_another() {
    let bench = Bench::new().await;
    let [red, blue] = [RED, BLUE].map(plain);
    let body = json!({ "duration": 3, "fps": 2, "width": 320, "height": 180,
        "keyframes": [{ "image": red, "time": 0 }, { "image": blue, "time": 2 }] });
    let source = bench.picture(PATH, &body).await;
    let video = format!("data:video/webm;base64,{}", STANDARD.encode(&source));
    let task = bench.submit(PATH, &json!({ "mode": "v2v", "video": video, "fps": 4 })).await;
    assert_eq!(task["input_mp"], 0.05, "a video counts as one picture");
    let view = bench.view(&task);
    assert_eq!(view.request["video"], format!("[video/webm of 3 s, {} bytes]", source.len()));
    let start = json!({ "mode": "v2v", "start_video": video, "fps": 4 });
    assert_eq!(bench.submit(PATH, &start).await["input_mp"], 0.05);
    let film = Film::read(&bench.fetch(&bench.sample(&task).await).await.body);
    assert_eq!((film.duration_ms, film.size), (3000.0, (320, 180)));
    let (first, last) = (colour_at(&film, 0), colour_at(&film, 2000));
    assert!(first[0] > first[2] && last[2] > last[0], "{first:?} {last:?}");
    assert!(!is_near(first, RED) || !is_near(last, BLUE), "in other colours");
}

#[tokio::test]
async fn invalid_material_is_rejected() {
    let bench = Bench::new().await;
    let image = png(16, 16);
    let eleven = vec![image.clone(); 11];
    let short = json!({ "duration": 1, "fps": 1, "width": 16, "height": 16 });
    let video = bench.picture(PATH, &short).await;
    let cut = STANDARD.encode(&video[..video.len() / 3]);
    let frame = |time: Value| json!({ "image": image, "time": time });
    let two = |one: Value, other: Value| json!({ "keyframes": [frame(one), frame(other)] });
    for (body, expected) in [
        (json!({ "mode": "i2v" }), "body.keyframes missing"),
        (json!({ "mode": "i2v", "keyframes": [] }), "body.keyframes too_short"),
        (json!({ "keyframes": eleven }), "body.keyframes too_long"),
        (json!({ "mode": "i2v", "images": eleven }), "body.keyframes too_long"),
        (json!({ "keyframes": "one" }), "body.keyframes list_type"),
        (
            json!({ "keyframes": ["one", {}, 7] }),
            concat!(
                "body.keyframes.0 value_error, ",
                "body.keyframes.1 value_error, ",
                "body.keyframes.2 value_error",
            ),
        ),
        (two(json!(1), json!(1)), "body.keyframes.1.time value_error"),
        (two(json!(3), json!(2)), "body.keyframes.1.time value_error"),
        (
            two(json!(-1), json!(5.5)),
            concat!(
                "body.keyframes.0.time greater_than_equal, ",
                "body.keyframes.1.time less_than_equal",
            ),
        ),
        (two(json!(1), Value::Null), "body.keyframes.1.time missing"),
        (
            json!({ "keyframes": [[1, image], [0.5, "https://example.com/a.png"], [2], []] }),
            concat!(
                "body.keyframes.1.time value_error, ",
                "body.keyframes.2 value_error, ",
                "body.keyframes.3 value_error, ",
                "body.keyframes.3.time missing",
            ),
        ),
        (two(json!(1), json!("2")), "body.keyframes.1.time float_parsing"),
        (json!({ "mode": "v2v" }), "body.video missing"),
        (json!({ "mode": "v2v", "video": 7 }), "body.video string_type"),
        (json!({ "mode": "v2v", "video": "?" }), "body.video value_error"),
        (json!({ "mode": "v2v", "start_video": 7 }), "body.start_video string_type"),
        (json!({ "mode": "v2v", "video": image }), "body.video value_error"),
        (json!({ "mode": "v2v", "video": cut }), "body.video value_error"),
    ] {
        bench.assert_violations("gen-3-video", &body, expected).await;
    }
    let addresses = json!({ "mode": "i2v", "keyframes": ["https://example.com/a.png"] });
    bench.submit(PATH, &addresses).await;
    let address = json!({ "mode": "v2v", "start_video": "https://example.com/a.webm" });
    let detail = &bench.post(PATH, &address).await.json()["detail"][0];
    assert_eq!(detail["loc"], json!(["body", "start_video"]));
    assert_eq!(detail["msg"], "Value error, the field accepts base64 data, not a URL");
}

#[tokio::test]
async fn damaged_videos_are_harmless() {
    let bench = Bench::new().await;
    let short = json!({ "duration": 2, "fps": 1, "width": 16, "height": 16 });
    let video = bench.picture(PATH, &short).await;
    for at in 0..video.len() {
        let mut damaged = video.to_vec();
        damaged[at] ^= 0xa5;
        for bytes in [&video[..at], &damaged] {
            let body = json!({ "mode": "v2v", "video": STANDARD.encode(bytes) });
            let response = bench.post(PATH, &body).await;
            assert!([200, 422].contains(&response.status.as_u16()), "{at}: {response:?}");
            if response.status == 200 {
                bench.finish(&response.json()).await;
            }
        }
    }
}
