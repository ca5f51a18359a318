//! The table of the tools. It also says what a request of each needs in addition to what the
//! contract requires, such as a margin for `expand`: nobody wants to pay for a request without one.

use crate::{failure::Failure, making::checks::images_in, models::PROMPT};
use imagekiln::{OperationKind, Request};

/// A tool: its command, and the facts about requests to its models.
pub struct Tool {
    /// The name of the command.
    pub name: &'static str,
    pub about: &'static str,
    /// The kind of the models that can do the work of this tool.
    pub kind: OperationKind,
    pub arguments: &'static [Argument],
    /// Sets fields that follow from the rest of the request, and refuses a request that would be
    /// useless.
    pub complete: fn(Request) -> Result<Request, Failure>,
    /// The arguments of two examples for help.
    pub examples: [&'static str; 2],
}

/// A positional argument: the field that it sets, which is also its id; its name in help; and its
/// help. It is a prompt, an image, or the images of [`KEYFRAMES`].
pub struct Argument(pub &'static str, pub &'static str, pub &'static str);

/// The field with any number of images, or none.
pub const KEYFRAMES: &str = "keyframes";

/// All tools, in the order of the help.
pub static TOOLS: &[Tool] = &[
    Tool {
        name: "inpaint",
        about: "Repaint the masked part of an image",
        kind: OperationKind::Fill,
        arguments: &[
            Argument(PROMPT, "PROMPT", "What the masked part shows"),
            Argument("image", "IMAGE", "The image to change"),
        ],
        complete: Ok,
        examples: [
            "\"a hat\" cat.png --mask mask.png -o hat.png",
            "@prompt.txt cutout.png --steps 30 -o hat.webp",
        ],
    },
    Tool {
        name: "outpaint",
        about: "Extend an image to a size, without a prompt",
        kind: OperationKind::Outpaint,
        arguments: &[Argument("image", "IMAGE", "The image to extend")],
        complete: with_both_sides,
        examples: [
            "cat.png -s 1024x768 -o wide.png",
            "cat.png --width 1024 --height 768 --reference-offset-x 0 -o wide.png",
        ],
    },
    Tool {
        name: "expand",
        about: "Add pixels to the sides of an image",
        kind: OperationKind::Expand,
        arguments: &[Argument("image", "IMAGE", "The image to expand")],
        complete: with_a_margin,
        examples: [
            "cat.png --left 200 --right 200 -o wide.png",
            "cat.png --top 100 --prompt \"a blue sky\" -o tall.png",
        ],
    },
    Tool {
        name: "erase",
        about: "Remove the masked content from an image",
        kind: OperationKind::Erase,
        arguments: &[Argument("image", "IMAGE", "The image to remove content from")],
        complete: Ok,
        examples: [
            "cat.png --mask mask.png -o empty.png",
            "- --mask mask.png -o empty.png < cat.png",
        ],
    },
    Tool {
        name: "deblur",
        about: "Sharpen an image",
        kind: OperationKind::Deblur,
        arguments: &[Argument("image", "IMAGE", "The blurry image")],
        complete: Ok,
        examples: ["cat.png -o sharp.png", "https://example.com/cat.png -o sharp.webp"],
    },
    Tool {
        name: "try-on",
        about: "Put a garment on a person",
        kind: OperationKind::TryOn,
        arguments: &[
            Argument("person", "PERSON", "The image of the person"),
            Argument("garment", "GARMENT", "The image of the garment"),
        ],
        complete: Ok,
        examples: [
            "person.png garment.png -o dressed.png",
            "person.png garment.png -m gen-tools/vto-v1 -o dressed.png",
        ],
    },
    Tool {
        name: "video",
        about: "Make a video from a prompt and keyframes",
        kind: OperationKind::Video,
        arguments: &[
            Argument(PROMPT, "PROMPT", "What the video shows"),
            Argument(KEYFRAMES, "IMAGE", "The keyframes, in order"),
        ],
        complete: with_mode,
        examples: [
            "\"a fox runs\" -o fox.webm",
            "\"a fox wakes up\" asleep.png awake.png -o fox.webm",
        ],
    },
];

fn with_both_sides(request: Request) -> Result<Request, Failure> {
    if ["width", "height"].iter().all(|side| is_set(&request, side)) {
        return Ok(request);
    }
    Err(Failure::request("the size of the extended picture is not set")
        .advise("nothing was sent; add --width PIXELS and --height PIXELS, or --size WIDTHxHEIGHT"))
}

fn with_a_margin(request: Request) -> Result<Request, Failure> {
    if ["left", "right", "top", "bottom"].iter().any(|side| is_set(&request, side)) {
        return Ok(request);
    }
    Err(Failure::request("no side of the image is expanded")
        .advise("nothing was sent; add --left, --right, --top or --bottom with a number of pixels"))
}

/// Whether a number is set, and is not zero.
fn is_set(request: &Request, name: &str) -> bool {
    request.outline().get(name).is_some_and(|value| !value.is_null() && *value != 0)
}

/// Sets the mode of a video, which depends on whether the request has images. Refuses a given mode
/// that does not match the images.
fn with_mode(request: Request) -> Result<Request, Failure> {
    const MODE: &str = "mode";
    let (fitting, other, what, has) = if images_in(&request.outline()) > 0 {
        ("i2v", "t2v", "without images", "has images")
    } else {
        ("t2v", "i2v", "with images", "has none")
    };
    if request.text(MODE) == Some(other) {
        let problem = format!("`{other}` is the mode {what}, and the request {has}");
        let advice = format!("nothing was sent; leave --mode out, or use --mode {fitting}");
        return Err(Failure::request(problem).advise(advice));
    }
    Ok(if request.has_field(MODE) { request } else { request.field(MODE, fitting) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use imagekiln::FieldKind;

    #[test]
    fn every_argument_is_a_field_or_may_be_one() {
        for tool in TOOLS {
            for model in tool.models() {
                for Argument(name, ..) in tool.arguments {
                    let fits = match model.field(name).map(|field| &field.kind) {
                        Some(FieldKind::Text) => *name == PROMPT,
                        Some(FieldKind::Image { mask_of, .. }) => mask_of.is_none(),
                        Some(_) => false,
                        None => !model.all_fields_shown,
                    };
                    assert!(fits, "{model}: {name}");
                }
            }
        }
    }
}
