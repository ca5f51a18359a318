//! A city: towers with lit windows, neon signs, and a street.

use super::{
    super::{
        canvas::{Canvas, Colour, mix, rgb},
        noise::{Draw, speck},
        palette::Time,
        tables::Sight,
    },
    brushes::glow,
    setting::{STREET, Setting},
};

const SIGNS: [u32; 5] = [0xff3fa4, 0x2fe6ff, 0xffd23f, 0x9a5cff, 0x4dff9a];

/// The distances of the rows of towers, from the farthest.
const ROWS: [f32; 3] = [0.0, 0.5, 1.0];

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let short = setting.short;
    let street = setting.floor * STREET;
    for depth in ROWS {
        let foot = setting.skyline + (street - setting.skyline) * (0.3 + 0.7 * depth);
        let mut x = -short * draw.between(0.0, 0.1);
        while x < setting.width {
            let wide = short * draw.between(0.055, 0.12) * (0.7 + 0.5 * depth);
            // The near towers leave the view open in the middle.
            let aside = ((x + wide / 2.0) / setting.width - 0.5).abs() * 2.0;
            let open = if depth == 1.0 { 0.35 + 0.65 * aside } else { 1.0 };
            let tall = short * draw.between(0.22, 0.62) * open * (1.12 - 0.22 * depth);
            let tower = Tower { x, top: foot - tall, wide, foot, depth };
            tower.paint(canvas, draw, setting);
            x += wide * draw.between(0.9, 1.25);
        }
    }
}

struct Tower {
    x: f32,
    top: f32,
    wide: f32,
    foot: f32,
    depth: f32,
}

impl Tower {
    fn paint(&self, canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
        let Self { x, top, wide, foot, depth } = *self;
        let short = setting.short;
        let base = mix(setting.ground(depth), setting.palette.near, 0.45);
        let base = setting.scene.colour_of(Sight::City).map_or(base, |own| mix(base, own, 0.4));
        let haze = mix(base, setting.palette.horizon, 0.62 * (1.0 - depth));
        let body = mix(haze, haze.map(|part| part * 0.8), draw.unit());
        let sun = if setting.light.0 > x { 0.72 } else { 0.0 };
        for y in top.max(0.0) as i64..foot as i64 {
            let down = (y as f32 - top) / (foot - top);
            let lit = mix(body, setting.palette.horizon, 0.25 * down * (1.0 - depth * 0.6));
            canvas.blend_span(y, x, x + wide, lit, 1.0);
            let side = (x + wide * sun, x + wide * (sun + 0.28));
            canvas.blend_span(y, side.0, side.1, setting.palette.light, 0.10);
        }
        if draw.chance(0.4) {
            let mast = short * draw.between(0.03, 0.07);
            let middle = x + wide / 2.0;
            for y in (top - mast).max(0.0) as i64..top as i64 {
                canvas.blend_span(y, middle - short * 0.001, middle + short * 0.001, body, 1.0);
            }
        } else if draw.chance(0.5) {
            let (left, right) = (x + wide * 0.2, x + wide * 0.8);
            for y in (top - short * 0.025).max(0.0) as i64..top as i64 {
                canvas.blend_span(y, left, right, body, 1.0);
            }
        }
        self.windows(canvas, draw, setting, body);
        if setting.scene.has(Sight::Neon) && depth > 0.4 && draw.chance(0.75) {
            self.sign(canvas, draw, setting);
        }
    }

    fn windows(&self, canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, body: Colour) {
        let Self { x, top, wide, foot, depth } = *self;
        let step = (setting.short * 0.0135 * (0.8 + 0.35 * depth)).max(3.0);
        let (lit, dark, share) = match setting.palette.time {
            Time::Night => (rgb(0xffd98a), body.map(|part| part * 0.7), 0.42),
            Time::Sunset | Time::Dawn => (rgb(0xffdf9e), body.map(|part| part * 0.8), 0.3),
            Time::Day => (mix(body, setting.palette.zenith, 0.5), body.map(|part| part * 0.8), 0.5),
        };
        let seed = draw.next();
        let columns = ((wide - step * 0.6) / step) as u64;
        let left = x + (wide - columns as f32 * step) / 2.0 + step * 0.2;
        for row in 0..((foot - top) / (step * 1.25)) as u64 {
            let y = top + step * (0.6 + row as f32 * 1.25);
            for column in 0..columns {
                let chance = speck(seed ^ column, row);
                let colour = if chance < share { lit } else { dark };
                let shine = (0.35 + 0.6 * depth) * (0.6 + 0.4 * speck(row, seed ^ column));
                let at = left + column as f32 * step;
                for line in 0..(step * 0.62).max(1.0) as i64 {
                    canvas.blend_span(y as i64 + line, at, at + step * 0.55, colour, shine);
                }
            }
        }
    }

    fn sign(&self, canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
        let own = setting.scene.colour_of(Sight::Neon);
        let colour = own.unwrap_or(rgb(SIGNS[draw.next() as usize % SIGNS.len()]));
        let short = setting.short;
        let tall = (self.foot - self.top) * draw.between(0.25, 0.5);
        let (wide, thick) = (short * 0.022, (short * 0.0035).max(1.0));
        let x = self.x + self.wide * draw.between(0.15, 0.7);
        let y = self.top + (self.foot - self.top) * draw.between(0.12, 0.4);
        glow(canvas, (x + wide / 2.0, y + tall / 2.0), tall * 0.9 + short * 0.05, colour, 0.55);
        let core = mix(colour, [1.0; 3], 0.55);
        for (left, top, right, bottom) in [
            (x, y, x + wide, y + thick),
            (x, y + tall, x + wide, y + tall + thick),
            (x, y, x + thick, y + tall),
            (x + wide - thick, y, x + wide, y + tall),
        ] {
            for row in top as i64..bottom.ceil() as i64 {
                canvas.blend_span(row, left, right, core, 0.95);
            }
        }
        let mut bar = y + thick * 3.0;
        while bar < y + tall - thick * 2.0 {
            let end = x + wide - thick * draw.between(2.0, 3.0);
            for row in bar as i64..(bar + thick).ceil() as i64 {
                canvas.blend_span(row, x + thick * 2.0, end, core, 0.85);
            }
            bar += thick * 3.2;
        }
    }
}

/// In rain and neon light, the street is wet and mirrors the lights.
pub(super) fn wet_street(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    if ![Sight::Rain, Sight::Storm, Sight::Neon].iter().any(|sight| setting.scene.has(*sight)) {
        return;
    }
    let (seed, short) = (draw.next(), setting.short);
    let street = (setting.floor * STREET).max(1.0) as usize;
    for y in street..canvas.height {
        let below = (y - street) as f32;
        let source = (street as f32 - 1.0 - below * 1.7).max(0.0) as usize;
        let mirrored = canvas.row(source).to_vec();
        let wave = (speck(seed, (below / short * 160.0) as u64) - 0.5) * below * 0.12;
        for (x, pixel) in canvas.row_mut(y).iter_mut().enumerate() {
            let from = (x as f32 + wave).clamp(0.0, (mirrored.len() - 1) as f32) as usize;
            *pixel = mix(mirrored[from], setting.earth.1, 0.42);
        }
    }
}
