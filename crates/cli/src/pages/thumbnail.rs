//! Small versions of pictures.

use std::io::Cursor;

use image::{
    DynamicImage, GenericImageView as _, ImageReader, ImageResult, Limits, Rgba, RgbaImage,
    codecs::jpeg::JpegEncoder, imageops,
};

use imagekiln::FileKind;

/// The long side of a thumbnail in pixels.
const LONG_SIDE: u32 = 320;

/// The JPEG quality of a thumbnail. The contact sheet of a thousand landscapes becomes 15 to 20 MB
/// large.
const QUALITY: u8 = 78;

/// The maximum memory for decoding a picture, in bytes. A picture that needs more has no thumbnail.
const MEMORY: u64 = 256 * 1024 * 1024;

/// The preview of a file.
#[derive(Debug, PartialEq)]
pub enum Preview {
    /// A small version of the picture.
    Thumbnail(Thumbnail),
    /// Why there is no thumbnail.
    Note(String),
}

/// A small version of a picture.
#[derive(Debug, PartialEq)]
pub struct Thumbnail {
    /// The file.
    pub jpeg: Vec<u8>,
    /// The width of the original picture in pixels.
    pub width: u32,
    /// The height of the original picture in pixels.
    pub height: u32,
}

impl Preview {
    /// Creates the preview of a file. A damaged picture is not an error: its job was paid for, so
    /// the sheet shows the job with a note.
    pub fn of(file: &[u8]) -> Self {
        if let Ok(thumbnail) = thumbnail(file) {
            return Self::Thumbnail(thumbnail);
        }
        Self::Note(match FileKind::of(file) {
            None => "file of an unknown format".to_owned(),
            Some(kind) => {
                let format = kind.extension().to_uppercase();
                if kind.media_type().starts_with("video/") {
                    format!("{format} video")
                } else {
                    format!("{format} file without a preview")
                }
            }
        })
    }
}

fn thumbnail(file: &[u8]) -> ImageResult<Thumbnail> {
    let mut reader = ImageReader::new(Cursor::new(file)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    let picture = reader.decode()?;
    let (width, height) = picture.dimensions();
    let small = if width.max(height) > LONG_SIDE {
        picture.thumbnail(LONG_SIDE, LONG_SIDE)
    } else {
        picture
    };
    let mut jpeg = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut jpeg, QUALITY);
    opaque(small).to_rgb8().write_with_encoder(encoder)?;
    Ok(Thumbnail { jpeg, width, height })
}

/// Draws a picture with transparency on white, because JPEG has no transparency: a transparent
/// pixel would show whatever colour is stored in it.
fn opaque(picture: DynamicImage) -> DynamicImage {
    if !picture.color().has_alpha() {
        return picture;
    }
    let (width, height) = picture.dimensions();
    let mut paper = RgbaImage::from_pixel(width, height, Rgba([255; 4]));
    imageops::overlay(&mut paper, &picture, 0, 0);
    paper.into()
}

#[cfg(test)]
mod tests {
    use image::{ImageError, ImageFormat, RgbImage};

    use super::*;

    fn encoded(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        picture.into().write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn decoded(preview: &Preview) -> (DynamicImage, u32, u32) {
        let Preview::Thumbnail(Thumbnail { jpeg, width, height }) = preview else {
            panic!("{preview:?}");
        };
        (image::load_from_memory_with_format(jpeg, ImageFormat::Jpeg).unwrap(), *width, *height)
    }

    #[test]
    fn every_format_of_the_service_gets_a_thumbnail() {
        for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
            for (size, small) in [((1280, 640), (320, 160)), ((8, 900), (3, 320)), ((4, 4), (4, 4))]
            {
                let file = encoded(RgbImage::new(size.0, size.1), format);
                let (thumbnail, width, height) = decoded(&Preview::of(&file));
                assert_eq!((width, height), size, "{format:?}");
                assert_eq!(thumbnail.dimensions(), small, "{format:?}");
            }
        }
    }

    #[test]
    fn transparent_pixels_are_white() {
        let file = encoded(RgbaImage::new(400, 400), ImageFormat::Png);
        let (thumbnail, ..) = decoded(&Preview::of(&file));
        assert_eq!(thumbnail.get_pixel(10, 10), Rgba([255; 4]));
    }

    #[test]
    fn what_cannot_be_decoded_has_a_note() {
        let png = encoded(RgbImage::new(64, 64), ImageFormat::Png);
        let mut damaged = png.clone();
        damaged.truncate(png.len() / 2);
        let note = |file: &[u8]| match Preview::of(file) {
            Preview::Note(note) => note,
            preview => panic!("{preview:?}"),
        };
        assert_eq!(note(&damaged), "PNG file without a preview");
        assert_eq!(note(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"), "MP4 video");
        assert_eq!(note(b"\x1a\x45\xdf\xa3"), "WEBM video");
        assert_eq!(note(b""), "file of an unknown format");
        assert_eq!(note(b"<html>"), "file of an unknown format");
    }

    #[test]
    fn memory_is_bounded() {
        // A JPEG header that claims 60,000 by 60,000 pixels.
        let mut jpeg = encoded(RgbImage::new(8, 8), ImageFormat::Jpeg);
        let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
        let side = 60_000_u16.to_be_bytes();
        jpeg.splice(frame + 5..frame + 9, [side, side].concat());
        assert!(matches!(thumbnail(&jpeg), Err(ImageError::Limits(_))));
        assert_eq!(Preview::of(&jpeg), Preview::Note("JPG file without a preview".to_owned()));
    }
}
