//! The tools.

use super::{
    Tool,
    argument::{Argument, Takes},
    rules::{Modes, Need, Rule},
};
use imagekiln::OperationKind;

/// All tools, in the order of the help.
pub static TOOLS: &[Tool] = &[INPAINT, OUTPAINT, EXPAND, ERASE, DEBLUR, TRY_ON, VIDEO];

const INPAINT: Tool = Tool {
    name: "inpaint",
    about: "Repaint the masked part of an image",
    kind: OperationKind::Fill,
    arguments: &[
        Argument::prompt("What the masked part shows"),
        Argument::image("image", "IMAGE", "The image to change"),
    ],
    need: None,
    modes: None,
    examples: "  kiln tool inpaint \"a hat\" cat.png --mask mask.png -o hat.png
  kiln tool inpaint @prompt.txt cutout.png --steps 30 -o hat.webp",
};

const OUTPAINT: Tool = Tool {
    name: "outpaint",
    about: "Extend an image to a size, without a prompt",
    kind: OperationKind::Outpaint,
    arguments: &[Argument::image("image", "IMAGE", "The image to extend")],
    need: Some(Need {
        rule: Rule::All(&["width", "height"]),
        problem: "the size of the extended picture is not set",
        advice: "add --width PIXELS and --height PIXELS, or --size WIDTHxHEIGHT",
    }),
    modes: None,
    examples: "  kiln tool outpaint cat.png -s 1024x768 -o wide.png
  kiln tool outpaint cat.png --width 1024 --height 768 --reference-offset-x 0 -o wide.png",
};

const EXPAND: Tool = Tool {
    name: "expand",
    about: "Add pixels to the sides of an image",
    kind: OperationKind::Expand,
    arguments: &[Argument::image("image", "IMAGE", "The image to expand")],
    need: Some(Need {
        rule: Rule::Any(&["left", "right", "top", "bottom"]),
        problem: "no side of the image is expanded",
        advice: "add --left, --right, --top or --bottom with a number of pixels",
    }),
    modes: None,
    examples: "  kiln tool expand cat.png --left 200 --right 200 -o wide.png
  kiln tool expand cat.png --top 100 --prompt \"a blue sky\" -o tall.png",
};

const ERASE: Tool = Tool {
    name: "erase",
    about: "Remove the masked content from an image",
    kind: OperationKind::Erase,
    arguments: &[Argument::image("image", "IMAGE", "The image to remove content from")],
    need: None,
    modes: None,
    examples: "  kiln tool erase cat.png --mask mask.png -o empty.png
  kiln tool erase - --mask mask.png -o empty.png < cat.png",
};

const DEBLUR: Tool = Tool {
    name: "deblur",
    about: "Sharpen an image",
    kind: OperationKind::Deblur,
    arguments: &[Argument::image("image", "IMAGE", "The blurry image")],
    need: None,
    modes: None,
    examples: "  kiln tool deblur cat.png -o sharp.png
  kiln tool deblur https://example.com/cat.png -o sharp.webp",
};

const TRY_ON: Tool = Tool {
    name: "try-on",
    about: "Put a garment on a person",
    kind: OperationKind::TryOn,
    arguments: &[
        Argument::image("person", "PERSON", "The image of the person"),
        Argument::image("garment", "GARMENT", "The image of the garment"),
    ],
    need: None,
    modes: None,
    examples: "  kiln tool try-on person.png garment.png -o dressed.png
  kiln tool try-on person.png garment.png -m gen-tools/vto-v1 -o dressed.png",
};

const VIDEO: Tool = Tool {
    name: "video",
    about: "Make a video from a prompt and keyframes",
    kind: OperationKind::Video,
    arguments: &[
        Argument::prompt("What the video shows"),
        Argument {
            field: "keyframes",
            value_name: "IMAGE",
            help: "The keyframes, in order",
            takes: Takes::Images { most: 10 },
        },
    ],
    need: None,
    modes: Some(Modes { with_images: "i2v", without: "t2v" }),
    examples: "  kiln tool video \"a fox runs\" -o fox.webm
  kiln tool video \"a fox wakes up\" asleep.png awake.png -o fox.webm",
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::tools::rules::MODE;
    use imagekiln::{FieldKind, Operation};

    fn each_model() -> impl Iterator<Item = (&'static Tool, &'static Operation)> {
        TOOLS.iter().flat_map(|tool| tool.models().into_iter().map(move |model| (tool, model)))
    }

    #[test]
    fn every_tool_has_models() {
        for tool in TOOLS {
            assert!(!tool.models().is_empty(), "{}", tool.name);
        }
        let names: BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
    }

    #[test]
    fn every_field_exists_or_may_exist() {
        for (tool, model) in each_model() {
            let needed = match tool.need.as_ref().map(|need| &need.rule) {
                Some(Rule::All(names) | Rule::Any(names)) => *names,
                None => &[],
            };
            let is_listed = |name: &str| model.field(name).is_some();
            assert!(needed.iter().all(|name| is_listed(name)), "{model}: {needed:?}");
            for argument in tool.arguments {
                let field = model.field(argument.field);
                assert!(field.is_some() || !model.all_fields_shown, "{model}: {}", argument.field);
                let fits = match (field.map(|field| &field.kind), &argument.takes) {
                    (Some(FieldKind::Text), Takes::Prompt) | (None, _) => true,
                    (Some(FieldKind::Image { mask_of, .. }), Takes::Image) => mask_of.is_none(),
                    (Some(FieldKind::List { .. }), Takes::Images { .. }) => true,
                    _ => false,
                };
                assert!(fits, "{model}: {}", argument.field);
            }
        }
    }

    #[test]
    fn every_mode_exists() {
        for (tool, model) in each_model() {
            let Some(modes) = &tool.modes else { continue };
            let Some(FieldKind::Choice { values, .. }) = model.field(MODE).map(|field| &field.kind)
            else {
                panic!("{model} has no modes");
            };
            assert!(values.contains(&modes.with_images) && values.contains(&modes.without));
        }
    }

    #[test]
    fn every_example_is_of_its_command() {
        for tool in TOOLS {
            let command = format!("  kiln tool {} ", tool.name);
            assert!(tool.examples.lines().all(|line| line.starts_with(&command)), "{}", tool.name);
        }
    }
}
