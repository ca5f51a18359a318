//! The caption at the bottom of a picture.

use super::{
    Picture,
    canvas::{Area, Canvas, WHITE, mix, rgb},
    text::{Face, PLAIN, PROSE},
};

/// The notice that prevents placeholders from being mistaken for real pictures.
const NOTICE: &str = "simulated, not a model's work";

/// Used if there is no room for the complete notice.
const SHORT_NOTICE: &str = "simulated";

/// The smallest legible font size.
const MIN_SIZE: f32 = 10.0;

/// The maximum number of lines for the facts.
const MAX_FACT_LINES: usize = 3;

struct Line {
    face: &'static Face,
    text: String,
    size: f32,
    strength: f32,
}

/// Paints the caption at the bottom of the picture, of which it covers only a part. Returns whether
/// there was room.
pub(super) fn paint(canvas: &mut Canvas, picture: &Picture) -> bool {
    let layout = whole(canvas, picture);
    layout.inspect(|layout| layout.paint(canvas)).is_some()
}

/// Paints the caption at the bottom of the painted part of the picture. Returns whether there was
/// room.
pub(super) fn paint_within(canvas: &mut Canvas, picture: &Picture, area: Area) -> bool {
    let layout = Layout::of(canvas, picture, area, area.height as f32, MAX_FACT_LINES);
    layout.inspect(|layout| layout.paint(canvas)).is_some()
}

/// The area above the caption of the complete picture.
pub(super) fn above(canvas: &Canvas, picture: &Picture) -> Area {
    let all = canvas.area();
    let height = whole(canvas, picture).map_or(all.height, |layout| layout.area.y);
    Area { height, ..all }
}

fn whole(canvas: &Canvas, picture: &Picture) -> Option<Layout> {
    let fact_lines = if picture.facts().is_empty() { 1 } else { MAX_FACT_LINES };
    Layout::of(canvas, picture, canvas.area(), canvas.height as f32 * 0.42, fact_lines)
}

struct Layout {
    lines: Vec<Line>,
    /// The background of the text.
    area: Area,
    /// The top of the first line.
    top: f32,
    margin: f32,
}

impl Layout {
    /// Lays out as much text as fits at the bottom of `area`, up to `most` pixels high. Returns
    /// `None` if there is no room at all.
    fn of(
        canvas: &Canvas,
        picture: &Picture,
        area: Area,
        most: f32,
        fact_lines: usize,
    ) -> Option<Self> {
        let size = (canvas.short() * 0.036).clamp(12.0, 44.0);
        let small = (size * 0.66).max(MIN_SIZE);
        let margin = (size * 0.8).round();
        let room = area.width as f32 - 2.0 * margin;
        if room < MIN_SIZE * 6.0 {
            return None;
        }
        let prose = |prompt_lines| {
            let wrapped = PROSE.wrap(&picture.prompt, size, room, prompt_lines);
            wrapped.into_iter().map(|text| Line { face: &PROSE, text, size, strength: 1.0 })
        };
        let print = |texts: Vec<String>| {
            texts.into_iter().map(|text| Line {
                face: &PLAIN,
                text: PLAIN.elide(&text, small, room),
                size: small,
                strength: 0.78,
            })
        };
        let small_print = small_print(picture, small, room, fact_lines);
        let mut choices = [2, 1, 0]
            .map(|prompt_lines| {
                prose(prompt_lines).chain(print(small_print.clone())).collect::<Vec<_>>()
            })
            .into_iter()
            .chain([print(vec![notice(small, room)]).collect()]);
        let lines = choices.find(|lines| height(lines, margin) <= most)?;
        let bottom = area.y + area.height;
        let top = bottom as f32 - height(&lines, margin);
        let area = Area { y: top as i64, height: bottom - top as i64, ..area };
        Some(Self { lines, area, top: top + margin * 0.75, margin })
    }

    fn paint(&self, canvas: &mut Canvas) {
        let Area { x, y, width, height } = self.area;
        canvas.blend_rectangle(x, y, width, height, rgb(0x0a0c14), 0.66);
        let mut y = self.top;
        for line in &self.lines {
            let baseline = (y + line.size * 0.82).round();
            let colour = mix(rgb(0x0a0c14), WHITE, line.strength);
            line.face.draw(
                canvas,
                &line.text,
                line.size,
                (x as f32 + self.margin, baseline),
                colour,
            );
            y += leading(line);
        }
    }
}

/// The facts of the request, and the notice that the picture is a placeholder.
fn small_print(picture: &Picture, size: f32, room: f32, lines: usize) -> Vec<String> {
    let (width, height) = picture.size();
    let mut facts = format!("{} · seed {} · {width} x {height}", picture.operation, picture.seed);
    for fact in picture.facts() {
        facts = format!("{facts} · {fact}");
    }
    let one_line = format!("{facts} · {NOTICE}");
    if PLAIN.width(&one_line, size) <= room {
        return vec![one_line];
    }
    let mut small_print = PLAIN.wrap(&facts, size, room, lines);
    small_print.push(notice(size, room));
    small_print
}

fn notice(size: f32, room: f32) -> String {
    let whole = PLAIN.width(NOTICE, size) <= room;
    if whole { NOTICE } else { SHORT_NOTICE }.to_owned()
}

fn leading(line: &Line) -> f32 {
    line.size * 1.32
}

fn height(lines: &[Line], margin: f32) -> f32 {
    (lines.iter().map(leading).sum::<f32>() + margin * 1.35).round()
}
