use imagekiln::{ImageInput, Request, Submit, find_operation, types::Gen2Pro};
use serde_json::Value;

use super::{describe_request, named};
use crate::sha256;

fn request_of(request: Request) -> Value {
    describe_request(&request, named).unwrap()
}

fn text_of(request: Request) -> String {
    serde_json::to_string_pretty(&request_of(request)).unwrap()
}

fn dynamic() -> Request {
    Request::new(find_operation("gen-2-pro").unwrap()).field("prompt", "a fox")
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
