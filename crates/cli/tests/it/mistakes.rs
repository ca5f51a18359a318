//! The mistakes that people make, each with its message and its exit code, in one snapshot. None of
//! them is paid for.

use std::{fmt::Write, thread};

use crate::{
    assert_shown,
    bench::{Bench, Outcome, encoded, png},
};

/// A command, and the settings that differ from those of a working service.
type Mistake = (&'static str, &'static [(&'static str, &'static str)]);

const NO_SETTINGS: &[(&str, &str)] = &[("IMAGEKILN_API_KEY", ""), ("IMAGEKILN_BASE_URL", "")];

/// Words are separated by spaces; those with spaces are in single quotes.
const MISTAKES: &[(&str, &[Mistake])] = &[
    (
        "Words and commands",
        &[
            ("kiln generat 'a fox'", &[]),
            ("kiln 'a red fox'", &[]),
            ("kiln gen-2-pro --prompt fox", &[]),
            ("kiln generate", &[]),
            ("kiln generate a red fox", &[]),
            ("kiln edit 'a hat'", &[]),
            ("kiln task", &[]),
            ("kiln task sav x", &[]),
            ("kiln config completions tcsh", &[]),
        ],
    ),
    (
        "Prompts",
        &[
            ("kiln generate ''", &[]),
            ("kiln generate '  '", &[]),
            ("kiln generate @nowhere.txt", &[]),
            ("kiln generate @", &[]),
            ("kiln generate prompt.txt", &[]),
            ("kiln generate cat.png", &[]),
            ("kiln generate -", &[]),
            ("kiln run gen-2-pro", &[]),
            ("kiln run gen-2-pro --prompt ''", &[]),
            ("kiln run gen-2-klein-4b --extra prompt=", &[]),
            ("kiln generate 'a fox' --model gen-tools/deblur-v1", &[]),
        ],
    ),
    (
        "Models",
        &[
            ("kiln run gen-2-prp --prompt fox", &[]),
            ("kiln generate 'a fox' --guidance 2 -m gen-2-flx", &[]),
            ("kiln task submit zzz", &[]),
            ("kiln run gen-2-pro-finetuned --prompt fox", &[]),
            ("kiln run gen-2-klein-9b-kv-finetune --prompt fox", &[]),
            ("kiln run base_model_finetuned --base-model gen-2-pro --finetune-id x", &[]),
            ("kiln run base_model_finetuned --base-model ../x --finetune-id x", &[]),
        ],
    ),
    (
        "Fields",
        &[
            ("kiln run gen-2-pro --widht 3", &[]),
            ("kiln generate 'a fox' --guidance 3", &[]),
            ("kiln generate 'a fox' --zzz 3", &[]),
            ("kiln run gen-2-klein-4b --steps 3", &[]),
            ("kiln generate 'a fox' --extra guidance", &[]),
            ("kiln generate 'a fox' --width 16", &[]),
            ("kiln generate 'a fox' -s 1024", &[]),
            ("kiln generate 'a fox' -s 1024x768 --width 64", &[]),
            ("kiln generate 'a fox' -m gen-pro-1.1-ultra -s 1024x768", &[]),
            ("kiln generate 'a fox' --seed seven", &[]),
            ("kiln generate 'a fox' --output-format jpg", &[]),
            ("kiln generate 'a fox' -m gen-pro-1.1-ultra --aspect-ratio 100:1", &[]),
            ("kiln generate 'a fox' --webhook-url example.com", &[]),
            ("kiln run gen-dev --prompt fox --prompt-upsampling=perhaps", &[]),
            ("kiln generate 'a fox' --seed 1 --extra seed=2", &[]),
        ],
    ),
    (
        "Images",
        &[
            ("kiln edit cat.png 'a hat'", &[]),
            ("kiln edit missing.png 'a hat'", &[]),
            ("kiln edit 'a hat' missing.png", &[]),
            ("kiln edit 'a hat' .", &[]),
            ("kiln edit 'a hat' empty.png", &[]),
            ("kiln edit 'a hat' page.png", &[]),
            ("kiln edit 'a hat' cut.png", &[]),
            ("kiln edit 'a hat' cut.jpg", &[]),
            ("kiln edit 'a hat' - -", &[]),
            ("kiln edit 'a hat' cat.png cat.png -m gen-pro-1.0-fill", &[]),
            ("kiln edit 'a hat' cat.png -m gen-2-klein-4b", &[]),
            ("kiln edit 'a hat' https://example.com/cat.png -m gen-dev", &[]),
            ("kiln generate 'a hat' --extra input_image=cat.png", &[]),
            ("kiln run gen-pro-1.0-fill --image cat.png --mask small.png", &[]),
            ("kiln run gen-pro-1.0-expand --top 64", &[]),
            ("kiln run gen-tools/deblur-v1", &[]),
            ("kiln run gen-tools/erase-v1 --image cat.png", &[]),
            ("kiln run gen-tools/vto-v1 --extra-image person=cat.png", &[]),
            ("kiln run gen-pro-1.0-canny --extra prompt=fox", &[]),
        ],
    ),
    (
        "Tasks",
        &[
            ("kiln tool deblur", &[]),
            ("kiln tool deblur cat.png small.png", &[]),
            ("kiln tool deblur cat.png -m gen-2-pro", &[]),
            ("kiln tool deblur cat.png --mask small.png", &[]),
            ("kiln tool inpaint 'a hat' cat.png", &[]),
            ("kiln tool inpaint 'a hat' cut.jpg", &[]),
            ("kiln tool inpaint cat.png 'a hat'", &[]),
            ("kiln tool inpaint a hat cat.png --mask cat.png", &[]),
            ("kiln tool inpaint '' cat.png --mask cat.png", &[]),
            ("kiln tool inpaint 'a hat' cat.png --mask small.png", &[]),
            ("kiln tool outpaint cat.png --width 512", &[]),
            ("kiln tool expand cat.png", &[]),
            ("kiln tool expand cat.png --left 0", &[]),
            ("kiln tool expand cat.png --left 4096", &[]),
            ("kiln tool erase cat.png", &[]),
            ("kiln tool try-on cat.png", &[]),
            ("kiln tool try-on cat.png cut.png", &[]),
            ("kiln tool video 'a fox' --mode i2v", &[]),
            ("kiln tool video 'a fox' cat.png --mode t2v", &[]),
            ("kiln tool video cat.png 'a fox'", &[]),
            ("kiln models gen-2-prp", &[]),
            ("kiln models --can paint", &[]),
            ("kiln models gen-2-pro --can edit", &[]),
        ],
    ),
    (
        "Settings",
        &[
            ("kiln generate 'a fox'", NO_SETTINGS),
            ("kiln generate 'a fox'", &[("IMAGEKILN_API_KEY", "")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_BASE_URL", "")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_API_KEY", "A-WRONG-KEY")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_BASE_URL", "127.0.0.1:8811")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_BASE_URL", "api.example.com")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_BASE_URL", "http://127.0.0.1:8811/v1")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_BASE_URL", "ftp://example.com")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_BASE_URL", "http://api.example.com")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_BASE_URL", "https://HOST")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_ALLOW_HTTP", "yes")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_MODEL_PREFIX", "x/y")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_WEBHOOK_URL", "example.com")]),
            (
                "kiln run gen-pro-1.1-ultra-finetuned --finetune-id x",
                &[("IMAGEKILN_REGIONAL_BASE_URL", "")],
            ),
            ("kiln generate 'a fox'", &[("IMAGEKILN_API_KEY", "\"A-WRONG-KEY\"")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_API_KEY", "Bearer A-WRONG-KEY")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_API_KEY", "x-key: A-WRONG-KEY")]),
            ("kiln generate 'a fox'", &[("IMAGEKILN_API_KEY", "A-WRONG-KEY or not")]),
            ("kiln generate 'a fox' --deadline soon", &[]),
            ("kiln generate 'a fox' --deadline 0", &[]),
            ("kiln generate 'a fox' --allow-polling-host https://x/y", &[]),
        ],
    ),
    (
        "Several pictures",
        &[
            ("kiln generate 'a fox' a wolf", &[]),
            ("kiln generate 'a fox' cat.png", &[]),
            ("kiln generate 'a fox' -n 0", &[]),
            ("kiln generate 'a fox' -n -1", &[]),
            ("kiln generate 'a fox' -n 4 --seed 7", &[]),
            ("kiln generate 'a fox' -n 4 -o fox.png", &[]),
            ("kiln generate 'a fox' -n 4 -o -", &[]),
            ("kiln generate 'a fox' -n 4 -o fox-{model}.png", &[]),
            ("kiln generate 'a fox' --extra seed=null -o fox-{seed}.png", &[]),
            ("kiln generate 'a fox' -o fox-{sed}.png", &[]),
            ("kiln generate 'a fox' -o fox-{name}.png", &[]),
            ("kiln generate 'a fox' -o fox-{index}.gif", &[]),
            ("kiln generate 'a fox' -o nowhere/fox-{index}.png", &[]),
            ("kiln generate 'a fox' --seed 4..1", &[]),
            ("kiln generate 'a fox' --seed 1..2000", &[]),
            ("kiln task submit gen-2-pro --prompt fox --seed 1..4", &[]),
            ("kiln tool deblur cat.png -n 2 -o {slug}.png", &[]),
        ],
    ),
    (
        "Words of other programs",
        &[
            ("kiln init", &[]),
            ("kiln imagine", &[]),
            ("kiln List", &[]),
            ("kiln price", &[]),
            ("kiln delete fox.png", &[]),
            ("kiln upscale", &[]),
        ],
    ),
    (
        "Files and tasks",
        &[
            ("kiln generate 'a fox' -o nowhere/fox.png", &[]),
            ("kiln generate 'a fox' -o directory/", &[]),
            ("kiln generate 'a fox' -o - --json", &[]),
            ("kiln generate 'a fox' -o ''", &[]),
            ("kiln generate 'a fox' -o '~/fox.png'", &[]),
            ("kiln batch run prompts.txt -o '~/foxes'", &[]),
            ("kiln task save ''", &[]),
            ("kiln task status 3", &[]),
            ("kiln task wait 3", &[]),
            ("kiln task save 3", &[]),
            ("kiln task dismiss 3", &[]),
            ("kiln task resolve 3 an-id", &[]),
            ("kiln task wait an-id", &[("IMAGEKILN_API_KEY", "A-WRONG-KEY")]),
            ("kiln task save an-id", &[("IMAGEKILN_API_KEY", "A-WRONG-KEY")]),
            ("kiln task save nowhere.json", &[]),
            ("kiln task status {}", &[]),
            ("kiln task wait 00000000-0000-0000-0000-000000000000", &[]),
            ("kiln --simulate task status an-id", &[]),
        ],
    ),
];

/// Splits a command into its words.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('\'').enumerate().flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    parts.skip(1).collect()
}

fn shown(bench: &Bench, (command, settings): &Mistake) -> String {
    let mut child = bench.kiln(&words(command));
    let mut text = "$ ".to_owned();
    for (name, value) in *settings {
        let host = bench.simulator.base_url();
        let host = host.strip_prefix("http://").unwrap();
        child.env(name, value.replace("HOST", host));
        // Writing to a `String` does not fail.
        let value = value.replace("HOST", "127.0.0.1:PORT");
        let quote = if value.contains(' ') { "'" } else { "" };
        let _ = write!(text, "{name}={quote}{value}{quote} ");
    }
    let outcome = Outcome::of(child.output().unwrap());
    assert!(!outcome.stderr.contains("paid for"), "{}", outcome.stderr);
    assert_ne!(outcome.code, 0, "{command}");
    assert_eq!(outcome.text(), "", "{command}");
    assert!(!outcome.stderr.contains("A-WRONG-KEY"), "{}", outcome.stderr);
    format!("{text}{command}\n{}\nexit code {}\n", outcome.stderr.trim_end(), outcome.code)
}

#[test]
fn each_mistake_has_a_helpful_message_and_is_not_paid_for() {
    let bench = Bench::new();
    let whole = png(256, 256);
    let jpeg = encoded(image::ImageFormat::Jpeg, 256, 256);
    bench.place.write("prompt.txt", "a fox");
    bench.place.write("cat.png", &whole);
    bench.place.write("small.png", png(64, 64));
    bench.place.write("empty.png", "");
    bench.place.write("page.png", "<html>not found</html>");
    bench.place.write("cut.png", &whole[..whole.len() / 2]);
    bench.place.write("cut.jpg", &jpeg[..jpeg.len() / 2]);
    let bench = &bench;
    let section = |(title, mistakes): &(&str, &[Mistake])| {
        let shown: Vec<String> = mistakes.iter().map(|mistake| shown(bench, mistake)).collect();
        format!("# {title}\n\n{}", shown.join("\n"))
    };
    let text = thread::scope(|scope| {
        let sections: Vec<_> =
            MISTAKES.iter().map(|part| scope.spawn(move || section(part))).collect();
        let sections: Vec<String> = sections.into_iter().map(|part| part.join().unwrap()).collect();
        sections.join("\n")
    });
    let count: usize = MISTAKES.iter().map(|(_, mistakes)| mistakes.len()).sum();
    assert!(count >= 60, "{count} mistakes");
    assert_eq!(bench.simulator.counts().accepted, 0);
    assert_shown!("mistakes", text);
}
