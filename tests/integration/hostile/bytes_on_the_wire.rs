//! The body is one JSON document, and its strings are what the caller gave, whatever that was.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use imagekiln::{ErrorKind, ImageInput, Request, Submit, find_operation, types::Gen2Pro};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use crate::support::{
    samples::{self, PNG, assert_kind, client, fox},
    scripted::ScriptedServer,
};

const INJECTION: &str = r#"A","webhook_url":"https://evil.example/"#;

#[tokio::test(start_paused = true)]
async fn are_not_added_to_by_text_that_says_it_is_base64() {
    for name in ["input_image", "a_new_image"] {
        let request = Request::new(find_operation("gen-2-pro").unwrap())
            .image(name, ImageInput::base64(INJECTION));
        let service = ScriptedServer::start().await;
        let error =
            client(&service).submit(request.clone().field("prompt", "p")).await.unwrap_err();
        assert_kind(&error, ErrorKind::Validation);
        service.assert_received_nothing();

        service.answer(samples::accepted(&service, "t1"));
        let loose = samples::builder(&service).validation(false).build().unwrap();
        let _ = loose.submit(request).await.unwrap();
        let body = service.only_request().json();
        assert_eq!(body, json!({ name: INJECTION }));
    }
}

#[tokio::test(start_paused = true)]
async fn have_base64_without_its_whitespace() {
    let text = STANDARD.encode(PNG);
    let (front, back) = text.split_at(76);
    let service = ScriptedServer::start().await;
    service.answer(samples::accepted(&service, "t1"));
    let request = fox()
        .input_image(ImageInput::base64(format!("{front}\r\n{back}\n")))
        .input_image_2(ImageInput::base64(format!(" data:image/png;base64,\n{front} {back}")))
        .input_image_3(ImageInput::base64(text.trim_end_matches('=')))
        .extra("input_image_4", format!("{front}\t{back}"));

    let _ = client(&service).submit(request).await.unwrap();

    let body = service.only_request().json();
    assert_eq!(body["input_image"], text);
    assert_eq!(body["input_image_2"], format!("data:image/png;base64,{text}"));
    assert_eq!(body["input_image_3"], text.trim_end_matches('='));
    assert_eq!(body["input_image_4"], text);
}

#[derive(Debug, Clone)]
enum Image {
    Text(String),
    Bytes(Vec<u8>),
    File(Vec<u8>),
    Url(String),
}

fn any_image() -> impl Strategy<Value = Image> {
    let any_bytes = || prop::collection::vec(any::<u8>(), 0..300);
    let png = || any_bytes().prop_map(|rest| [PNG, &rest].concat());
    let bytes = || prop_oneof![3 => png(), 1 => any_bytes()];
    prop_oneof![
        any::<String>().prop_map(Image::Text),
        "[A-Za-z0-9+/=\"\\\\ \\n{}:,]{0,60}".prop_map(Image::Text),
        (png(), any::<prop::sample::Index>(), "[ \\r\\n\\t]{0,3}").prop_map(
            |(png, index, blanks)| {
                let mut text = STANDARD.encode(png);
                text.insert_str(index.index(text.len()), &blanks);
                Image::Text(text)
            }
        ),
        bytes().prop_map(Image::Bytes),
        bytes().prop_map(Image::File),
        "https://a\\.example/[a-z\" ?&=\\\\]{0,12}".prop_map(Image::Url),
    ]
}

fn any_extra() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |item| {
        let members = prop::collection::btree_map(any::<String>(), item.clone(), 0..3);
        prop_oneof![
            prop::collection::vec(item, 0..3).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// What the service must read where text is given for an image. Base64 of either alphabet loses its
/// whitespace, with or without padding, and with leftover bits.
fn read_of(text: &str) -> Value {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let stripped: String = text.split_ascii_whitespace().collect();
    let is_padded_right = !stripped.ends_with('=') || stripped.len().is_multiple_of(4);
    let is_base64 = is_padded_right
        && [alphabet::STANDARD, alphabet::URL_SAFE]
            .iter()
            .any(|alphabet| GeneralPurpose::new(alphabet, LENIENT).decode(&stripped).is_ok());
    if is_base64 { stripped.into() } else { text.into() }
}

/// The request, the body that it must be sent as, and the file that must live as long.
fn request(
    prompt: &str,
    listed: Option<Image>,
    unlisted: Option<Image>,
    extra: Map<String, Value>,
) -> (Request, Value, Vec<NamedTempFile>) {
    let mut asked = Map::from_iter([("prompt".to_owned(), prompt.into())]);
    let mut files = Vec::new();
    let mut request = Gen2Pro::new(prompt).into_request();
    for (name, image) in [("input_image", listed), ("a_new_image", unlisted)] {
        let Some(image) = image else { continue };
        let (input, value) = match image {
            Image::Text(text) => (ImageInput::base64(&text), read_of(&text)),
            Image::Url(url) => (ImageInput::url(url.as_str()), url.into()),
            Image::Bytes(bytes) => {
                (ImageInput::bytes(bytes.clone()), STANDARD.encode(bytes).into())
            }
            Image::File(bytes) => {
                let file = NamedTempFile::new().unwrap();
                std::fs::write(&file, &bytes).unwrap();
                let input = ImageInput::path(file.path());
                files.push(file);
                (input, STANDARD.encode(bytes).into())
            }
        };
        request = request.image(name, input);
        asked.insert(name.to_owned(), value);
    }
    for (name, value) in extra {
        let name = format!("extra {name}");
        request = request.field(&name, value.clone());
        asked.insert(name, value);
    }
    (request, Value::Object(asked), files)
}

/// A request that passes, or that is sent unchecked, arrives as it was made. Any other one does not
/// arrive.
#[test]
fn are_any_request_as_it_was_made() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // One server for all cases: to make a client takes longer than the rest.
    let (service, strict, loose) = runtime.block_on(async {
        let service = ScriptedServer::start().await;
        let strict = client(&service);
        let loose = samples::builder(&service).validation(false).build().unwrap();
        (service, strict, loose)
    });
    let cases = (
        any::<String>(),
        prop::option::of(any_image()),
        prop::option::of(any_image()),
        prop::collection::btree_map(any::<String>(), any_extra(), 0..4),
        any::<bool>(),
    );
    let outcome = TestRunner::new(ProptestConfig { cases: 256, ..ProptestConfig::default() }).run(
        &cases,
        |(prompt, listed, unlisted, extra, validation)| {
            let (request, asked, _files) =
                request(&prompt, listed, unlisted, extra.into_iter().collect());
            let is_sent = !validation || request.validate().is_ok();
            let before = service.received().len();
            if is_sent {
                service.answer(samples::accepted(&service, "t1"));
            }
            let client = if validation { &strict } else { &loose };

            let outcome = runtime.block_on(client.submit(request));

            prop_assert_eq!(outcome.is_ok(), is_sent);
            prop_assert_eq!(service.received().len(), before + usize::from(is_sent));
            match outcome {
                Ok(_) => prop_assert_eq!(service.posts().pop().unwrap().json(), asked),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Validation),
            }
            Ok(())
        },
    );
    let _guard = runtime.enter();
    drop(service);
    outcome.unwrap();
}
