//! Editing, filling and expanding, side by side in one picture: the README shows it.
//!
//!     cargo run --example edits -- --simulate

mod support;

use std::{env, error::Error, io::Cursor};

use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage, imageops};
use imagekiln::{
    Client, ImageInput, Submit,
    types::{Gen2Pro, GenPro10Expand, GenPro10Fill},
};

/// The height of each picture, and the space between two, in pixels.
const HEIGHT: u32 = 240;
const SPACE: u32 = 8;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (client, _simulator) = support::client().await?;
    let size = |request: Gen2Pro| request.width(320).height(240).output_format("png");
    let fox = make(&client, size(Gen2Pro::new("a red fox in the snow").seed(7))).await?;
    let moon = make(&client, size(Gen2Pro::new("the moon over a lake").seed(3))).await?;

    let edited = Gen2Pro::new("the fox under the moon").references([input(&fox)?, input(&moon)?]);
    let edited = make(&client, size(edited.seed(8))).await?;

    let is_filled = |x: u32, y: u32| (100..220).contains(&x) && (60..180).contains(&y);
    let mask = GrayImage::from_fn(fox.width(), fox.height(), |x, y| {
        Luma([if is_filled(x, y) { 255 } else { 0 }])
    });
    let filled = GenPro10Fill::new().image(input(&fox)?).mask(input(&mask.into())?).seed(9);
    let filled = make(&client, filled.prompt("a straw hat").output_format("png")).await?;

    let expanded = GenPro10Expand::new().image(input(&fox)?).left(80).right(80).seed(10);
    let expanded = make(&client, expanded.output_format("png")).await?;

    let path = env::temp_dir().join("edits.png");
    strip(&[fox, edited, filled, expanded]).save(&path)?;
    println!("{}", path.display());
    Ok(())
}

async fn make(client: &Client, request: impl Submit) -> Result<DynamicImage, Box<dyn Error>> {
    let bytes = client.submit(request).await?.wait().await?.bytes().await?;
    Ok(image::load_from_memory(&bytes)?)
}

fn input(image: &DynamicImage) -> Result<ImageInput, image::ImageError> {
    let mut png = Cursor::new(Vec::new());
    image.write_to(&mut png, ImageFormat::Png)?;
    Ok(ImageInput::bytes(png.into_inner()))
}

/// The pictures at one height, next to each other.
fn strip(pictures: &[DynamicImage]) -> RgbImage {
    let scaled: Vec<_> = pictures
        .iter()
        .map(|picture| picture.resize(u32::MAX, HEIGHT, imageops::FilterType::Triangle).to_rgb8())
        .collect();
    let width = scaled.iter().map(|picture| picture.width() + SPACE).sum::<u32>() - SPACE;
    let mut strip = RgbImage::from_pixel(width, HEIGHT, Rgb([255, 255, 255]));
    let mut left = 0;
    for picture in &scaled {
        imageops::replace(&mut strip, picture, i64::from(left), 0);
        left += picture.width() + SPACE;
    }
    strip
}
