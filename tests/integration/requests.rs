//! A minimal and a full request of every type, as a caller writes them.
#![allow(deprecated, reason = "the deprecated operations are in effect, and tested as the others")]

use imagekiln::{ImageInput, OutputFormat, Request, Submit, types::*};
use serde_json::json;

/// Small pictures of known sizes, made by hand: 8 x 6 pixels, and a mask of the same size.
pub fn image() -> ImageInput {
    ImageInput::bytes(png(8, 6, 90))
}

pub fn mask() -> ImageInput {
    ImageInput::bytes(png(8, 6, 255))
}

/// A grey PNG.
pub fn png(width: u32, height: u32, shade: u8) -> Vec<u8> {
    let picture = image::GrayImage::from_pixel(width, height, image::Luma([shade]));
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, image::ImageFormat::Png).expect("a PNG can be written");
    file.into_inner()
}

/// One request of each type with what it requires; where the contract does not show that, with what
/// makes sense.
pub fn minimal() -> Vec<Request> {
    vec![
        Gen2Pro::new("a fox").into_request(),
        Gen2ProPreview::new("a fox").into_request(),
        Gen2Flex::new("a fox").into_request(),
        Gen2Klein9b::new("a fox").into_request(),
        Gen2Klein9bPreview::new("a fox").into_request(),
        Gen2Klein4b::new().into_request(),
        GenKontextPro::new().into_request(),
        GenDev::new().into_request(),
        GenPro11::new().into_request(),
        GenPro11Ultra::new().into_request(),
        GenPro11UltraFinetuned::new("fox-style").into_request(),
        GenPro10Fill::new().into_request(),
        GenPro10FillFinetuned::new(image(), "fox-style").into_request(),
        GenPro10Expand::new().into_request(),
        GenToolsDeblurV1::new(image()).into_request(),
        GenToolsEraseV1::new().into_request(),
        GenToolsVtoV1::new().into_request(),
        GenToolsVtoV2::new().into_request(),
        GenToolsOutpaintingV1::new().into_request(),
        Gen3Video::new().into_request(),
        BaseModelFinetuned::new("gen-2-klein-9b-kv").into_request(),
        GenPro10::new().into_request(),
        GenPro10Depth::new().into_request(),
        GenPro10Canny::new().into_request(),
        Finetune::new().into_request(),
        GenProFinetuned::new().into_request(),
        GenPro10DepthFinetuned::new().into_request(),
        GenPro10CannyFinetuned::new().into_request(),
    ]
}

/// One request of each type with every field that the contract shows, and, where it shows none,
/// with one it does not.
pub fn full() -> Vec<Request> {
    let hook = "https://hooks.example.com/kiln?token=t";
    let url = || ImageInput::url("https://example.com/fox.png");
    vec![
        Gen2Pro::new("a fox")
            .disable_pup(true)
            .input_image(image())
            .input_image_2(url())
            .input_image_3(image())
            .input_image_4(image())
            .input_image_5(image())
            .input_image_6(image())
            .input_image_7(image())
            .input_image_8(image())
            .seed(7)
            .width(1024)
            .height(768)
            .safety_tolerance(5)
            .output_format(OutputFormat::Webp)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .extra("a_field_of_tomorrow", json!({ "deep": [1, null] }))
            .into_request(),
        Gen2ProPreview::new("a fox")
            .input_image(image())
            .input_image_2(image())
            .input_image_3(image())
            .input_image_4(image())
            .input_image_5(image())
            .input_image_6(image())
            .input_image_7(image())
            .input_image_8(image())
            .seed(7)
            .width(64)
            .height(64)
            .safety_tolerance(0)
            .output_format(OutputFormat::Png)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        Gen2Flex::new("a fox")
            .prompt_upsampling(false)
            .input_image(image())
            .input_image_2(image())
            .input_image_3(image())
            .input_image_4(image())
            .input_image_5(image())
            .input_image_6(image())
            .input_image_7(image())
            .input_image_8(image())
            .input_image_blob_path("blobs/fox")
            .seed(7u32)
            .width(512)
            .height(512)
            .guidance(1.5)
            .steps(50)
            .safety_tolerance(2)
            .output_format(OutputFormat::Jpeg)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        klein_9b(hook),
        Gen2Klein9bPreview::new("a fox")
            .input_image(image())
            .input_image_2(image())
            .input_image_3(image())
            .input_image_4(image())
            .seed(7)
            .width(512)
            .height(512)
            .safety_tolerance(2)
            .output_format(OutputFormat::Png)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        Gen2Klein4b::new().extra("prompt", "a fox").extra("seed", 7).into_request(),
        GenKontextPro::new()
            .prompt("a fox")
            .input_image(image())
            .input_image_2(url())
            .input_image_3(image())
            .input_image_4(image())
            .seed(7)
            .aspect_ratio((21, 9))
            .output_format(OutputFormat::Png)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .prompt_upsampling(true)
            .safety_tolerance(6)
            .into_request(),
        GenDev::new()
            .prompt("a fox")
            .image_prompt(image())
            .width(256)
            .height(1440)
            .steps(1)
            .prompt_upsampling(true)
            .seed(7)
            .guidance(5)
            .safety_tolerance(6)
            .output_format(OutputFormat::Png)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        GenPro11::new()
            .prompt("a fox")
            .image_prompt(image())
            .width(1024)
            .height(768)
            .prompt_upsampling(true)
            .seed(7)
            .safety_tolerance(6)
            .output_format(OutputFormat::Png)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        GenPro11Ultra::new()
            .prompt("a fox")
            .prompt_upsampling(true)
            .seed(7)
            .aspect_ratio((9, 21))
            .safety_tolerance(6)
            .output_format(OutputFormat::Png)
            .raw(true)
            .image_prompt(image())
            .image_prompt_strength(0.5)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        GenPro11UltraFinetuned::new("default/fox-style")
            .prompt("a fox")
            .prompt_upsampling(true)
            .seed(7)
            .aspect_ratio((16, 9))
            .safety_tolerance(6)
            .output_format(OutputFormat::Png)
            .image_prompt(image())
            .image_prompt_strength(1)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .finetune_strength(2)
            .into_request(),
        GenPro10Fill::new()
            .image(image())
            .mask(mask())
            .prompt("a fox")
            .steps(15)
            .prompt_upsampling(false)
            .seed(7)
            .guidance(100)
            .output_format(OutputFormat::Png)
            .safety_tolerance(6)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        GenPro10FillFinetuned::new(image(), "fox-style")
            .mask(mask())
            .prompt("a fox")
            .steps(50)
            .prompt_upsampling(false)
            .seed(7)
            .guidance(1.5)
            .output_format(OutputFormat::Png)
            .safety_tolerance(6)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .finetune_strength(1.1)
            .into_request(),
        GenPro10Expand::new()
            .image(image())
            .top(0)
            .bottom(16)
            .left(64)
            .right(32)
            .prompt("snow")
            .steps(50)
            .prompt_upsampling(false)
            .seed(7)
            .guidance(60)
            .output_format(OutputFormat::Png)
            .safety_tolerance(0)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        GenToolsDeblurV1::new(image())
            .seed(7)
            .safety_tolerance(5)
            .output_format(OutputFormat::Webp)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .into_request(),
        GenToolsEraseV1::new().image(image()).mask(mask()).into_request(),
        GenToolsVtoV1::new().extra("prompt", "a red scarf").into_request(),
        GenToolsVtoV2::new().extra("prompt", "a red scarf").into_request(),
        GenToolsOutpaintingV1::new()
            .width(128)
            .height(96)
            .reference_offset_x(16)
            .reference_offset_y(8)
            .mode(GenToolsOutpaintingV1Mode::Fast)
            .into_request(),
        Gen3Video::new().mode(Gen3VideoMode::T2v).extra("prompt", "a fox runs").into_request(),
        BaseModelFinetuned::new("gen-2-klein-9b-kv")
            .prompt("a fox")
            .input_image(image())
            .input_image_2(image())
            .input_image_3(image())
            .input_image_4(image())
            .seed(7)
            .width(512)
            .height(512)
            .safety_tolerance(2)
            .output_format(OutputFormat::Png)
            .webhook_url(hook)
            .webhook_secret("whsec")
            .finetune_id("default/fox-style")
            .finetune_strength(1)
            .into_request(),
        GenPro10::new().extra("prompt", "a fox").into_request(),
        GenPro10Depth::new().extra("prompt", "a fox").into_request(),
        GenPro10Canny::new().extra("prompt", "a fox").into_request(),
        Finetune::new().extra("comment", "foxes").into_request(),
        GenProFinetuned::new().extra("finetune_id", "fox-style").into_request(),
        GenPro10DepthFinetuned::new().extra("finetune_id", "fox-style").into_request(),
        GenPro10CannyFinetuned::new().extra("finetune_id", "fox-style").into_request(),
    ]
}

fn klein_9b(hook: &str) -> Request {
    Gen2Klein9b::new("a fox")
        .input_image(image())
        .input_image_2(image())
        .input_image_3(image())
        .input_image_4(image())
        .seed(7)
        .width(512)
        .height(512)
        .safety_tolerance(2)
        .output_format(OutputFormat::Png)
        .webhook_url(hook)
        .webhook_secret("whsec")
        .into_request()
}
