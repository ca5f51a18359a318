//! Unusual and malicious images.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{
    DynamicImage, GrayImage, ImageBuffer, ImageEncoder as _, ImageFormat, LumaA, Rgba, RgbaImage,
    codecs::jpeg::JpegEncoder,
};
use serde_json::{Value, json};

use super::{bench::Bench, violations::crc32};
use imagekiln_simulator::Config;
use imagekiln_testbed::picture;

/// A jpeg of 8 x 8 red pixels in CMYK.
const CMYK: &str = concat!(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBX",
    "QUZMTlJTUjI+WmFaUGBKUVJP/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABQAAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEA",
    "AAAAAAAAAAAAAAAAAAAA/9oADgRDAE0AWQBLAAA/AE4YDAnP/9k=",
);

fn png_bytes(image: impl Into<DynamicImage>) -> Vec<u8> {
    picture::encoded(image, ImageFormat::Png)
}

/// The file of a small picture.
fn file(format: ImageFormat) -> Vec<u8> {
    picture::encoded(picture::gradient(16, 12), format)
}

/// A png with these chunks.
fn png_of(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        png.extend((data.len() as u32).to_be_bytes());
        let body = [&kind[..], data].concat();
        png.extend(&body);
        png.extend(crc32(&body).to_be_bytes());
    }
    png
}

/// The compressed pixels of a png.
fn compressed(png: &[u8]) -> Vec<u8> {
    let (mut at, mut data) = (8, Vec::new());
    while let Some(&[a, b, c, d, ref kind @ ..]) = png.get(at..at + 8) {
        let end = at + 8 + u32::from_be_bytes([a, b, c, d]) as usize;
        if kind == b"IDAT" {
            data.extend(&png[at + 8..end]);
        }
        at = end + 4;
    }
    data
}

/// The IHDR chunk of a png: its size, bit depth and colour type.
fn head(width: u32, height: u32, depth: u8, colours: u8) -> Vec<u8> {
    [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, colours, 0, 0, 0]].concat()
}

/// Images of 8 x 8 pixels of every colour type, expanded so that their pixels can be compared.
#[tokio::test]
async fn images_of_every_colour_type_are_converted_to_eight_bits_per_channel() {
    let bench = Bench::new().await;
    let rgba16 = ImageBuffer::<Rgba<u16>, _>::from_fn(8, 8, |x, y| {
        Rgba([x as u16 * 8000, y as u16 * 8000, 77, 50_000])
    });
    let grey_alpha =
        ImageBuffer::<LumaA<u8>, _>::from_fn(8, 8, |x, y| LumaA([x as u8 * 30, y as u8 * 30]));
    let palette = png_of(&[
        (b"IHDR", &head(8, 8, 8, 3)),
        (b"PLTE", &[255, 0, 0, 0, 0, 255]),
        (b"tRNS", &[255, 128]),
        // Alternating colours. The rows of a grey image are compressed like those of a palette
        // image.
        (
            b"IDAT",
            &compressed(&png_bytes(GrayImage::from_fn(8, 8, |x, y| {
                image::Luma([((x + y) % 2) as u8])
            }))),
        ),
        (b"IEND", &[]),
    ]);
    let mut turned = Vec::new();
    let mut encoder = JpegEncoder::new(&mut turned);
    // Exif data that requests a rotation by 90 degrees.
    encoder
        .set_exif_metadata(
            b"II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec(),
        )
        .unwrap();
    DynamicImage::from(RgbaImage::new(8, 8)).to_rgb8().write_with_encoder(encoder).unwrap();
    for (kind, bytes) in [
        ("16 bit", png_bytes(rgba16)),
        ("grey with alpha", png_bytes(grey_alpha)),
        ("grey", png_bytes(GrayImage::from_fn(8, 8, |x, y| image::Luma([(x * y) as u8])))),
        ("palette", palette),
        ("cmyk", STANDARD.decode(CMYK).unwrap()),
        ("turned", turned),
    ] {
        let expected = image::load_from_memory(&bytes).unwrap().into_rgba8();
        let text = STANDARD.encode(&bytes);
        let body = json!({ "image": text, "left": 3, "output_format": "png" });
        let picture = bench.picture("/v1/gen-pro-1.0-expand", &body).await;
        let picture = image::load_from_memory(&picture).unwrap().into_rgba8();
        assert_eq!(picture.dimensions(), (11, 8), "{kind}");
        assert!(image::imageops::crop_imm(&picture, 3, 0, 8, 8).to_image() == expected, "{kind}");
        // All other operations accept it too.
        for (path, body) in [
            ("gen-2-pro", json!({ "prompt": "x", "input_image": text })),
            ("gen-tools/deblur-v1", json!({ "image": text })),
            ("gen-pro-1.0-fill", json!({ "image": text, "mask": text })),
            ("gen-tools/erase-v1", json!({ "image": text, "mask": text })),
            ("gen-tools/vto-v1", json!({ "person": text, "garment": text })),
        ] {
            bench.picture(&format!("/v1/{path}"), &body).await;
        }
    }
    let red = image::load_from_memory(&STANDARD.decode(CMYK).unwrap()).unwrap().into_rgb8();
    let [r, g, b] = red.get_pixel(4, 4).0;
    assert!(r > 200 && g < 60 && b < 60, "cmyk must be converted: {r} {g} {b}");
}

#[tokio::test]
async fn huge_dimensions_are_rejected_by_the_header_of_every_format() {
    let bench = Bench::new().await;
    let mut jpeg = file(ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);

    let mut webp = file(ImageFormat::WebP);
    // After the signature: 14 bits of width minus one, 14 of height minus one, the alpha flag and a
    // version.
    assert_eq!((&webp[12..16], webp[20]), (&b"VP8L"[..], 0x2f));
    webp[21..25].copy_from_slice(&(16_382u32 << 14 | 16_382).to_le_bytes());

    let mut canvas = [
        &b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0"[..],
        &[0; 4],
        // Three bytes of width minus one, three of height minus one.
        &[0xff, 0xff, 0xff, 0x7f, 0, 0],
        &webp[12..],
    ]
    .concat();
    let length = canvas.len() as u32 - 8;
    canvas[4..8].copy_from_slice(&length.to_le_bytes());
    let png = png_of(&[(b"IHDR", &head(60_000, 60_000, 8, 2)), (b"IDAT", &[]), (b"IEND", &[])]);
    for (bytes, dimensions) in [
        (png, "60000 x 60000"),
        (jpeg, "65535 x 65535"),
        (webp, "16383 x 16383"),
        (canvas, "16777216 x 128"),
    ] {
        let body = json!({ "prompt": "x", "input_image": STANDARD.encode(bytes) });
        let response = bench.post("/v1/gen-2-pro", &body).await;
        assert_eq!(response.violations(), ["body.input_image value_error"]);
        assert!(
            response.json()["detail"][0]["msg"].as_str().unwrap().contains(dimensions),
            "{dimensions}: {response:?}"
        );
    }
}

#[tokio::test]
async fn decompression_bombs_are_harmless() {
    let bench = Bench::new().await;
    // 24 MiB of zeros, compressed to less than one: more than a file of 8 x 8 pixels may take in
    // memory.
    let nothing = compressed(&png_bytes(GrayImage::new(4096, 6144)));
    assert!(nothing.len() < 1 << 20, "{}", nothing.len());
    let pixels = compressed(&png_bytes(GrayImage::new(8, 8)));
    let named = |name: &[u8]| [name, b"\0\0", &nothing].concat();
    let (profile, text) = (named(b"profile"), named(b"Comment"));
    let international = [&b"Comment\0\x01\0\0\0"[..], &nothing].concat();
    let ihdr = head(8, 8, 8, 0);
    let with = |kind: &[u8; 4], data: &[u8]| {
        png_of(&[(b"IHDR", &ihdr), (kind, data), (b"IDAT", &pixels), (b"IEND", &[])])
    };
    for (kind, bytes) in [
        ("pixels", png_of(&[(b"IHDR", &ihdr), (b"IDAT", &nothing), (b"IEND", &[])])),
        ("colour profile", with(b"iCCP", &profile)),
        ("text", with(b"zTXt", &text)),
        ("international text", with(b"iTXt", &international)),
    ] {
        let body = json!({ "image": STANDARD.encode(bytes), "left": 1, "output_format": "png" });
        // Data that is not needed is not decompressed, and excess data is ignored.
        let picture = bench.picture("/v1/gen-pro-1.0-expand", &body).await;
        assert_eq!(image::load_from_memory(&picture).unwrap().width(), 9, "{kind}");
    }
}

#[tokio::test]
async fn the_memory_for_metadata_is_limited() {
    let bench = Bench::new().await;
    let small = png_bytes(GrayImage::new(8, 8));
    // After the signature and the header.
    let (head, rest) = small.split_at(33);
    let mebibyte = [&b"Comment\0"[..], &vec![b'x'; 1 << 20]].concat();
    let chunk = png_of(&[(b"tEXt", &mebibyte)])[8..].to_vec();
    let image = |chunks| STANDARD.encode([head, &chunk.repeat(chunks), rest].concat());
    bench.submit("/v1/gen-tools/deblur-v1", &json!({ "image": image(1) })).await;
    let response = bench.post("/v1/gen-tools/deblur-v1", &json!({ "image": image(17) })).await;
    assert_eq!(response.violations(), ["body.image value_error"]);
}

#[tokio::test]
async fn a_jpeg_with_too_many_scans_is_rejected() {
    let bench = Bench::new().await;
    let jpeg = |refinements: usize| {
        let quantization = [&[0xff, 0xdb, 0, 67, 0][..], &[1; 64]].concat();
        // Progressive, one component; a table with a single code of one bit.
        let frame = [0xff, 0xc2, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0];
        let table = [&[0xff, 0xc4, 0, 20, 0, 1][..], &[0; 15], &[0]].concat();
        let scan = |bits: u8| [0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, bits, 0x7f];
        let mut jpeg = [&[0xff, 0xd8][..], &quantization, &frame, &table, &scan(0x01)].concat();
        for _ in 0..refinements {
            jpeg.extend(scan(0x10));
        }
        jpeg.extend([0xff, 0xd9]);
        STANDARD.encode(jpeg)
    };
    bench.submit("/v1/gen-tools/deblur-v1", &json!({ "image": jpeg(1) })).await;
    let response = bench.post("/v1/gen-tools/deblur-v1", &json!({ "image": jpeg(10_000) })).await;
    assert_eq!(response.violations(), ["body.image value_error"]);
}

#[tokio::test]
async fn a_request_that_is_wrong_anyway_decodes_no_image() {
    let bench = Bench::with(Config { max_output_side: 256, ..Config::default() }).await;
    let image = file(ImageFormat::Png);
    let truncated = STANDARD.encode(&image[..image.len() / 2]);
    let violations = async |body: Value| bench.post("/v1/gen-2-pro", &body).await.violations();
    let body = json!({ "prompt": "x", "input_image": truncated });
    assert_eq!(violations(body.clone()).await, ["body.input_image value_error"]);
    let with = |name: &str, value: Value| {
        let mut body = body.clone();
        body[name] = value;
        body
    };
    assert_eq!(violations(with("seed", json!("seven"))).await, ["body.seed int_parsing"]);
    // It is found after the fields were checked.
    assert_eq!(violations(with("width", json!(512))).await, ["body.width less_than_equal"]);
}

#[tokio::test]
async fn truncated_images_are_rejected_and_damaged_ones_are_harmless() {
    let bench = Bench::new().await;
    let status = async |text: String| {
        let response = bench.post("/v1/gen-tools/deblur-v1", &json!({ "image": text })).await;
        if response.status == 200 {
            bench.finish(&response.json()).await;
        }
        response.status
    };
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
        let whole = file(format);
        let text = STANDARD.encode(&whole);
        assert_eq!(status(format!("data:{};base64,{text}", format.to_mime_type())).await, 200);
        let longer = [whole.as_slice(), b"and more"].concat();
        assert_eq!(status(STANDARD.encode(longer)).await, 200, "{format:?} with trailing data");
        for at in 0..whole.len() {
            let cut = status(STANDARD.encode(&whole[..at])).await;
            assert_eq!(cut, 422, "{format:?} cut to {at} of {} bytes", whole.len());
            let mut damaged = whole.clone();
            damaged[at] ^= 0xa5;
            let damaged = status(STANDARD.encode(damaged)).await;
            assert!([200, 422].contains(&damaged.as_u16()), "{format:?} damaged at {at}");
        }
    }
}
