//! The effects of settings in `config.toml` and of files with secrets.

use std::{fs, process::Stdio};

use serde_json::{Value, json};

use crate::{
    bench::{AGES, Bench, Outcome, Place, kind_of, png},
    server::Server,
};

#[test]
fn the_defaults_of_requests_apply_unless_flags_are_given() {
    let bench = Bench::new();
    fs::create_dir(bench.place.path("pictures")).unwrap();
    bench.place.configure(
        "model = \"gen-2-flex\"\nsize = \"128x64\"\noutput = \"pictures/fox.webp\"\n\
         webhook_url = \"https://hooks.example/x\"\n",
    );
    let body = |words: &[&str]| bench.run(&[words, &["--dry-run", "--json"]].concat()).ok().json();
    let shown = body(&["generate", "a fox", "--seed", "7"]);
    assert_eq!(shown["path"], "/v1/gen-2-flex");
    let expected = json!({
        "prompt": "a fox", "width": 128, "height": 64, "output_format": "webp",
        "webhook_url": "https://hooks.example/x", "seed": 7,
    });
    assert_eq!(shown["body"], expected);
    let shown = body(&["generate", "a fox", "-m", "gen-2-pro", "-s", "64x64", "-o", "fox.png"]);
    assert_eq!((&shown["path"], &shown["body"]["width"]), (&json!("/v1/gen-2-pro"), &json!(64)));
    assert_eq!(shown["body"]["output_format"], "png");
    let only = body(&["generate", "a fox", "--width", "256"]);
    assert_eq!((&only["body"]["width"], &only["body"]["height"]), (&json!(256), &Value::Null));
    // The flags of the default model are those of the command.
    assert_eq!(body(&["generate", "a fox", "--guidance", "3"])["body"]["guidance"], 3);
    bench.place.configure("output = \"pictures\"\n");
    let words = ["generate", "a fox", "-s", "64x64"];
    let saved = bench.run(&words).ok().text();
    assert!(saved.starts_with("pictures/a-fox-"), "{saved}");
    bench.place.configure("size = \"64x64\"\noutput = \"pictures/fox.png\"\n");
    bench.run(&["task", "submit", "gen-2-pro", "--prompt", "a fox"]).ok();
    bench.place.configure("");
    bench.run(&["resume"]).ok();
    assert_eq!(kind_of(&bench.place.read("pictures/fox.png")), image::ImageFormat::Png);
}

#[test]
fn the_service_is_that_of_the_file() {
    let bench = Bench::ready_after(AGES);
    bench.place.configure(&format!(
        "base_url = \"{}\"\nregional_base_url = \"{}\"\ndeadline = 1\n",
        bench.simulator.base_url(),
        bench.simulator.regional_base_url()
    ));
    let mut words = vec!["generate", "a fox", "--width", "64", "--height", "64"];
    let run = |words: &[&str]| {
        let mut command = bench.place.kiln(words);
        Outcome::of(command.env("IMAGEKILN_API_KEY", bench.simulator.api_key()).output().unwrap())
    };
    assert!(run(&words).fails(6).stderr.contains("deadline of 1 s"));
    words.push("--deadline=0.5");
    assert!(run(&words).fails(6).stderr.contains("deadline of 0.5 s"));
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn a_host_of_the_file_is_allowed() {
    let (place, service, other) = (Place::new(), Server::new(), Server::new());
    let host = other.url().trim_start_matches("http://").to_owned();
    place.configure(&format!("allow_polling_hosts = [\"{host}\"]\n"));
    let words = ["task", "submit", "gen-2-pro", "--prompt", "a fox"];
    let child = service.point(&mut place.kiln(&words)).stdout(Stdio::null()).spawn().unwrap();
    let url = format!("{}/v1/get_result?id=an-id", other.url());
    service.next().respond(200, &json!({ "id": "an-id", "polling_url": url }));
    assert!(child.wait_with_output().unwrap().status.success());
    let child = service.point(&mut place.kiln(&["task", "status", "@1"])).spawn().unwrap();
    let poll = other.next();
    assert!(poll.headers.contains("x-key: a-key"), "{}", poll.headers);
    poll.respond(200, &json!({ "id": "an-id", "status": "Pending" }));
    child.wait_with_output().unwrap();
}

#[test]
fn a_webhook_secret_comes_from_a_file() {
    let bench = Bench::new();
    bench.place.write("secret", "whsec-1\n");
    bench.place.write("cat.png", png(64, 64));
    let file = ["--webhook-secret-file", "secret"];
    let size = ["--width", "64", "--height", "64"];
    for words in [
        &["generate", "a fox"][..],
        &["edit", "a fox", "cat.png"],
        &["run", "gen-2-pro", "--prompt", "a fox"],
        &["task", "submit", "gen-2-pro", "--prompt", "a fox"],
    ] {
        let outcome = bench.run(&[words, &file, &size].concat()).ok();
        // The simulator does not keep it.
        assert_eq!(bench.last_request()["webhook_secret"], "[redacted]", "{words:?}");
        assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
        let argument = ["--webhook-secret", "whsec-2"];
        let warned = bench.run(&[words, &argument, &size].concat()).ok().stderr;
        assert!(warned.contains("warning: other users of this machine"), "{warned}");
        assert!(!warned.contains("whsec-2"), "{warned}");
        bench.run(&[words, &argument, &file].concat()).fails(2);
    }
    bench.run(&["generate", "a fox", "--webhook-secret-file", "nowhere"]).fails(1);
    let server = Server::new();
    let words = [&["task", "submit", "gen-2-pro", "--prompt", "a fox"][..], &file].concat();
    let mut command = bench.place.kiln(&words);
    let child = server.point(&mut command).stdout(Stdio::null()).spawn().unwrap();
    let submission = server.next();
    let body: Value = serde_json::from_slice(&submission.body).unwrap();
    assert_eq!(body["webhook_secret"], "whsec-1");
    submission.respond(403, &json!({}));
    child.wait_with_output().unwrap();
}
