//! Property tests: any request, serialized and parsed back, has the values that were set.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, LazyLock},
    task::Poll,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body::Body;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;
use tokio::{
    runtime::{Builder, Runtime},
    time::sleep,
};

use super::{BodyPlan, Progress, StreamedBody, stream::FRAME};
use crate::{ImageInput, Request, find_operation, values::base64_text};

fn request() -> Request {
    Request::new(find_operation("gen-2-pro").unwrap())
}

/// Returns the frames of a body, each with the progress after it was taken: the time of the last
/// progress, and whether all frames were taken. Waits for `pause` after each frame.
async fn frames(request: &Request, pause: Duration) -> Vec<(Bytes, Duration, bool)> {
    let progress = Arc::new(Progress::start());
    let started = progress.last_frame_at();
    let plan = Arc::new(BodyPlan::new(request).unwrap());
    let length = plan.length;
    let mut body = StreamedBody::new(plan, Arc::clone(&progress), None);
    assert_eq!(body.size_hint().exact(), Some(length));
    assert!(!progress.all_frames_taken());
    let mut frames = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let data = frame.unwrap().into_data().unwrap();
        frames.push((data, progress.last_frame_at() - started, progress.all_frames_taken()));
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
    assert!(body.is_end_stream());
    assert_eq!(frames.iter().map(|(data, ..)| data.len() as u64).sum::<u64>(), length);
    frames
}

fn written(request: &Request) -> Vec<u8> {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        Builder::new_multi_thread().worker_threads(1).enable_io().build().unwrap()
    });
    let frames = RUNTIME.block_on(frames(request, Duration::ZERO));
    frames.iter().flat_map(|(data, ..)| data.to_vec()).collect()
}

#[tokio::test]
async fn a_stopped_body_never_ends() {
    let request = request().image("input_image", ImageInput::bytes(vec![0; 2 * FRAME]));
    let plan = Arc::new(BodyPlan::new(&request).unwrap());
    let progress = Arc::new(Progress::start());
    let mut body = StreamedBody::new(Arc::clone(&plan), Arc::clone(&progress), None);
    let mut next = async || poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
    assert!(next().await.unwrap().is_ok());
    assert!(progress.stop());
    assert!(next().await.unwrap().is_err());
    assert!(!progress.all_frames_taken());

    let sent = Arc::new(Progress::start());
    let mut body = StreamedBody::new(plan, Arc::clone(&sent), None);
    while poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.is_some() {}
    assert!(sent.all_frames_taken() && !sent.stop());
}

/// Otherwise the HTTP client could write to a connection that the service has closed, and lose the
/// response that arrived before.
#[tokio::test]
async fn the_runtime_looks_at_its_sockets_before_each_frame() {
    let request = request().image("input_image", ImageInput::bytes(vec![0; 2 * FRAME]));
    let plan = Arc::new(BodyPlan::new(&request).unwrap());
    let mut body = StreamedBody::new(plan, Arc::new(Progress::start()), None);
    let mut is_first = true;
    while !body.is_end_stream() {
        poll_fn(|cx| {
            // The runtime cannot ask for socket events between these polls.
            let polls = (0..9).map(|_| Pin::new(&mut body).poll_frame(cx).is_ready());
            assert!(is_first || polls.into_iter().all(|is_ready| !is_ready));
            Poll::Ready(())
        })
        .await;
        is_first = false;
        assert!(poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn small_bodies_are_one_frame() {
    let frames = frames(&request().field("prompt", "a fox"), Duration::ZERO).await;
    let text = Bytes::from_static(br#"{"prompt":"a fox"}"#);
    assert_eq!(frames, [(text, Duration::ZERO, true)]);
}

#[tokio::test(start_paused = true)]
async fn large_bodies_are_split_into_frames_that_count_as_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, vec![7; 900_000]).unwrap();
    let request = request()
        .field("prompt", "a".repeat(1_000_000))
        .image("one", vec![7; 1_000_000])
        .image("two", ImageInput::base64("A".repeat(1_000_000)))
        .image("three", path);

    let pause = Duration::from_millis(10);
    let frames = frames(&request, pause).await;

    assert!(frames.len() > 60, "{} frames", frames.len());
    for (index, (data, last_progress, all_frames_taken)) in frames.iter().enumerate() {
        assert!(data.len() <= FRAME);
        assert_eq!(*last_progress, pause * index as u32);
        assert_eq!(*all_frames_taken, index + 1 == frames.len());
    }
}

#[tokio::test]
async fn files_of_any_length_are_encoded_without_gaps() {
    let file = NamedTempFile::new().unwrap();
    for length in [0, 1, 49_151, 49_152, 49_153, 393_215, 393_216, 393_217, 1_000_000] {
        let content: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
        std::fs::write(&file, &content).unwrap();
        let request = request().image("image", file.path());
        let frames = frames(&request, Duration::ZERO).await;
        let body: Vec<u8> = frames.iter().flat_map(|(data, ..)| data.to_vec()).collect();
        let expected = format!(r#"{{"image":"{}"}}"#, STANDARD.encode(&content));
        assert!(body == expected.as_bytes(), "{length} bytes");
    }
}

#[tokio::test]
async fn ready_text_is_not_copied() {
    let text = ImageInput::base64("A".repeat(1_000_000));
    let crate::ImageInput::Base64(given) = text.clone() else { unreachable!() };
    let frames = frames(&request().image("image", text), Duration::ZERO).await;
    let within = given.as_ptr_range();
    assert!(frames[1..frames.len() - 1].iter().all(|(data, ..)| within.contains(&data.as_ptr())));
}

/// A value to set, and the value that the service must read.
type Given = (FieldInput, Value);

#[derive(Debug, Clone)]
enum FieldInput {
    Json(Value),
    Image(ImageInput),
    File(Vec<u8>),
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Multiples of 1/8, because serde_json does not round-trip every other number exactly.
        any::<i32>().prop_map(|number| (f64::from(number) / 8.0).into()),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |item| {
        prop_oneof![
            prop::collection::vec(item.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), item), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_image_text() -> impl Strategy<Value = String> {
    let base64 = (prop::collection::vec(any::<u8>(), 0..80), "[ \\t\\r\\n]{0,3}").prop_map(
        |(bytes, blanks)| {
            let text = STANDARD.encode(bytes);
            let (front, back) = text.split_at(text.len() / 2);
            format!("{front}{blanks}{back}")
        },
    );
    prop_oneof![
        any::<String>(),
        base64.clone(),
        base64.prop_map(|text| format!("data:image/png;base64,{text}")),
        "[A-Za-z0-9+/=\"\\\\ \\n{}:,_-]{0,60}",
        Just(r#"A","webhook_url":"https://evil.example"#.to_owned()),
        Just(r#"data:";base64,QUJD"#.to_owned()),
    ]
}

fn expected(text: &str) -> Value {
    let stripped: String = text.split_ascii_whitespace().collect();
    if base64_text::is_base64(stripped.as_bytes()) { stripped.into() } else { text.into() }
}

fn any_input() -> impl Strategy<Value = Given> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        3 => any_json().prop_map(|value| (FieldInput::Json(value.clone()), value)),
        3 => any_image_text().prop_map(|text| {
            let value = expected(&text);
            (FieldInput::Image(ImageInput::base64(text)), value)
        }),
        1 => any::<String>().prop_map(|url| {
            (FieldInput::Image(ImageInput::url(url.as_str())), url.into())
        }),
        2 => bytes().prop_map(|bytes| {
            let value = STANDARD.encode(&bytes).into();
            (FieldInput::Image(bytes.into()), value)
        }),
        1 => bytes().prop_map(|bytes| {
            let value = STANDARD.encode(&bytes).into();
            (FieldInput::File(bytes), value)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_request_is_one_json_document_with_the_values_that_were_set(
        inputs in prop::collection::btree_map(any::<String>(), any_input(), 0..6),
    ) {
        let mut files = Vec::new();
        let mut expected_fields = Map::new();
        let mut request = request();
        for (name, (input, value)) in inputs {
            request = match input {
                FieldInput::Json(json) => request.field(&name, json),
                FieldInput::Image(image) => request.image(&name, image),
                FieldInput::File(bytes) => {
                    let file = NamedTempFile::new().unwrap();
                    std::fs::write(&file, bytes).unwrap();
                    let request = request.image(&name, file.path());
                    files.push(file);
                    request
                }
            };
            expected_fields.insert(name, value);
        }
        let read: Value = serde_json::from_slice(&written(&request)).unwrap();
        prop_assert_eq!(read, Value::Object(expected_fields));
    }

    #[test]
    fn text_in_an_image_field_is_sent_like_an_image(text in any_image_text()) {
        let request = request().field("input_image", text.as_str());
        let read: Value = serde_json::from_slice(&written(&request)).unwrap();
        prop_assert_eq!(read, json!({ "input_image": expected(&text) }));
    }
}
