//! The commands named after their tasks: the operation of each, and its fields.

use image::{ImageFormat, RgbaImage};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, encoded, kind_of, png},
    history::history,
};
use imagekiln_simulator::Config;
use imagekiln_testbed::picture;

/// The first bytes of a WebM file.
const WEBM: &[u8] = &[0x1a, 0x45, 0xdf, 0xa3];

/// Each command without `kiln`, the id of its operation, the fields that are not images, and the
/// images with their widths.
type Case = (&'static str, &'static str, Value, &'static [(&'static str, u32)]);

fn cases() -> Vec<Case> {
    vec![
        (
            "tool inpaint fire cat.png --mask mask.png --steps 20",
            "gen_pro_1_0_fill",
            json!({ "prompt": "fire", "steps": 20 }),
            &[("image", 256), ("mask", 256)],
        ),
        (
            "tool inpaint fire cat.png --mask mask.png --model gen-pro-1.0-fill-finetuned \
             --finetune-id fox-style",
            "gen_pro_1_0_fill_finetuned",
            json!({ "prompt": "fire", "finetune_id": "fox-style" }),
            &[("image", 256), ("mask", 256)],
        ),
        (
            "tool outpaint cat.png --width 320 --height 288 --mode fast",
            "gen_tools_outpainting_v1",
            json!({ "width": 320, "height": 288, "mode": "fast" }),
            &[("image", 256)],
        ),
        (
            "tool outpaint cat.png -s 320x288",
            "gen_tools_outpainting_v1",
            json!({ "width": 320, "height": 288 }),
            &[("image", 256)],
        ),
        (
            "tool expand cat.png --left 64",
            "gen_pro_1_0_expand",
            json!({ "left": 64 }),
            &[("image", 256)],
        ),
        (
            "tool expand cat.png --top 8 --right 0 --prompt sky",
            "gen_pro_1_0_expand",
            json!({ "top": 8, "right": 0, "prompt": "sky" }),
            &[("image", 256)],
        ),
        (
            "tool erase cat.png --mask mask.png",
            "gen_tools_erase_v1",
            json!({}),
            &[("image", 256), ("mask", 256)],
        ),
        (
            "tool deblur cat.png --seed 7",
            "gen_tools_deblur_v1",
            json!({ "seed": 7 }),
            &[("image", 256)],
        ),
        (
            "tool try-on person.png garment.png",
            "gen_tools_vto_v2",
            json!({}),
            &[("person", 96), ("garment", 80)],
        ),
        (
            "tool try-on person.png garment.png -m gen_tools_vto_v1",
            "gen_tools_vto_v1",
            json!({}),
            &[("person", 96), ("garment", 80)],
        ),
    ]
}

/// A simulator that requires what the interface only describes, and some images.
fn bench() -> Bench {
    let bench = Bench::with(Config { strict: true, ..Config::default() });
    for (name, width) in
        [("cat.png", 256), ("mask.png", 256), ("person.png", 96), ("garment.png", 80)]
    {
        bench.place.write(name, png(width, 256));
    }
    bench
}

/// Runs a command that saves its picture to `file`, and returns the operation and the fields of its
/// task.
fn made(bench: &Bench, command: &str, file: &str) -> (String, Value) {
    let before = bench.simulator.counts();
    let words: Vec<&str> = command.split(' ').chain(["--output", file, "--overwrite"]).collect();
    let outcome = bench.run(&words).ok();
    assert_eq!(outcome.text(), format!("{file}\n"));
    let after = bench.simulator.counts();
    assert_eq!(
        (after.accepted, after.delivered),
        (before.accepted + 1, before.delivered + 1),
        "{command}"
    );
    let task = bench.last_task();
    let mut request = task.request;
    if !command.contains("--seed") {
        let drawn = request.as_object_mut().unwrap().remove("seed");
        assert!(drawn.is_some_and(|seed| seed.is_u64()), "{command}");
    }
    (task.operation_id.to_string(), request)
}

#[test]
fn each_command_sends_its_fields_and_saves_the_picture() {
    let bench = bench();
    for (command, operation, fields, images) in cases() {
        let (found, mut request) = made(&bench, command, "made.png");
        assert_eq!(found, operation, "{command}");
        assert_eq!(kind_of(&bench.place.read("made.png")), ImageFormat::Png, "{command}");
        let request = request.as_object_mut().unwrap();
        for (field, width) in images {
            let image = request.remove(*field).unwrap_or_default();
            let expected = format!("image/png of {width} x 256");
            assert!(image.as_str().unwrap_or_default().contains(&expected), "{command}: {image}");
        }
        let format = request.remove("output_format").unwrap_or(json!("png"));
        assert_eq!(format, "png", "{command}");
        assert_eq!(Value::Object(request.clone()), fields, "{command}");
    }
    let newest = &history(&bench)[0];
    assert_eq!([&newest["model"], &newest["state"]], ["gen-tools/vto-v1", "saved"]);
}

#[test]
fn a_dry_run_sends_nothing() {
    let bench = bench();
    for (command, operation, fields, images) in cases() {
        let words: Vec<&str> = command.split(' ').chain(["--dry-run", "--json"]).collect();
        let shown = bench.run(&words).ok().json();
        let found = shown["operation"].as_str().and_then(imagekiln::find_operation).unwrap();
        assert_eq!(found.id, operation, "{command}");
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(shown["body"][name], *value, "{command}");
        }
        for (field, width) in images {
            assert_eq!(shown["body"][field]["width"], *width, "{command}");
        }
        let drawn = usize::from(!command.contains("--seed"));
        let count = fields.as_object().unwrap().len() + images.len() + drawn;
        assert_eq!(shown["body"].as_object().unwrap().len(), count, "{command}");
    }
    assert_eq!(bench.simulator.counts(), Default::default());
}

#[test]
fn an_image_with_an_alpha_channel_needs_no_mask() {
    let bench = bench();
    let clear = RgbaImage::new(256, 256);
    bench.place.write("clear.png", picture::encoded(clear.clone(), ImageFormat::Png));
    bench.place.write("clear.webp", picture::encoded(clear, ImageFormat::WebP));
    for file in ["clear.png", "clear.webp"] {
        let (_, request) = made(&bench, &format!("tool inpaint fire {file}"), "made.png");
        assert!(request["image"].is_string() && request.get("mask").is_none(), "{request}");
    }
    bench.place.write("cat.jpg", encoded(ImageFormat::Jpeg, 256, 256));
    bench.place.write("cat.webp", encoded(ImageFormat::WebP, 256, 256));
    let accepted = bench.simulator.counts().accepted;
    for file in ["cat.png", "cat.jpg", "cat.webp"] {
        let outcome = bench.run(&["tool", "inpaint", "fire", file]).fails(2);
        assert!(outcome.stderr.contains("has no alpha channel"), "{file}: {}", outcome.stderr);
    }
    bench
        .run_with_stdin("tool inpaint fire -", &png(256, 256))
        .fails(2)
        .says("has no alpha channel");
    assert_eq!(bench.simulator.counts().accepted, accepted);
}

#[test]
fn standard_input_is_a_prompt_or_an_image() {
    let bench = bench();
    bench.run_with_stdin("tool inpaint - cat.png --mask mask.png", b"fire\n").ok();
    assert_eq!(bench.last_request()["prompt"], "fire");
    bench.run_with_stdin("tool deblur -", &png(128, 96)).ok();
    assert!(bench.last_request()["image"].as_str().unwrap().contains("128 x 96"));
    bench
        .run_with_stdin("tool erase - --mask -", &png(64, 64))
        .fails(2)
        .says("can be read only once");
}

#[test]
fn assumed_names_of_fields_are_reported() {
    let bench = bench();
    let warning = |line: &str| {
        let outcome = bench.run(&format!("tool {line} --dry-run")).ok();
        outcome.stderr.trim_end().to_owned()
    };
    assert_eq!(
        warning("try-on person.png garment.png"),
        "warning: the contract does not list these fields of gen-tools/vto-v2, so their names are \
         assumed: person, garment"
    );
    assert!(warning("video 'a fox'").ends_with("assumed: prompt"));
    assert!(warning("video 'a fox' cat.png").ends_with("assumed: prompt, keyframes"));
    assert_eq!(warning("video 'a fox' --quiet"), "");
    assert_eq!(warning("deblur cat.png"), "");
}

#[test]
fn the_mode_of_a_video_follows_the_images() {
    let bench = bench();
    let small = "-s 64x64 --extra duration=1";
    let (operation, request) = made(&bench, &format!("tool video fox {small}"), "fox.webm");
    assert_eq!(operation, "gen_3_video");
    assert_eq!(
        (&request["mode"], &request["prompt"], request.get("keyframes")),
        (&json!("t2v"), &json!("fox"), None)
    );
    assert!(bench.place.read("fox.webm").starts_with(WEBM));
    let frames = format!("tool video fox cat.png person.png {small}");
    let (_, request) = made(&bench, &frames, "fox.webm");
    assert_eq!(request["mode"], "i2v");
    let widths = request["keyframes"].as_array().unwrap().iter();
    let widths: Vec<&str> = widths.map(|frame| frame.as_str().unwrap()).collect();
    assert!(widths[0].contains("256 x 256") && widths[1].contains("96 x 256"), "{widths:?}");
    assert_eq!(widths.len(), 2);

    let mode = |words: &[&str]| {
        let shown =
            bench.run(&[&["tool", "video", "fox", "--dry-run", "--json"], words].concat()).ok();
        shown.json()["body"]["mode"].clone()
    };
    assert_eq!(mode(&["cat.png", "--mode", "draft_enhance"]), "draft_enhance");
    assert_eq!(mode(&["--extra-image", "frame=cat.png"]), "i2v");
    let many = [&["tool", "video", "fox"][..], &["cat.png"; 11]].concat();
    bench.run(&many).fails(2).says("at most 10 images, but 11 were given");
    assert_eq!(bench.simulator.counts().accepted, 2);
}
