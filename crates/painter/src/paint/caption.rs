//! The caption at the bottom of a picture.

use image::RgbaImage;

use super::{
    canvas::{Area, Canvas, WHITE, mix, rgb},
    picture::Picture,
};
use crate::text::{Face, PLAIN, PROSE};

/// The notice that prevents placeholders from being mistaken for real pictures.
const NOTICE: &str = "simulated, not a model's work";

/// Used if there is no room for the complete notice.
const SHORT_NOTICE: &str = "simulated";

/// The smallest legible font size.
const MIN_SIZE: f32 = 10.0;

/// The maximum length of a prompt, in characters.
const MAX_PROMPT: usize = 300;

/// The maximum number of lines for the facts.
const MAX_FACT_LINES: usize = 3;

/// The maximum share of the picture's height.
const MOST: f32 = 0.42;

/// The distance of lines, in font sizes.
const LEADING: f32 = 1.32;

/// The space above and below the text together, in margins.
const MARGINS: f32 = 1.35;

/// The sizes of the text, the margin, and the width of a line.
struct Sizes {
    prompt: f32,
    small: f32,
    margin: f32,
    room: f32,
}

impl Sizes {
    /// Returns `None` if there is no room for a caption.
    fn of(canvas: &Canvas) -> Option<Self> {
        let prompt = (canvas.short() * 0.036).clamp(12.0, 44.0);
        let (small, margin) = ((prompt * 0.66).max(MIN_SIZE), (prompt * 0.8).round());
        let room = canvas.width as f32 - 2.0 * margin;
        (room >= MIN_SIZE * 6.0).then_some(Self { prompt, small, margin, room })
    }

    /// A line of small print.
    fn print(&self, text: &str) -> Line {
        let text = PLAIN.elide(text, self.small, self.room);
        Line { face: &PLAIN, text, size: self.small, strength: 0.78 }
    }

    fn notice(&self) -> &'static str {
        let is_whole = PLAIN.width(NOTICE, self.small) <= self.room;
        if is_whole { NOTICE } else { SHORT_NOTICE }
    }
}

struct Line {
    face: &'static Face,
    text: String,
    size: f32,
    strength: f32,
}

/// Returns the image with the caption, which covers only its lower part. An image that is too small
/// for a caption gets none.
pub(super) fn paint(mut canvas: Canvas, picture: &Picture) -> RgbaImage {
    let layout = layout(&canvas, picture);
    let Some((lines, top, margin)) = layout else { return canvas.into_image() };
    // An image of the request may have a caption of its own.
    let share = if picture.inputs.is_empty() { 0.66 } else { 0.95 };
    let (all, upper) = (canvas.area(), top as i64);
    let ground = Area { y: upper, height: all.height - upper, ..all };
    canvas.blend_rectangle(ground, rgb(0x0a0c14), share);
    let mut y = top + margin * 0.75;
    for line in lines {
        let baseline = (y + line.size * 0.82).round();
        let colour = mix(rgb(0x0a0c14), WHITE, line.strength);
        canvas.write(line.face, &line.text, line.size, (margin, baseline), colour);
        y += line.size * LEADING;
    }
    canvas.into_image()
}

/// The area above the caption.
pub(super) fn above(canvas: &Canvas, picture: &Picture) -> Area {
    let all = canvas.area();
    let height = layout(canvas, picture).map_or(all.height, |(_, top, _)| top as i64);
    Area { height, ..all }
}

/// The usual upper edge of the caption: what a painting shows should be above it. It depends only
/// on the size, so that a longer caption does not change the painting.
pub(super) fn floor(canvas: &Canvas) -> f32 {
    let height = canvas.height as f32;
    let Some(Sizes { prompt, small, margin, .. }) = Sizes::of(canvas) else { return height };
    let usual = (prompt + 2.0 * small) * LEADING + margin * MARGINS;
    if usual <= height * MOST { height - usual } else { height * (1.0 - MOST / 2.0) }
}

/// Lays out as much text as fits. Returns the lines, their upper edge, and the margin beside them;
/// `None` if there is no room at all.
fn layout(canvas: &Canvas, picture: &Picture) -> Option<(Vec<Line>, f32, f32)> {
    let sizes = Sizes::of(canvas)?;
    let (margin, whole) = (sizes.margin, canvas.height as f32);
    let height = |lines: &[Line]| {
        let text: f32 = lines.iter().map(|line| line.size * LEADING).sum();
        (text + margin * MARGINS).round()
    };
    let only_notice = || vec![sizes.print(sizes.notice())];
    let choices = [2, 1, 0].into_iter().map(|prompt_lines| lines(picture, &sizes, prompt_lines));
    let mut choices = choices.chain(std::iter::once_with(only_notice));
    let lines = choices.find(|lines| height(lines) <= whole * MOST)?;
    let top = whole - height(&lines);
    Some((lines, top, margin))
}

/// The prompt in at most `prompt_lines` lines, and the small print.
fn lines(picture: &Picture, sizes: &Sizes, prompt_lines: usize) -> Vec<Line> {
    let prompt: String = picture.prompt.chars().take(MAX_PROMPT).collect();
    let wrapped = PROSE.wrap(&prompt, sizes.prompt, sizes.room, prompt_lines);
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count();
    let shown: usize = wrapped.iter().map(|line| letters(line)).sum();
    let is_elided = wrapped.last().is_some_and(|line| line.ends_with('…'));
    let all = letters(&picture.prompt);
    let is_whole = shown >= all && (!is_elided || prompt.ends_with('…'));
    let missing = (!is_whole).then(|| format!("prompt of {all} characters"));
    let size = sizes.prompt;
    let prose = wrapped.into_iter().map(|text| Line { face: &PROSE, text, size, strength: 1.0 });
    prose.chain(small_print(picture, sizes, missing)).collect()
}

/// The facts of the request, and the notice that the picture is a placeholder.
fn small_print(picture: &Picture, sizes: &Sizes, missing: Option<String>) -> Vec<Line> {
    let (width, height) = picture.size;
    let mut facts = format!("{} · seed {} · {width} x {height}", picture.operation, picture.seed);
    let has_image_prompt = picture.inputs.iter().any(|input| input.place == "image_prompt");
    for fact in missing.into_iter().chain(picture.settings.facts(has_image_prompt)) {
        facts = format!("{facts} · {fact}");
    }
    let one_line = format!("{facts} · {NOTICE}");
    if PLAIN.width(&one_line, sizes.small) <= sizes.room {
        return vec![sizes.print(&one_line)];
    }
    let facts = PLAIN.wrap(&facts, sizes.small, sizes.room, MAX_FACT_LINES);
    let print = facts.iter().map(String::as_str).chain([sizes.notice()]);
    print.map(|text| sizes.print(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::picture::{Format, OperationKind, Settings},
        *,
    };

    fn text(prompt: &str) -> String {
        let picture = Picture {
            operation: "gen-2-pro".to_owned(),
            kind: OperationKind::Create,
            prompt: prompt.into(),
            seed: 7,
            settings: Settings::default(),
            size: (512, 512),
            format: Format::Png,
            inputs: vec![],
            moments: vec![],
        };
        let (lines, ..) = layout(&Canvas::new((512, 512)), &picture).unwrap();
        lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_prompt_that_is_not_shown_whole_is_counted() {
        assert_eq!(
            text("a red fox in the snow"),
            "a red fox in the snow\n\
             gen-2-pro · seed 7 · 512 x 512 · simulated, not a model's work",
        );
        for prompt in ["many foxes ".repeat(20), "狐".repeat(2000)] {
            let letters = prompt.chars().filter(|letter| !letter.is_whitespace()).count();
            let text = text(&prompt);
            assert!(text.contains("…\n"), "{text}");
            assert!(text.contains(&format!("prompt of {letters} characters")), "{text}");
        }
        assert!(!text("").contains("prompt of"));
    }
}
