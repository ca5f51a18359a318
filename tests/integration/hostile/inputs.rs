//! Invalid inputs are refused before anything is sent, and the error names the field.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    samples::{self, PNG, assert_billing, fox, served_with},
    scripted::ScriptedServer,
};
use imagekiln::{
    Billing, ErrorKind, ImageInput, Request, Submit, find_operation,
    types::{BaseModelFinetuned, Gen2Klein4b, Gen2Pro, GenDev, GenToolsOutpaintingV1},
};

const VIDEO: &[u8] = b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2";

/// Asserts that the request is refused because of this field, and that nothing is sent.
async fn assert_refused(request: impl Submit, validation: bool, field: &str, reason: &str) {
    let (service, client) = served_with(|builder| builder.validation(validation)).await;

    let error = client.submit(request).await.unwrap_err();

    assert_billing(&error, ErrorKind::Validation, Billing::NotBilled);
    assert_eq!(error.violations().len(), 1, "{error}");
    let violation = error.violations()[0].to_string();
    assert!(violation.starts_with(&format!("{field}: ")), "{violation}");
    assert!(violation.contains(reason), "{violation}");
    service.assert_received_nothing();
}

/// Returns the body that is sent for the request.
async fn sent(request: impl Submit, validation: bool) -> Value {
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1"));
    let client = samples::builder(&service).validation(validation).build().unwrap();
    let _ = client.submit(request).await.unwrap();
    service.only_request().json()
}

fn gen_2_pro() -> Request {
    Request::new(find_operation("gen-2-pro").unwrap())
}

fn image_sources(content: &[u8], folder: &TempDir) -> [ImageInput; 3] {
    let path = folder.path().join("given");
    std::fs::write(&path, content).unwrap();
    [
        ImageInput::bytes(content.to_vec()),
        ImageInput::base64(STANDARD.encode(content)),
        ImageInput::path(path),
    ]
}

#[tokio::test(start_paused = true)]
async fn inputs_that_are_not_images_are_refused_unless_validation_is_off() {
    let folder = TempDir::new().unwrap();
    for (content, reason) in [
        (b"".as_slice(), "is empty"),
        (b"%PDF-1.7 and so on", "is not an image"),
        (VIDEO, "is not an image"),
    ] {
        for image in image_sources(content, &folder) {
            assert_refused(fox().input_image(image.clone()), true, "input_image", reason).await;
            let body = sent(fox().input_image(image), false).await;
            assert_eq!(body["input_image"], STANDARD.encode(content));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn undefined_fields_may_contain_videos() {
    let folder = TempDir::new().unwrap();
    for image in image_sources(VIDEO, &folder) {
        let request = || gen_2_pro().field("prompt", "p").image("input_video", image.clone());
        assert_eq!(sent(request(), true).await["input_video"], STANDARD.encode(VIDEO));
    }
    for image in image_sources(b"%PDF-1.7 and so on", &folder) {
        let request = gen_2_pro().field("prompt", "p").image("input_video", image);
        assert_refused(request, true, "input_video", "a video").await;
    }
}

/// Opening a pipe blocks until it has a writer, which may be forever.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn files_that_are_not_regular_are_refused_and_not_opened() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Returns as soon as the other end is opened.
    let path = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::File::options().write(true).open(path));
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, kind) in [
        (&pipe, "a pipe"),
        (&socket, "a socket"),
        (&"/dev/zero".into(), "a device"),
        (&folder.path().into(), "a directory"),
    ] {
        for validation in [true, false] {
            let (service, client) = served_with(|builder| builder.validation(validation)).await;

            let error = client.submit(fox().input_image(path.clone())).await.unwrap_err();

            assert_billing(&error, ErrorKind::File, Billing::NotBilled);
            for part in [&path.display().to_string(), "`input_image`", kind] {
                assert!(error.to_string().contains(part), "{error}");
            }
            service.assert_received_nothing();
        }
    }
    assert!(!writer.is_finished(), "the pipe was opened");
    drop(std::fs::File::open(&pipe).unwrap());
    writer.join().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_text_of_a_path_is_refused() {
    let reason = "neither base64 nor an http(s) URL; use `ImageInput::path`";
    let read: Gen2Pro =
        serde_json::from_value(json!({ "prompt": "p", "input_image": "fox.png" })).unwrap();
    for request in [
        fox().extra("input_image", "fox.png"),
        fox().input_image(ImageInput::base64("fox.png")),
        read,
    ] {
        assert_refused(request, true, "input_image", reason).await;
    }
    let request = GenDev::new().image_prompt(ImageInput::base64("fox.png"));
    let reason = "is text that is not base64; use `ImageInput::path`";
    assert_refused(request, true, "image_prompt", reason).await;
    let request = fox().extra("input_image", STANDARD.encode("a text in base64"));
    assert_refused(request, true, "input_image", "is not an image").await;
}

/// `agreement` has URLs that are not valid otherwise.
#[tokio::test(start_paused = true)]
async fn urls_with_whitespace_or_control_characters_are_refused() {
    for url in [
        "https://a.example/a b",
        " https://a.example/a",
        "https://a.example/a\n",
        "https://a.\texample/a",
        "https://a.example/\u{7f}",
        "https:\\\\a.example",
    ] {
        let prompt = || gen_2_pro().field("prompt", "p");
        for (field, request) in [
            ("webhook_url", fox().webhook_url(url).into_request()),
            ("webhook_url", prompt().field("webhook_url", url)),
            ("input_image", prompt().image("input_image", ImageInput::url(url))),
            ("a_new_image", prompt().image("a_new_image", ImageInput::url(url))),
        ] {
            assert_refused(request, true, field, "without whitespace, control characters").await;
        }
    }
}

/// In untyped fields, in typed ones, and in those of a type without defined fields.
#[tokio::test(start_paused = true)]
async fn numbers_that_json_cannot_represent_are_always_refused() {
    let finite = "must be a finite number";
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (field, reason, request) in [
            ("strength", finite, fox().extra("strength", number).into_request()),
            (
                "strengths",
                "has an item (at 1)",
                fox().extra("strengths", vec![0.5, number]).into_request(),
            ),
            ("seed", finite, gen_2_pro().field("prompt", "p").field("seed", Some(number))),
            ("guidance", finite, GenDev::new().guidance(number).into_request()),
            ("width", finite, GenToolsOutpaintingV1::new().width(number).into_request()),
            ("prompt", finite, Gen2Klein4b::new().extra("prompt", number).into_request()),
        ] {
            for validation in [true, false] {
                assert_refused(request.clone(), validation, field, reason).await;
            }
        }
    }
    // Setting the field again removes the violation.
    let corrected = fox().extra("strength", f64::NAN).extra("strength", 0.5).extra("seed", ());
    let body = json!({ "prompt": "a red fox in the snow", "strength": 0.5, "seed": null });
    assert_eq!(sent(corrected, true).await, body);
}

#[tokio::test(start_paused = true)]
async fn values_that_would_change_the_path_are_always_refused() {
    let finetuned = || Request::new(find_operation("{base_model}-finetuned").unwrap());
    let named = |name: &str| finetuned().parameter("base_model", name);
    let mut cases = vec![
        (finetuned(), "path.base_model", "is required"),
        (named(""), "path.base_model", "is required"),
        (named("a").parameter("base_model", "b"), "path.base_model", "is set twice"),
        (named("gen-2-klein-4b").parameter("model", "b"), "path.model", "is not a parameter"),
    ];
    let names = [".", "..", "a..b", "a/b", "a%2fb", "a b", "a?b", "a#b", "a\\b", "\u{e9}", "a\n"];
    let letters = "must consist of letters, digits";
    cases
        .extend(names.map(|name| {
            (BaseModelFinetuned::new(name).into_request(), "path.base_model", letters)
        }));
    for (request, field, reason) in cases {
        for validation in [true, false] {
            assert_refused(request.clone(), validation, field, reason).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn values_nested_too_deeply_are_always_refused() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let body = sent(fox().extra("a", nested(126)), true).await;
    assert_eq!(body["a"], nested(126));
    let objects = (0..127).fold(json!(1), |inner, _| json!({ "a": inner }));
    for value in [nested(127), nested(1000), objects] {
        for validation in [true, false] {
            let request = fox().extra("a", value.clone());
            assert_refused(request, validation, "a", "at most 126 levels").await;
        }
    }
}

/// Comparing it with the names of operations would take minutes.
#[test]
fn a_name_of_megabytes_is_refused_without_a_suggestion() {
    let operation = "gen-2-pro".repeat(1_000_000);
    let stored = json!({ "operation": operation }).to_string();
    let error = Request::from_json(&stored).unwrap_err().to_string();
    assert!(error.contains("is not an operation") && error.len() < 300, "{error}");
}

#[test]
fn images_in_lists_that_the_contract_does_not_define_are_checked() {
    let images = [ImageInput::bytes(PNG), ImageInput::base64("no base64!")];
    let error = gen_2_pro().field("prompt", "p").images("others", images).validate().unwrap_err();
    let [violation] = error.violations() else { panic!("{error}") };
    assert!(violation.to_string().starts_with("others.1: "), "{violation}");
}

/// Quadratic time would take minutes.
#[test]
fn many_fields_are_validated_in_linear_time() {
    let many = |count: usize| {
        (0..count).fold(gen_2_pro().field("prompt", "p"), |r, n| r.field(n.to_string(), n))
    };
    assert!(many(200_000).validate().is_ok());
    let twice = (0..100_000).fold(many(100_000), |request, n| request.field(n.to_string(), n));
    assert_eq!(twice.validate().unwrap_err().violations().len(), 100_000);
}

/// Integers of every type can be set. One that does not fit is a violation, and never truncated.
#[tokio::test]
async fn numbers_and_ratios_of_every_type_can_be_set() {
    let request = fox().seed(7u64).height(768usize).width(1024i128);
    let body = serde_json::to_value(&request).unwrap();
    assert_eq!((&body["seed"], &body["height"]), (&json!(7), &json!(768)));
    request.validate().unwrap();

    let error = fox().seed(u64::MAX).validate().unwrap_err();
    let [violation] = error.violations() else { panic!("{error}") };
    assert_eq!(violation.to_string(), "seed: is 18446744073709551615; must be a 64-bit integer");
    fox().seed(u64::MAX).seed(7).validate().unwrap();

    let ultra = || imagekiln::types::GenPro11Ultra::new();
    for ratio in [ultra().aspect_ratio("16:9"), ultra().aspect_ratio((16, 9))] {
        assert_eq!(ratio.aspect_ratio.unwrap().to_string(), "16:9");
    }
    let error = ultra().aspect_ratio("wide").validate().unwrap_err();
    assert!(error.to_string().contains("`wide` is not an aspect ratio"), "{error}");
}
