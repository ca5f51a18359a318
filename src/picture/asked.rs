//! Compares a saved picture with what its request asked for.

use crate::FileKind;

/// The size and the format that a request asks for. With `None`, or with a size of 0, the service
/// decides.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "the names are those of the fields")]
#[doc(hidden)]
pub struct Asked<'a> {
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub output_format: Option<&'a str>,
}

impl Asked<'_> {
    /// Returns how a picture differs from the request, for example `64 x 80 pixels instead of 512 x
    /// 512`, or `None` if it does not differ. A format or a size of the picture that is not known
    /// is not compared.
    pub fn difference(
        &self,
        kind: Option<FileKind>,
        pixels: Option<(usize, usize)>,
    ) -> Option<String> {
        let format = self.output_format.zip(kind).filter(|(asked, kind)| {
            FileKind::of_extension(asked).is_some_and(|asked| asked != *kind)
        });
        let format = format.map(|(asked, kind)| format!("{kind} instead of {asked}"));
        let [width, height] = [self.width, self.height]
            .map(|side| side.and_then(|side| usize::try_from(side).ok()).filter(|side| *side > 0));
        let size = pixels.and_then(|(x, y)| {
            let asked = (width.unwrap_or(x), height.unwrap_or(y));
            (asked != (x, y))
                .then(|| format!("{x} x {y} pixels instead of {} x {}", asked.0, asked.1))
        });
        let parts: Vec<String> = format.into_iter().chain(size).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_compared() {
        let png = Some(FileKind::Png);
        let all = Asked { width: Some(512), height: Some(512), output_format: Some("jpeg") };
        let found = all.difference(png, Some((64, 80)));
        let expected = "PNG instead of jpeg, 64 x 80 pixels instead of 512 x 512";
        assert_eq!(found.as_deref(), Some(expected));
        assert_eq!(all.difference(Some(FileKind::Jpeg), Some((512, 512))), None);
        assert_eq!(all.difference(None, None), None);

        let one = Asked { width: Some(64), height: Some(0), output_format: None };
        assert_eq!(one.difference(png, Some((64, 80))), None);
        let found = one.difference(png, Some((80, 80)));
        assert_eq!(found.as_deref(), Some("80 x 80 pixels instead of 64 x 80"));
        assert_eq!(Asked::default().difference(png, Some((80, 80))), None);
    }
}
