//! The band at the foot of a picture that tells what it is.

use super::Picture;
use super::canvas::{Canvas, WHITE, rgb};
use super::text::{Face, PLAIN, PROSE};

/// So that no one takes a picture for what it is not.
const NOTICE: &str = "simulated, not a model's work";

/// Where there is no room for the whole of it.
const SHORT_NOTICE: &str = "simulated";

/// Text smaller than this cannot be read.
const MIN_SIZE: f32 = 10.0;

struct Line {
    face: &'static Face,
    text: String,
    size: f32,
    strength: f32,
}

pub(super) fn paint(canvas: &mut Canvas, picture: &Picture) {
    let size = (canvas.short() * 0.036).clamp(12.0, 44.0);
    let small = (size * 0.66).max(MIN_SIZE);
    let margin = (size * 0.8).round();
    let room = canvas.width as f32 - 2.0 * margin;
    // The caption takes no more than this of the picture.
    let most = canvas.height as f32 * 0.42;

    let facts =
        format!("{} · seed {} · {} x {}", picture.operation, picture.seed, picture.width, picture.height);
    let one_line = format!("{facts} · {NOTICE}");
    let small_print = if PLAIN.width(&one_line, small) <= room {
        vec![one_line]
    } else {
        let whole = PLAIN.width(NOTICE, small) <= room;
        vec![facts, if whole { NOTICE } else { SHORT_NOTICE }.to_owned()]
    };
    let prose = |prompt_lines| {
        let wrapped = PROSE.wrap(&picture.prompt, size, room, prompt_lines);
        wrapped.into_iter().map(|text| Line { face: &PROSE, text, size, strength: 1.0 })
    };
    let print = || {
        small_print.iter().map(|text| Line {
            face: &PLAIN,
            text: PLAIN.elide(text, small, room),
            size: small,
            strength: 0.78,
        })
    };
    // As much as there is room for; on the smallest pictures nothing.
    let mut choices =
        [2, 1, 0].map(|prompt_lines| prose(prompt_lines).chain(print()).collect::<Vec<_>>()).into_iter();
    let Some(lines) = choices.find(|lines| height(lines, margin) <= most) else {
        return;
    };
    if room < MIN_SIZE * 6.0 {
        return;
    }

    let height = height(&lines, margin);
    let top = canvas.height as f32 - height;
    canvas.blend_rectangle(0, top as i64, canvas.width as i64, height.ceil() as i64 + 1, rgb(0x0a0c14), 0.66);
    let mut y = top + margin * 0.75;
    for line in &lines {
        let baseline = (y + line.size * 0.82).round();
        let colour = super::canvas::mix(rgb(0x0a0c14), WHITE, line.strength);
        line.face.draw(canvas, &line.text, line.size, (margin, baseline), colour);
        y += leading(line);
    }
}

fn leading(line: &Line) -> f32 {
    line.size * 1.32
}

fn height(lines: &[Line], margin: f32) -> f32 {
    (lines.iter().map(leading).sum::<f32>() + margin * 1.35).round()
}
