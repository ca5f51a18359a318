//! Finds truncated images, for example by an interrupted download.

use std::io::Read;

use super::{
    check,
    image_content::{file_of, head},
};
use crate::{
    Error, FileKind, ImageInput, ImageSource, Request, Violation,
    values::{
        image_file,
        whole::{Checker, Extent},
    },
};

/// How much of a file is read at a time, in bytes.
const CHUNK: usize = 64 * 1024;

impl Request {
    /// Reads all images of the request, and checks that none of them is truncated.
    ///
    /// Submitting a request does not check this, because it reads files only once, while it sends
    /// them. The structure of JPEG, PNG and WebP images is checked, without decoding them. Images
    /// in other formats, images at URLs and unreadable files are skipped.
    ///
    /// This method may block, because it reads files.
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](crate::ErrorKind::Validation), with a violation for each field that has
    /// such an image.
    pub fn check_images(&self) -> Result<(), Error> {
        let mut found = Vec::new();
        for (steps, image) in self.images.iter() {
            if let Some(kind) = cut_off(image) {
                let file = file_of(image);
                let msg = format!("is truncated; must be a complete {kind} image{file}");
                found.push(Violation::of_value(steps, "value_error", msg));
            }
        }
        check(self, found)
    }
}

/// Returns the format of an image whose end is missing.
fn cut_off(image: &ImageInput) -> Option<FileKind> {
    let mut checker = Checker::default();
    match image.source() {
        ImageSource::Url(_) => return None,
        ImageSource::Bytes(bytes) => checker.feed(bytes),
        ImageSource::Base64(text) => checker.feed(&head(image, text.len())?),
        ImageSource::Path(path) => {
            let mut file = image_file::open(path).ok()?;
            let mut chunk = vec![0; CHUNK];
            while let length @ 1.. = file.read(&mut chunk).ok()? {
                checker.feed(chunk.get(..length).unwrap_or_default());
            }
        }
    }
    let is_image = |kind: &FileKind| !matches!(kind, FileKind::Mp4 | FileKind::Webm);
    let kind = checker.kind().filter(is_image);
    kind.filter(|_| checker.extent() == Extent::Partial)
}

#[cfg(test)]
mod tests {
    use crate::{ImageInput, Request, find_operation};

    #[test]
    fn an_image_that_is_cut_off_is_a_violation_of_its_field() {
        let whole =
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR0123456789abc----\0\0\0\x01IDATx----\0\0\0\0IEND----";
        let checked = |bytes: &'static [u8]| {
            Request::new(find_operation("gen-2-pro").unwrap())
                .image("input_image", ImageInput::bytes(bytes))
                .image("person", ImageInput::url("https://example.com/fox.png"))
                .check_images()
        };
        assert!(checked(whole).is_ok());
        let error = checked(&whole[..whole.len() - 1]).unwrap_err();
        let [violation] = error.violations() else { panic!("{error}") };
        assert_eq!(
            violation.to_string(),
            "input_image: is truncated; must be a complete PNG image"
        );
        // An unknown format cannot be checked.
        assert!(checked(b"8BPS\0\x01").is_ok());
    }
}
