//! Small images, and the forms in which the text of a request contains them.

use std::sync::LazyLock;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE},
};
use image::ImageFormat;
use imagekiln_testbed::picture::{encoded, gradient};

use crate::requests::png;

pub const URLS: [&str; 3] = [
    "https://example.com/fox.png?signature=a%20b",
    "http://127.0.0.1:9/fox.png",
    "HTTPS://example.com/fox.png",
];

/// Text that is neither an image nor the URL of one.
pub const NO_IMAGES: [&str; 5] = ["", "fox.png", "QUJD", "%%%", "data:,fox"];

/// URLs that the service cannot fetch.
pub const BROKEN_URLS: [&str; 3] = ["https://", "http://a b.example/", "https://[::1/fox.png"];

pub static PNG: LazyLock<Vec<u8>> = LazyLock::new(|| png(8, 6, 90));

/// A mask of this size does not fit the other images.
pub static TALL_PNG: LazyLock<Vec<u8>> = LazyLock::new(|| png(6, 8, 90));

/// Exactly four megapixels.
pub static FULL_PNG: LazyLock<Vec<u8>> = LazyLock::new(|| png(2048, 2048, 90));

/// More than four megapixels.
pub static LARGE_PNG: LazyLock<Vec<u8>> = LazyLock::new(|| png(2049, 2048, 90));

pub static JPEG: LazyLock<Vec<u8>> = LazyLock::new(|| encoded(gradient(8, 6), ImageFormat::Jpeg));

pub static WEBP: LazyLock<Vec<u8>> = LazyLock::new(|| encoded(gradient(8, 6), ImageFormat::WebP));

const GIF: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0\x3b";

/// Text that both accept.
pub static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let [png, jpeg, webp] = [&PNG, &JPEG, &WEBP].map(|image| STANDARD.encode(&**image));
    let url = format!("data:image/png;base64,{png}");
    vec![png, jpeg, webp, url]
});

/// Text of images that only the SDK accepts.
pub static LENIENT: LazyLock<Vec<String>> = LazyLock::new(|| {
    let jpeg = STANDARD.encode(&*JPEG);
    let padded = (0..3).map(|length| [&JPEG[..], &b"end"[..length]].concat());
    let padded = padded.map(|image| STANDARD_NO_PAD.encode(image));
    let unpadded = padded.filter(|text| !text.len().is_multiple_of(4));
    let mut texts: Vec<_> = unpadded.collect();
    texts.extend([
        URL_SAFE.encode(&*JPEG),
        format!("DATA:image/jpeg;base64,{jpeg}"),
        format!("data:application/octet-stream;base64,{jpeg}"),
        STANDARD.encode(GIF),
        STANDARD.encode("8BPS\0\x01 and so on"),
        STANDARD.encode(&PNG[..PNG.len() - 12]),
    ]);
    texts
});
