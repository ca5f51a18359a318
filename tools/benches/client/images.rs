//! The images of the benchmarks, and a request that contains eight of them.

use imagekiln::{ImageInput, types::Gen2Pro};

/// The length of an image in bytes.
pub const PICTURE: usize = 8_000_000;

/// Returns a file with the structure of a PNG, and with about `length` bytes.
pub fn png(length: usize) -> Vec<u8> {
    let chunk = |name: &[u8; 4], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [length.as_slice(), name, data, &[0; 4]].concat()
    };
    let header = [0, 0, 4, 0, 0, 0, 3, 0, 8, 2, 0, 0, 0];
    let data: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
    let chunks = [chunk(b"IHDR", &header), chunk(b"IDAT", &data), chunk(b"IEND", &[])].concat();
    [b"\x89PNG\r\n\x1a\n".as_slice(), &chunks].concat()
}

/// Returns a request with eight images.
pub fn request(images: [impl Into<ImageInput>; 8]) -> Gen2Pro {
    let [a, b, c, d, e, f, g, h] = images;
    Gen2Pro::new("a red fox in the snow")
        .input_image(a)
        .input_image_2(b)
        .input_image_3(c)
        .input_image_4(d)
        .input_image_5(e)
        .input_image_6(f)
        .input_image_7(g)
        .input_image_8(h)
}
