use std::time::{Duration, UNIX_EPOCH};

use imagekiln::{FileKind, ImageInput, Request, Submit, find_operation, types::Gen2Pro};
use serde_json::Value;

use super::description;
use crate::{JobState, JobStatus, output::SavedPicture, sha256};

fn text_of(request: Request) -> String {
    let picture = SavedPicture {
        bytes: 3,
        sha256: sha256(b"abc"),
        kind: Some(FileKind::Jpeg),
        location: "/pictures/fox.jpg".to_owned(),
        pixels: None,
    };
    let job = JobStatus {
        group: None,
        metadata: None,
        priority: 0,
        name: "fox".to_owned(),
        number: 1,
        operation: "gen-2-pro".to_owned(),
        pixels: 10_000,
        target: "fox.jpg".to_owned(),
        state: JobState::Ready,
        reason: None,
        submissions: 1,
        task_id: Some("t-1".to_owned()),
        credits: Some(3.0),
        location: None,
        added_at: UNIX_EPOCH,
        sent_at: Some(UNIX_EPOCH + Duration::from_secs(8)),
        submitted_at: Some(UNIX_EPOCH + Duration::from_secs(9)),
        ready_at: None,
        changed_at: UNIX_EPOCH,
    };
    String::from_utf8(description(&job, &request, &picture).unwrap().to_json()).unwrap()
}

fn request_of(request: Request) -> Value {
    let document: Value = serde_json::from_str(&text_of(request)).unwrap();
    document["request"].clone()
}

fn dynamic() -> Request {
    Request::new(find_operation("gen-2-pro").unwrap()).field("prompt", "a fox")
}

#[test]
fn the_document_has_a_stable_form() {
    let request = Gen2Pro::new("a red fox").seed(7).input_image(ImageInput::path("fox.png"));
    let expected = concat!(
        "{\n  \"version\": 1,\n  \"job\": \"fox\",\n  \"model\": \"gen-2-pro\",\n",
        "  \"task_id\": \"t-1\",\n  \"seed\": 7,\n  \"credits\": 3.0,\n  \"times\": {\n",
        "    \"added\": \"1970-01-01T00:00:00Z\",\n",
        "    \"submitted\": \"1970-01-01T00:00:09Z\"\n  },\n  \"picture\": {\n",
        "    \"media_type\": \"image/jpeg\",\n    \"bytes\": 3,\n    \"sha256\": ",
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"\n  },\n",
        "  \"request\": {\n    \"fields\": {\n      \"input_image\": {\n",
        "        \"path\": \"fox.png\"\n      },\n      \"prompt\": \"a red fox\",\n",
        "      \"seed\": 7\n    },\n    \"operation\": \"gen-2-pro\"\n  }\n}\n",
    );
    assert_eq!(text_of(request.into_request()), expected);
}

#[test]
fn images_are_described_by_their_bytes() {
    let expected =
        serde_json::json!({ "omitted": "image", "bytes": 3, "sha256": sha256(b"\xfb\xff\xbe") });
    for image in [
        ImageInput::bytes(b"\xfb\xff\xbe".as_slice()),
        ImageInput::base64("+/++"),
        ImageInput::base64("-_-\n-"),
        ImageInput::base64("data:image/png;base64,+/++"),
    ] {
        let known = request_of(dynamic().image("input_image", image.clone()));
        assert_eq!(known["fields"]["input_image"], expected, "{image:?}");
        let unknown = request_of(dynamic().image("new_image", image));
        assert_eq!(unknown["extra_images"]["new_image"], expected);
    }
    let long = "A".repeat(4000);
    let text = text_of(dynamic().field("extra", serde_json::json!({ "b": [long], "a": 1 })));
    assert!(text.contains("\"bytes\": 3000") && !text.contains("AAAA"), "{text}");
    assert!(text.find("\"a\": 1") < text.find("\"b\": ["), "{text}");
}

#[test]
fn urls_lose_their_queries() {
    let url = "HTTPS://me:SECRET@example.com/fox.png?signature=SECRET#SECRET";
    let request = dynamic()
        .image("input_image", ImageInput::url(url))
        .image("new_image", ImageInput::url(url))
        .image("other_image", ImageInput::url(url.replace("HTTPS", "ftp")))
        .field("webhook_url", url)
        .field("webhook_secret", "SECRET")
        .field("new", serde_json::json!([{ "url": url }]));
    let text = text_of(request);
    assert!(!text.contains("SECRET"), "{text}");
    assert_eq!(text.matches("://example.com/fox.png?[redacted]").count(), 5, "{text}");
}

#[test]
fn prompts_are_kept() {
    for prompt in ["https://example.com/?a=1 as a painting, data: none", &"狐".repeat(1000)] {
        let request = request_of(Gen2Pro::new(prompt).into_request());
        assert_eq!(request["fields"]["prompt"], prompt);
    }
}
