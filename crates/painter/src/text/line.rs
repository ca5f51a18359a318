//! A line of text: which glyph is where, from left to right. Joining Arabic letters takes the
//! feature `shaping`.

use ab_glyph::{Font as _, FontRef, GlyphId};
use unicode_bidi::BidiInfo;

use super::{BOX, Face, scale};
#[cfg(feature = "shaping")]
use super::{SHAPED, WORLD};

/// A part of a line.
pub(super) enum Mark<'a> {
    /// A glyph, and its distance to the right of its place and above it.
    Glyph(&'a FontRef<'static>, GlyphId, (f32, f32)),
    /// A character that no font has.
    Missing,
}

#[derive(Default)]
pub(super) struct Line<'a> {
    /// Each with its distance from the left.
    pub(super) marks: Vec<(Mark<'a>, f32)>,
    pub(super) width: f32,
}

impl<'a> Line<'a> {
    pub(super) fn of(face: &'a Face, text: &str, size: f32) -> Self {
        let mut line = Self::default();
        let bidi = BidiInfo::new(text, None);
        for paragraph in &bidi.paragraphs {
            let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
            for run in runs {
                let is_rtl = levels.get(run.start).is_some_and(|level| level.is_rtl());
                let text = text.get(run).unwrap_or_default();
                if !is_rtl || line.push_shaped(face, text, size).is_none() {
                    line.push(face, text, size);
                }
            }
        }
        line
    }

    /// Characters from left to right, each with its own glyph.
    pub(super) fn push(&mut self, face: &'a Face, text: &str, size: f32) {
        for character in text.chars().filter(|character| !is_invisible(*character)) {
            match face.font_of(character) {
                Some(font) => {
                    let id = font.glyph_id(character);
                    let advance = font.h_advance_unscaled(id) * scale(font, size);
                    self.add(Mark::Glyph(font, id, (0.0, 0.0)), advance);
                }
                None => self.add(Mark::Missing, size * BOX),
            }
        }
    }

    /// Characters from right to left, whose glyphs depend on their neighbours.
    #[cfg(feature = "shaping")]
    pub(super) fn push_shaped(&mut self, face: &'a Face, text: &str, size: f32) -> Option<()> {
        use harfrust::{Buffer, Direction, ShapeOptions, ShaperFont};

        let (font, shaped) = (WORLD.last()?, SHAPED.as_ref()?);
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

    pub(super) fn add(&mut self, mark: Mark<'a>, advance: f32) {
        self.marks.push((mark, self.width));
        self.width += advance;
    }
}

/// Whether a character only affects its neighbours: joiners, variation selectors, skin tones,
/// directional marks.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{00ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{e0000}'..='\u{e01ef}'
    ) || character.is_control()
}
