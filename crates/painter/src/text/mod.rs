//! Text in many scripts: its width, its lines, and its pixels.

mod line;

use std::{io::Read as _, sync::LazyLock};

use ab_glyph::{Font as _, FontRef, Glyph, PxScale, point};
use epaint_default_fonts::{HACK_REGULAR, NOTO_EMOJI_REGULAR, UBUNTU_LIGHT};
use flate2::read::GzDecoder;

use self::line::{Line, Mark};

/// The width of the box for a character that no font has, relative to the text.
const BOX: f32 = 0.6;

/// A pixel, and the share of it that is covered.
type Dot = (i64, i64, f32);

/// A typeface with fallback fonts.
pub(super) struct Face(Vec<FontRef<'static>>);

/// For prompts.
pub(super) static PROSE: LazyLock<Face> =
    LazyLock::new(|| Face::of([UBUNTU_LIGHT, NOTO_EMOJI_REGULAR, HACK_REGULAR]));

/// For names and numbers.
pub(super) static PLAIN: LazyLock<Face> =
    LazyLock::new(|| Face::of([HACK_REGULAR, NOTO_EMOJI_REGULAR, UBUNTU_LIGHT]));

/// Fonts of other scripts, which are only decompressed when they are needed: Chinese characters and
/// kana, Hangul, and Arabic and Hebrew.
static FILES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let packed: [&[u8]; 3] = [
        include_bytes!("fonts/han.ttf.gz"),
        include_bytes!("fonts/hangul.ttf.gz"),
        include_bytes!("fonts/arabic.ttf.gz"),
    ];
    packed.map(|file| {
        let mut bytes = Vec::new();
        // A test rules out that a file is damaged.
        let _ = GzDecoder::new(file).read_to_end(&mut bytes);
        bytes
    })
});

/// The fonts in these files, in the same order.
static WORLD: LazyLock<Vec<FontRef<'static>>> =
    LazyLock::new(|| FILES.iter().filter_map(|file| FontRef::try_from_slice(file).ok()).collect());

/// For shaping: Arabic letters change their shapes with their neighbours.
#[cfg(feature = "shaping")]
static SHAPED: LazyLock<Option<harfrust::Font>> =
    LazyLock::new(|| harfrust::Font::new(FILES[2].clone(), 0));

impl Face {
    fn of(files: [&'static [u8]; 3]) -> Self {
        Self(files.into_iter().filter_map(|file| FontRef::try_from_slice(file).ok()).collect())
    }

    /// The first font that has the character.
    fn font_of(&self, character: char) -> Option<&FontRef<'static>> {
        let has = |font: &&FontRef<'static>| font.glyph_id(character).0 != 0;
        self.0.iter().find(has).or_else(|| WORLD.iter().find(has))
    }

    /// The width of a text in pixels.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        Line::of(self, text, size).width
    }

    /// The text, truncated with an ellipsis if it is wider than `room`.
    pub(super) fn elide(&self, text: &str, size: f32, room: f32) -> String {
        if self.width(text, size) <= room {
            return text.to_owned();
        }
        format!("{}…", self.longest(text, "…", size, room).trim_end())
    }

    /// The longest beginning of a text that fits before an ending.
    fn longest<'t>(&self, text: &'t str, ending: &str, size: f32, room: f32) -> &'t str {
        let ends = text.char_indices().map(|(end, _)| end).chain([text.len()]);
        let starts: Vec<_> = ends.filter_map(|end| text.get(..end)).collect();
        let line = |start: &str| format!("{}{ending}", start.trim_end());
        let fitting = starts.partition_point(|start| self.width(&line(start), size) <= room);
        starts.into_iter().take(fitting).next_back().unwrap_or_default()
    }

    /// Wraps the text to at most `lines` lines no wider than `room`: between words if possible, and
    /// within a word that is wider than a line, as in scripts without spaces.
    pub(super) fn wrap(&self, text: &str, size: f32, room: f32, lines: usize) -> Vec<String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (mut wrapped, mut rest) = (Vec::new(), text.as_str());
        while !rest.is_empty() && wrapped.len() + 1 < lines {
            let most = self.longest(rest, "", size, room).len();
            let mut ends = rest.match_indices(' ').map(|(end, _)| end).chain([rest.len()]);
            let end = ends.rfind(|end| (1..=most).contains(end)).unwrap_or(most);
            if end == 0 {
                break;
            }
            let (line, next) = rest.split_at(end);
            wrapped.push(line.trim_end().to_owned());
            rest = next.trim_start();
        }
        if !rest.is_empty() && wrapped.len() < lines {
            wrapped.push(self.elide(rest, size, room));
        }
        wrapped
    }

    /// The pixels of a line of text that starts at `x`, each with the share of it that is covered.
    pub(super) fn ink(&self, text: &str, size: f32, (x, baseline): (f32, f32)) -> Vec<Dot> {
        let mut dots = Vec::new();
        for (mark, at) in Line::of(self, text, size).marks {
            match mark {
                Mark::Glyph(font, id, (dx, dy)) => {
                    let position = point(x + at + dx, baseline - dy);
                    let glyph = Glyph { id, scale: PxScale::from(size), position };
                    let Some(outline) = font.outline_glyph(glyph) else { continue };
                    let bounds = outline.px_bounds();
                    let (left, top) = (bounds.min.x as i64, bounds.min.y as i64);
                    outline.draw(|dx, dy, share| {
                        dots.push((left + i64::from(dx), top + i64::from(dy), share));
                    });
                }
                Mark::Missing => {
                    let (left, right) = ((x + at) as i64, (x + at + size * BOX * 0.9) as i64);
                    let (upper, lower) = ((baseline - size * 0.74) as i64, baseline as i64);
                    let level = (left..=right).flat_map(|x| [(x, upper), (x, lower)]);
                    let upright = (upper + 1..lower).flat_map(|y| [(left, y), (right, y)]);
                    dots.extend(level.chain(upright).map(|(x, y)| (x, y, 0.6)));
                }
            }
        }
        dots
    }
}

/// From font units to pixels.
fn scale(font: &FontRef<'static>, size: f32) -> f32 {
    size / font.height_unscaled().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wider_than_its_room() {
        for text in [
            "The quick brown fox 🦊 jumps over Donaudampfschifffahrtsgesellschaftskapitän, twice",
            "雪の中の赤い狐が森の中で静かに眠っている、そして月が湖の上に昇る",
            "ثعلب أحمر في الثلج تحت ضوء القمر بجانب البحيرة الهادئة",
            "หมาจิ้งจอกสีแดงท่ามกลางหิมะ",
        ] {
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
        }
        assert!(PROSE.wrap("  ", 20.0, 100.0, 2).is_empty());
    }

    #[test]
    fn text_without_spaces_fills_all_lines() {
        let text = "雪の中の赤い狐が森の中で静かに眠っている";
        let wrapped = PROSE.wrap(text, 20.0, PROSE.width(text, 20.0) * 0.6, 2);
        assert_eq!(wrapped.concat(), text);
    }

    #[test]
    fn prompts_in_many_scripts_have_glyphs() {
        for text in [
            "A café, naïve; 50 € – Ελληνικά, кириллица",
            "雪地里的红狐狸，月光下的湖",
            "雪地裡的紅狐狸，湖邊的燈籠",
            "雪の中の赤いキツネ、夜のネオン街",
            "눈 속의 붉은 여우와 호수 위의 달",
            "ثعلب أحمر في الثلج",
            "שועל אדום בשלג",
            "🐺❄🌙🏠🌸",
        ] {
            for character in text.chars() {
                assert!(PROSE.font_of(character).is_some(), "{character} of {text}");
            }
        }
    }

    #[test]
    #[cfg(feature = "shaping")]
    fn arabic_letters_are_joined_and_run_from_right_to_left() {
        let line = Line::of(&PROSE, "سلام", 20.0);
        let alone: f32 = "سلام".chars().map(|letter| PROSE.width(&letter.to_string(), 20.0)).sum();
        assert!(line.width < alone * 0.95, "{} {alone}", line.width);
        // Mixed with Latin text, the Arabic words keep their own order.
        let start = |text: &str| Line::of(&PROSE, text, 20.0).marks.first().map(|mark| mark.1);
        assert_eq!(start("a سلام"), Some(0.0));
        let first = |text: &str| match Line::of(&PROSE, text, 20.0).marks.first() {
            Some((Mark::Glyph(_, id, _), _)) => id.0,
            _ => 0,
        };
        assert_eq!(first("سلا م"), first("م"), "the last letter is on the left");
    }

    #[test]
    fn a_character_without_a_glyph_is_a_box() {
        let dots = PROSE.ink("\u{0e01}", 40.0, (0.0, 40.0));
        let (right, lower) = dots.iter().map(|(x, y, _)| (*x, *y)).max().unwrap();
        assert!(right < 24 && lower == 40 && dots.len() > 80, "{dots:?}");
        assert_eq!(PROSE.width("\u{fe0f}\u{200d}", 20.0), 0.0, "these are invisible");
    }
}
