//! The mistakes that people make, each with its message and its exit code, in one snapshot. None of
//! them is paid for.

use std::{fmt::Write, thread};

use crate::{
    assert_shown,
    bench::{Bench, encoded, png},
    webhook::listening::not_listening,
};

/// A command, and the settings that differ from those of a working service.
type Mistake = (&'static str, &'static [(&'static str, &'static str)]);

const NO_SETTINGS: &[(&str, &str)] = &[("IMAGEKILN_API_KEY", ""), ("IMAGEKILN_BASE_URL", "")];
const BLANK_SETTINGS: &[(&str, &str)] = &[("IMAGEKILN_API_KEY", " "), ("IMAGEKILN_BASE_URL", " ")];

/// `HOST` is the address of a running simulator.
const MISTAKES: &[(&str, &[Mistake])] = &[
    (
        "Words and commands",
        &[
            ("kiln generat 'a fox'", &[]),
            ("kiln 'a red fox'", &[]),
            ("kiln gen-2-pro --prompt fox", &[]),
            ("kiln generate", &[]),
            ("kiln generate a red fox", &[]),
            ("kiln generate 'a red fox' in snow", &[]),
            ("kiln generate The fox", &[]),
            ("kiln generate 'a red fox' snowing", &[]),
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
            ("kiln generate @latin-1.txt", &[]),
            ("kiln generate @long.txt", &[]),
            ("kiln generate @blank.txt", &[]),
            ("kiln generate -", &[]),
            ("kiln edit '' https://example.com/cat.png", &[]),
            ("kiln run gen-2-pro", &[]),
            ("kiln run gen-2-pro --prompt ''", &[]),
            ("kiln task submit gen-kontext-pro --prompt ' '", &[]),
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
            (
                "kiln run gen-pro-1.0-fill --steps 7 --guidance high --seed 1.5 \
                 --prompt-upsampling=perhaps --output-format gif --safety_tolerance -1 \
                 --image cat.png --webhook-url example.com",
                &[],
            ),
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
            ("kiln edit 'a hat' hat.psd", &[]),
            ("kiln edit 'a hat' - -", &[]),
            ("kiln edit - -", &[]),
            ("kiln edit 'a hat' cat.png cat.png -m gen-pro-1.0-fill", &[]),
            ("kiln edit 'a hat' cat.png -m gen-2-klein-4b", &[]),
            ("kiln edit 'a hat' https://example.com/cat.png -m gen-dev", &[]),
            ("kiln generate 'a hat' --extra input_image=cat.png", &[]),
            ("kiln run gen-pro-1.0-fill --image cat.png --mask small.png", &[]),
            ("kiln run gen-pro-1.0-fill --prompt fox", &[]),
            ("kiln run gen-pro-1.0-fill --prompt fox --mask cat.png", &[]),
            ("kiln run gen-pro-1.0-fill-finetuned --prompt fox --finetune-id x", &[]),
            ("kiln run gen-pro-1.0-expand --top 64", &[]),
            ("kiln run gen-tools/deblur-v1", &[]),
            ("kiln run gen-tools/erase-v1", &[]),
            ("kiln run gen-tools/erase-v1 --image cat.png", &[]),
            ("kiln run gen-tools/vto-v1 --extra-image person=cat.png", &[]),
            ("kiln run gen-tools/vto-v1 --extra-image person=cut.png", &[]),
            ("kiln run gen-tools/vto-v2 --extra person=https://example.com/cat.png", &[]),
            ("kiln run gen-tools/outpainting-v1 --extra width=64", &[]),
            ("kiln run gen-pro-1.0-canny --extra prompt=fox", &[]),
            ("kiln run gen-pro-1.0-canny-finetuned --extra prompt=fox", &[]),
            ("kiln run gen-pro-1.0-depth --extra prompt=fox", &[]),
            ("kiln run gen-pro-1.0-depth-finetuned --extra prompt=fox", &[]),
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
            ("kiln generate 'a fox'", BLANK_SETTINGS),
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
            ("kiln config set base_url ftp://x", &[]),
            ("kiln config set base_url http://127.0.0.1:1/v1", &[]),
            ("kiln config set base_url http://192.0.2.1", &[]),
            ("kiln config set regional_base_url api.example.com", &[]),
            ("kiln config set webhook_url x", &[]),
            ("kiln config set size 1 x 1", &[]),
            ("kiln config set api_key A-WRONG-KEY", &[]),
            ("kiln config set webhook_secret A-WRONG-KEY", &[]),
        ],
    ),
    (
        "A simulator",
        &[
            ("kiln simulate --config bad.toml", &[]),
            ("kiln simulate --config nowhere.toml", &[]),
            ("kiln simulate --listen 0.0.0.0:0", &[]),
            ("kiln simulate --listen HOST", &[]),
            ("kiln simulate --port 65534", &[]),
            ("kiln simulate --model-prefix no/prefix", &[]),
            ("kiln simulate -- no-such-program", &[]),
        ],
    ),
    (
        "Webhooks",
        &[
            ("kiln webhook listen --scheme md5", &[]),
            ("kiln webhook listen --task-id data.id", &[]),
            ("kiln webhook listen --path /hook?token=1", &[]),
            ("kiln webhook listen --listen localhost", &[]),
            ("kiln webhook listen --listen HOST --quiet", &[]),
            ("kiln webhook verify nowhere.json", &[("IMAGEKILN_WEBHOOK_SECRET", "hush")]),
            ("kiln webhook verify prompt.txt -H a:b", &[]),
            ("kiln webhook verify prompt.txt -H a:b --secret-file nowhere", &[]),
            ("kiln webhook verify prompt.txt -H a:b --secret-file empty.png", &[]),
            ("kiln webhook verify prompt.txt -H a:b --secret-file latin-1.txt", &[]),
            ("kiln webhook verify prompt.txt -H a:b --secret-file long.txt", &[]),
        ],
    ),
    (
        "Batches",
        &[
            ("kiln batch run prompt.txt -o out --seed 1..2", &[]),
            ("kiln batch run prompt.txt -o out --model gen-2-pro,gen-2-flex", &[]),
            ("kiln batch run prompt.txt -o out --prompt fox", &[]),
            ("kiln batch run jobs.json -o out", &[]),
            ("kiln batch run nowhere.txt -o out", &[]),
            ("kiln batch run -o out", &[]),
            ("kiln batch run --prompt fox -o out --seed 3..1", &[]),
            ("kiln batch run --prompt fox -o out --model gen-2-pro,gen-2-por", &[]),
            ("kiln batch run --prompt fox -o out --model gen-2-por,gen-2-pro", &[]),
            ("kiln batch run --prompt fox -o out --price free", &[]),
            ("kiln batch run --prompt fox -o out --names fox{", &[]),
            ("kiln batch run --prompt fox -o out --names fox --seed 1,2", &[]),
            ("kiln batch run --prompt fox -o out -n 0", &[]),
            ("kiln batch run --prompt fox -o out -n 1001", &[]),
            ("kiln batch run prompt.txt -o out -n 2 --seed 1", &[]),
            ("kiln batch run prompt.txt -o nowhere --add-only --budget 50", &[]),
            ("kiln batch run prompt.txt -o nowhere --add-only --pay-again", &[]),
            ("kiln batch run prompt.txt -o nowhere --add-only --listen 127.0.0.1:0", &[]),
            ("kiln --simulate batch run prompt.txt -o nowhere --add-only", &[]),
            ("kiln batch run --prompt fox -o out --callback-url https://example.com", &[]),
            ("kiln batch run --prompt fox -o out --listen 127.0.0.1:0", &[]),
            ("kiln batch run --prompt fox -o out --listen 0.0.0.0:0 --secret-file prompt.txt", &[]),
            ("kiln batch status --ledger nowhere", &[]),
            ("kiln batch status --ledger cat.png", &[]),
            ("kiln batch jobs retry fox --ledger nowhere", &[]),
            ("kiln batch jobs forget fox --ledger nowhere", &[]),
            ("kiln batch resolve fox --paid --ledger nowhere", &[]),
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
            ("kiln generate 'a fox' --vary guidance=3 -o .", &[]),
            ("kiln generate 'a fox' --vary seed=1,,2 -o .", &[]),
            ("kiln generate 'a fox' --vary seed=3..1 -o .", &[]),
            ("kiln generate 'a fox' --vary seed=1..2000 -o .", &[]),
            ("kiln generate 'a fox' --vary seed=1,2 -n 2 -o .", &[]),
            ("kiln generate 'a fox' --vary width=0,64 -o .", &[]),
            // The pairs are counted before they are made.
            ("kiln generate 'a fox' --vary seed=1..100000 --vary width=1..100000 -o .", &[]),
            ("kiln task submit gen-2-pro --prompt fox --seed 1..4", &[]),
            ("kiln tool deblur cat.png -n 2 -o {slug}.png", &[]),
        ],
    ),
    (
        "Files and tasks",
        &[
            ("kiln generate 'a fox' -o nowhere/fox.png", &[]),
            ("kiln generate 'a fox' -o directory/", &[]),
            ("kiln generate 'a fox' -o cat.png/fox.png", &[]),
            ("kiln generate 'a fox' -o fox.TIFF", &[]),
            ("kiln task submit gen-2-pro --prompt fox -o fox.txt", &[]),
            ("kiln generate 'a fox' --record cat.png/recorded", &[]),
            ("kiln generate 'a fox' --show", &[]),
            ("kiln generate 'a fox' --show --json", &[]),
            ("kiln generate 'a fox' --show -o /dev/null", &[]),
            ("kiln generate 'a fox' --open -o /dev/null", &[]),
            ("kiln generate 'a fox' --open -o -", &[]),
            ("kiln generate 'a fox' --key cover -o -", &[]),
            ("kiln generate 'a fox' --key cover --no-history", &[]),
            ("kiln generate 'a fox' --key cover --attempt 0", &[]),
            ("kiln generate 'a fox' --key ' '", &[]),
            ("kiln generate 'a fox' --attempt 2", &[]),
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

fn shown(bench: &Bench, (command, settings): &Mistake) -> String {
    let host = bench.simulator.base_url();
    let host = host.strip_prefix("http://").unwrap();
    let words = command.strip_prefix("kiln ").unwrap().replace("HOST", host);
    let mut child = bench.kiln(&words);
    let mut text = "$ ".to_owned();
    for (name, value) in *settings {
        child.env(name, value.replace("HOST", host));
        // Writing to a `String` does not fail.
        let value = value.replace("HOST", "127.0.0.1:PORT");
        let quote = if value.contains(' ') { "'" } else { "" };
        let _ = write!(text, "{name}={quote}{value}{quote} ");
    }
    let outcome = not_listening(&mut child);
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
    bench.place.write("latin-1.txt", b"caf\xe9");
    bench.place.write("long.txt", vec![b'x'; 1024 * 1024 + 1]);
    bench.place.write("blank.txt", "\n \n");
    bench.place.write("jobs.json", "{}\n");
    bench.place.write("bad.toml", "seed = 7\nready_after = -1\n");
    // Its first bytes are those of an image, but the service does not accept the format.
    bench.place.write("hat.psd", "8BPS\0\x01");
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
    assert_eq!(bench.simulator.counts().accepted, 0);
    assert!(!bench.place.path("nowhere").exists());
    assert!(!bench.place.config("config.toml").exists());
    let folder = bench.place.path("").display().to_string();
    assert_shown!("mistakes", text.replace(&folder, "FOLDER/"));
}
