//! Pictures show what their prompts name.

use image::{RgbaImage, imageops::crop_imm};
use serde_json::json;

use super::{
    bench::Bench,
    pictures_edit::{distance, edit},
};

const SIDE: u32 = 192;

async fn painted(bench: &Bench, prompt: &str, seed: u64) -> RgbaImage {
    let body = json!({ "prompt": prompt, "seed": seed, "width": SIDE, "height": SIDE });
    edit(bench, "gen-2-pro", body).await
}

/// The part above the caption.
fn above_caption(picture: &RgbaImage) -> RgbaImage {
    crop_imm(picture, 0, 0, SIDE, SIDE * 3 / 5).to_image()
}

/// The mean of each channel.
fn mean(picture: &RgbaImage) -> [f64; 3] {
    let count = f64::from(picture.width() * picture.height());
    [0, 1, 2].map(|part| picture.pixels().map(|at| f64::from(at.0[part])).sum::<f64>() / count)
}

fn brightness(picture: &RgbaImage) -> f64 {
    mean(picture).iter().sum::<f64>() / 3.0
}

/// The share of the pixels that are like this.
pub fn share(picture: &RgbaImage, is_like: impl Fn([f64; 3]) -> bool) -> f64 {
    let like = picture.pixels().filter(|at| is_like([0, 1, 2].map(|part| f64::from(at.0[part]))));
    like.count() as f64 / f64::from(picture.width() * picture.height())
}

pub fn is_red([r, g, b]: [f64; 3]) -> bool {
    r > 120.0 && r > 2.0 * g && r > 2.0 * b
}

#[tokio::test]
async fn a_red_fox_in_the_snow_is_red_and_its_ground_is_white() {
    let bench = Bench::new().await;
    let is_purple = |[r, g, b]: [f64; 3]| b > 100.0 && r > 1.4 * g && b > 1.2 * r;
    for seed in 0..6 {
        let red = painted(&bench, "a red fox in the snow", seed).await;
        assert!(share(&red, is_red) > 0.04, "{seed}: {}", share(&red, is_red));
        let purple = painted(&bench, "a purple fox in the snow", seed).await;
        let (still_red, now_purple) = (share(&purple, is_red), share(&purple, is_purple));
        assert!(still_red < 0.01 && now_purple > 0.04, "{seed}: {still_red} {now_purple}");
        let none = painted(&bench, "only the snow, seen from afar", seed).await;
        assert!(share(&none, is_red) < 0.01, "{seed}: {}", share(&none, is_red));
        // Beside the fox, just above the caption.
        let ground = crop_imm(&red, 0, SIDE * 130 / 192, 24, 8).to_image();
        let [r, g, b] = mean(&ground);
        assert!(r.min(g).min(b) > 200.0, "{seed}: {r} {g} {b}");
    }
}

#[tokio::test]
async fn the_time_of_day_is_visible() {
    let bench = Bench::new().await;
    for place in ["the sea", "a forest", "a city", "a castle in the snow", "a meadow"] {
        let mut day = 0.0;
        let mut night = 0.0;
        for seed in 0..4 {
            let at = |time: &str| format!("{place} at {time}");
            day += brightness(&above_caption(&painted(&bench, &at("noon"), seed).await));
            night += brightness(&above_caption(&painted(&bench, &at("night"), seed).await));
        }
        assert!(night < 0.6 * day, "{place}: {night} at night, {day} by day");
    }
}

#[tokio::test]
async fn the_ground_is_what_the_prompt_names() {
    let bench = Bench::new().await;
    for (prompt, is_like) in [
        ("the sea at noon", (|[r, _, b]| b > r) as fn([f64; 3]) -> bool),
        ("a desert at noon", |[r, g, b]| r > g && g > b),
        ("a green meadow with a horse, daylight", |[r, g, b]| g > r && g > b),
    ] {
        for seed in 0..4 {
            let picture = painted(&bench, prompt, seed).await;
            let ground = mean(&crop_imm(&picture, 0, SIDE * 132 / 192, 16, 6).to_image());
            assert!(is_like(ground), "{prompt}, {seed}: {ground:?}");
        }
    }
}

#[tokio::test]
async fn more_of_a_kind_cover_more() {
    let bench = Bench::new().await;
    for seed in 0..4 {
        let red = async |prompt| share(&painted(&bench, prompt, seed).await, is_red);
        let (one, three) =
            (red("a red car, noon, fields").await, red("three red cars, noon, fields").await);
        assert!(one > 0.005 && three > 1.2 * one, "{seed}: {one} {three}");
    }
}

#[tokio::test]
async fn a_prompt_without_known_words_still_gives_varied_landscapes() {
    let bench = Bench::new().await;
    let mut seen: Vec<[i64; 3]> = Vec::new();
    for seed in 0..8 {
        let picture = painted(&bench, "zxqv", seed).await;
        assert!(picture == painted(&bench, "zxqv", seed).await, "always the same picture");
        let mean = mean(&above_caption(&picture)).map(|part| (part / 12.0) as i64);
        if !seen.contains(&mean) {
            seen.push(mean);
        }
    }
    assert!(seen.len() >= 4, "{seen:?}");
}

#[tokio::test]
async fn few_steps_are_visible() {
    let bench = Bench::new().await;
    let stepped = async |steps: u32| {
        let prompt = "a red fox in the snow";
        let body = json!({ "prompt": prompt, "width": SIDE, "height": SIDE, "steps": steps });
        above_caption(&edit(&bench, "gen-2-flex", body).await)
    };
    let finished = stepped(50).await;
    let mut apart = Vec::new();
    for steps in [1, 5, 30] {
        let sum = distance(&stepped(steps).await, &finished);
        apart.push(sum as f64 / (SIDE * SIDE * 9 / 5) as f64);
    }
    assert!(apart[0] > apart[1] && apart[1] > 20.0 && apart[2] < 6.0, "{apart:?}");
}
