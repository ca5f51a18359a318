//! The foreground that things stand on.

use super::{
    super::{
        canvas::{Canvas, Colour, WHITE, mix, rgb},
        noise::{Draw, ridge},
        tables::Sight,
    },
    brushes::{below, oval},
    setting::{Setting, Terrain},
};

/// Ground without grass.
const PLAIN: [Sight; 3] = [Sight::Desert, Sight::Beach, Sight::Space];

/// Paints the ground below `top`, with what grows or lies on it.
pub(super) fn bank(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, top: &[f32]) {
    let scene = setting.scene;
    let colour = setting.ground(1.0);
    let has_snow = scene.has(Sight::Snow) || scene.has(Sight::Snowfall);
    let shade = match () {
        () if has_snow => mix(colour, mix(rgb(0x8fa8cc), setting.palette.zenith, 0.35), 0.42),
        () => mix(colour, setting.palette.near.map(|part| part * 0.6), 0.4),
    };
    let light = mix(colour, setting.palette.light, if setting.is_night() { 0.05 } else { 0.12 });
    let depth = (canvas.height as f32 - setting.floor * 0.83).max(1.0);
    let (seed, short) = (draw.next(), setting.short);
    let drift: Vec<f32> =
        (0..canvas.width).map(|x| ridge(seed, x as f32 / short * 2.2, 2) - 0.5).collect();
    below(canvas, top, canvas.height as f32, |x, under| {
        let wave = drift.get(x).copied().unwrap_or(0.0) * 0.5;
        let down = (under / depth + wave * (under / depth).min(1.0)).clamp(0.0, 1.0);
        mix(light, shade, down * down)
    });
    match setting.terrain {
        Terrain::City => {}
        _ if has_snow || PLAIN.iter().any(|sight| scene.has(*sight)) => {
            ripples(canvas, draw, setting, top, light);
        }
        _ => grass(canvas, draw, setting, top, colour),
    }
}

/// A plain backdrop that meets the floor without an edge.
pub(super) fn studio(canvas: &mut Canvas, setting: &Setting) {
    let colour = setting.scene.colour_of(Sight::Studio).unwrap_or(rgb(0xe6e3de));
    let wall = setting.palette.time.lit(colour);
    let (centre, reach) = (setting.width / 2.0, setting.short * 1.1);
    let floor = setting.skyline;
    canvas.change(|x, y, _| {
        let (dx, dy) = ((x as f32 - centre) / reach, (y as f32 - floor * 0.5) / reach);
        let far = (dx * dx + dy * dy).min(1.0);
        let base = mix(wall, wall.map(|part| part * 0.9), far);
        let step = ((y as f32 - floor) / (setting.short * 0.2)).clamp(-1.0, 1.0);
        mix(base, mix(wall, WHITE, 0.3), 0.25 + 0.25 * step)
    });
}

/// Faint lines of wind in sand or snow.
fn ripples(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, top: &[f32], light: Colour) {
    let short = setting.short;
    for _ in 0..34 {
        let (x, upper) = (draw.unit() * setting.width, setting.floor * 0.85);
        let y = draw.between(upper, canvas.height as f32);
        let ground = top.get(x as usize).copied().unwrap_or(0.0);
        if y < ground + short * 0.02 {
            continue;
        }
        let (across, down) = (short * draw.between(0.03, 0.12), short * draw.between(0.002, 0.006));
        oval(canvas, (x, y), (across, down), mix(light, WHITE, 0.3), 0.28);
    }
}

/// Tufts of grass, and flowers in a field or in spring.
fn grass(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, top: &[f32], colour: Colour) {
    const PETALS: [u32; 5] = [0xf6e7a0, 0xf29ab8, 0xfdfaf4, 0xe8664a, 0xb79af0];
    let (scene, short) = (setting.scene, setting.short);
    let has_flowers = [Sight::Field, Sight::Spring, Sight::Summer].map(|sight| scene.has(sight));
    let blade = short * 0.022;
    for _ in 0..(setting.width / short * 260.0) as u32 {
        let x = draw.unit() * setting.width;
        let ground = top.get(x as usize).copied().unwrap_or(canvas.height as f32);
        let down = draw.unit();
        let y = ground + (canvas.height as f32 - ground) * down * down;
        let tall = blade * draw.between(0.5, 1.0) * (0.5 + down);
        let tone = if draw.chance(0.5) { WHITE } else { setting.palette.near };
        let tone = mix(colour, tone, draw.between(0.05, 0.22));
        let lean = draw.between(-0.4, 0.4);
        for row in (y - tall) as i64..y as i64 {
            let up = (y - row as f32) / tall;
            let at = x + lean * up * up * tall;
            let half = short * 0.0014 * (1.1 - up);
            canvas.blend_span(row, at - half, at + half, tone, 0.8);
        }
        if has_flowers.contains(&true) && draw.chance(0.4) {
            let petal = rgb(PETALS[draw.next() as usize % PETALS.len()]);
            let petal = setting.palette.time.lit(petal);
            let size = short * 0.005 * (0.5 + down);
            oval(canvas, (x + lean * tall, y - tall), (size, size), petal, 0.95);
        }
    }
}
