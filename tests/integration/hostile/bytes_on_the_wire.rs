//! The body is a single JSON document with exactly the strings that the caller set.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use crate::support::{
    samples::{self, PNG, assert_kind, client, fox},
    scripted::ScriptedServer,
};
use imagekiln::{ErrorKind, ImageInput, Request, Submit, find_operation, types::Gen2Pro};

const INJECTION: &str = r#"A","webhook_url":"https://evil.example/"#;

#[tokio::test(start_paused = true)]
async fn text_declared_as_base64_cannot_add_fields() {
    for name in ["input_image", "a_new_image"] {
        let request = Request::new(find_operation("gen-2-pro").unwrap())
            .image(name, ImageInput::base64(INJECTION));
        let service = ScriptedServer::start().await;
        let error =
            client(&service).submit(request.clone().field("prompt", "p")).await.unwrap_err();
        assert_kind(&error, ErrorKind::Validation);
        service.assert_received_nothing();

        service.reply(samples::accepted(&service, "t1"));
        let unvalidated = samples::builder(&service).validation(false).build().unwrap();
        let _ = unvalidated.submit(request).await.unwrap();
        let body = service.only_request().json();
        assert_eq!(body, json!({ name: INJECTION }));
    }
}

/// The property below has base64 alone, in an image.
#[tokio::test(start_paused = true)]
async fn base64_in_a_data_url_or_a_text_field_is_sent_without_whitespace() {
    let text = STANDARD.encode(PNG);
    let (front, back) = text.split_at(76);
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1"));
    let request = fox()
        .input_image(ImageInput::base64(format!(" data:image/png;base64,\n{front} {back}")))
        .extra("input_image_2", format!("{front}\t{back}"));

    let _ = client(&service).submit(request).await.unwrap();

    let body = service.only_request().json();
    assert_eq!(body["input_image"], format!("data:image/png;base64,{text}"));
    assert_eq!(body["input_image_2"], text);
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

/// Returns what the service must read if text is given for an image. Base64 of either alphabet
/// loses its whitespace, with or without padding and with nonzero trailing bits.
fn expected(text: &str) -> Value {
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

/// Returns the request, the expected body, and the files that must exist while it is sent.
fn request(
    prompt: &str,
    defined: Option<Image>,
    undefined: Option<Image>,
    extra: Map<String, Value>,
) -> (Request, Value, Vec<NamedTempFile>) {
    let mut fields = Map::from_iter([("prompt".to_owned(), prompt.into())]);
    let mut files = Vec::new();
    let mut request = Gen2Pro::new(prompt).into_request();
    for (name, image) in [("input_image", defined), ("a_new_image", undefined)] {
        let Some(image) = image else { continue };
        let (input, value) = match image {
            Image::Text(text) => (ImageInput::base64(&text), expected(&text)),
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
        fields.insert(name.to_owned(), value);
    }
    for (name, value) in extra {
        let name = format!("extra {name}");
        request = request.field(&name, value.clone());
        fields.insert(name, value);
    }
    (request, Value::Object(fields), files)
}

/// A request that is valid, or that is sent without validation, arrives as it was set. Other
/// requests are not sent.
#[test]
fn any_request_is_sent_as_set() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // One server for all cases, because creating a client is slow.
    let (service, strict, unvalidated) = runtime.block_on(async {
        let service = ScriptedServer::start().await;
        let strict = client(&service);
        let unvalidated = samples::builder(&service).validation(false).build().unwrap();
        (service, strict, unvalidated)
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
        |(prompt, defined, undefined, extra, validation)| {
            let (request, expected, _files) =
                request(&prompt, defined, undefined, extra.into_iter().collect());
            let is_sent = !validation || request.validate().is_ok();
            let before = service.received().len();
            if is_sent {
                service.reply(samples::accepted(&service, "t1"));
            }
            let client = if validation { &strict } else { &unvalidated };

            let outcome = runtime.block_on(client.submit(request));

            prop_assert_eq!(outcome.is_ok(), is_sent);
            prop_assert_eq!(service.received().len(), before + usize::from(is_sent));
            match outcome {
                Ok(_) => prop_assert_eq!(service.posts().pop().unwrap().json(), expected),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Validation),
            }
            Ok(())
        },
    );
    let _guard = runtime.enter();
    drop(service);
    outcome.unwrap();
}
