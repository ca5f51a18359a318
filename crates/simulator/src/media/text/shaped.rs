//! Scripts from right to left. Joining Arabic letters takes the feature `shaping`.

use super::{Face, line::Line};
#[cfg(feature = "shaping")]
use super::{
    fonts,
    line::{Mark, is_invisible},
    scale,
};

impl<'a> Line<'a> {
    /// Characters from right to left, whose glyphs depend on their neighbours.
    #[cfg(feature = "shaping")]
    pub(super) fn push_shaped(&mut self, face: &'a Face, text: &str, size: f32) -> Option<()> {
        use harfrust::{Buffer, Direction, ShapeOptions, ShaperFont};

        let (font, shaped) = (fonts::arabic()?, fonts::SHAPED.as_ref()?);
        let mut buffer = Buffer::new();
        buffer.push_str(text);
        buffer.set_direction(Direction::RightToLeft);
        buffer.guess_segment_properties();
        harfrust::shape(&ShaperFont::new(shaped), &mut buffer, ShapeOptions::default()).ok()?;
        let scale = scale(font, size);
        for (info, place) in buffer.glyph_infos().iter().zip(buffer.glyph_positions()) {
            let character = text.get(info.cluster as usize..).and_then(|rest| rest.chars().next());
            match (info.glyph_id, character) {
                (0, Some(character)) if is_invisible(character) => {}
                // Another font may have it.
                (0, Some(character)) => self.push(face, character.encode_utf8(&mut [0; 4]), size),
                (id, _) => {
                    let id = ab_glyph::GlyphId(u16::try_from(id).unwrap_or(0));
                    let aside = (place.x_offset as f32 * scale, place.y_offset as f32 * scale);
                    let advance = place.x_advance as f32 * scale;
                    self.add(Mark::Glyph(font, id, aside), advance);
                }
            }
        }
        Some(())
    }

    /// Characters from right to left, each with its own glyph: Arabic letters are not joined.
    #[cfg(not(feature = "shaping"))]
    pub(super) fn push_shaped(&mut self, face: &'a Face, text: &str, size: f32) -> Option<()> {
        let reversed: String = text.chars().rev().collect();
        self.push(face, &reversed, size);
        Some(())
    }
}
