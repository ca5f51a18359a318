//! A minimal and a full request of every type.
#![allow(deprecated, reason = "deprecated operations still work and are tested, too")]

mod full;

pub use self::full::full;
use imagekiln::{ImageInput, Request, Submit, types::*};

/// A small picture of 8 x 6 pixels, and a mask of the same size.
pub fn image() -> ImageInput {
    ImageInput::bytes(png(8, 6, 90))
}

pub fn mask() -> ImageInput {
    ImageInput::bytes(png(8, 6, 255))
}

/// A gray PNG.
pub fn png(width: u32, height: u32, shade: u8) -> Vec<u8> {
    let picture = image::GrayImage::from_pixel(width, height, image::Luma([shade]));
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, image::ImageFormat::Png).expect("a PNG can be written");
    file.into_inner()
}

/// One request of each type with the required fields. If the contract does not define them, with
/// plausible ones.
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
