//! Draws text.

use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef, Glyph, GlyphId, PxScale, ScaleFont as _, point};
use epaint_default_fonts::{HACK_REGULAR, NOTO_EMOJI_REGULAR, UBUNTU_LIGHT};

use super::canvas::{Canvas, Colour};

/// A typeface with fallback fonts.
pub(super) struct Face(Vec<FontRef<'static>>);

/// For prompts.
pub(super) static PROSE: LazyLock<Face> =
    LazyLock::new(|| Face::of([UBUNTU_LIGHT, NOTO_EMOJI_REGULAR, HACK_REGULAR]));

/// For names and numbers.
pub(super) static PLAIN: LazyLock<Face> =
    LazyLock::new(|| Face::of([HACK_REGULAR, NOTO_EMOJI_REGULAR, UBUNTU_LIGHT]));

impl Face {
    fn of(files: [&'static [u8]; 3]) -> Self {
        Self(files.into_iter().filter_map(|file| FontRef::try_from_slice(file).ok()).collect())
    }

    /// The first font that has the character, or the first font, which draws a box.
    fn glyph(&self, character: char) -> Option<(&FontRef<'static>, GlyphId)> {
        let has = self.0.iter().find(|font| font.glyph_id(character).0 != 0);
        has.or(self.0.first()).map(|font| (font, font.glyph_id(character)))
    }

    /// The width of a text in pixels.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        text.chars().map(|character| self.advance(character, size)).sum()
    }

    fn advance(&self, character: char, size: f32) -> f32 {
        self.glyph(character).map_or(0.0, |(font, id)| font.as_scaled(size).h_advance(id))
    }

    /// The text, truncated with an ellipsis if it is wider than `room`.
    pub(super) fn elide(&self, text: &str, size: f32, room: f32) -> String {
        if self.width(text, size) <= room {
            return text.to_owned();
        }
        let mut left = room - self.advance('…', size);
        let fits = text.chars().take_while(|character| {
            left -= self.advance(*character, size);
            left >= 0.0
        });
        let kept: String = fits.collect();
        format!("{}…", kept.trim_end())
    }

    /// Wraps the text to at most `lines` lines no wider than `room`, between words if possible.
    pub(super) fn wrap(&self, text: &str, size: f32, room: f32, lines: usize) -> Vec<String> {
        let mut wrapped: Vec<String> = Vec::new();
        let mut words = text.split_whitespace().peekable();
        while words.peek().is_some() && wrapped.len() + 1 < lines {
            let mut line = String::new();
            while let Some(word) = words.peek() {
                let longer =
                    if line.is_empty() { (*word).to_owned() } else { format!("{line} {word}") };
                if !line.is_empty() && self.width(&longer, size) > room {
                    break;
                }
                line = longer;
                words.next();
            }
            wrapped.push(self.elide(&line, size, room));
        }
        let rest = words.collect::<Vec<_>>().join(" ");
        if !rest.is_empty() {
            wrapped.push(self.elide(&rest, size, room));
        }
        wrapped
    }

    /// Draws a line of text on `baseline`.
    pub(super) fn draw(
        &self,
        canvas: &mut Canvas,
        text: &str,
        size: f32,
        (mut x, baseline): (f32, f32),
        colour: Colour,
    ) {
        for character in text.chars() {
            let Some((font, id)) = self.glyph(character) else { return };
            let glyph = Glyph { id, scale: PxScale::from(size), position: point(x, baseline) };
            x += font.as_scaled(size).h_advance(id);
            if let Some(outline) = font.outline_glyph(glyph) {
                let bounds = outline.px_bounds();
                let (left, top) = (bounds.min.x as i64, bounds.min.y as i64);
                outline.draw(|dx, dy, share| {
                    canvas.blend(left + i64::from(dx), top + i64::from(dy), colour, share)
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fonts_are_readable() {
        assert_eq!((PROSE.0.len(), PLAIN.0.len()), (3, 3));
    }

    #[test]
    fn nothing_is_wider_than_its_room() {
        let text =
            "The quick brown fox 🦊 jumps over Donaudampfschifffahrtsgesellschaftskapitän, twice";
        for room in [40.0, 90.0, 200.0, 5000.0] {
            for lines in 1..4 {
                let wrapped = PROSE.wrap(text, 20.0, room, lines);
                assert!(wrapped.len() <= lines);
                for line in wrapped {
                    assert!(PROSE.width(&line, 20.0) <= room, "{line:?} in {room}");
                }
            }
        }
        assert_eq!(PROSE.wrap(text, 20.0, 5000.0, 2), [text]);
        assert!(PROSE.wrap("  ", 20.0, 100.0, 2).is_empty());
    }
}
