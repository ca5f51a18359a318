//! The effects of settings in `config.toml` and of files with secrets.

use std::fs;

use serde_json::{Value, json};

use crate::{
    bench::{AGES, Bench, Place, Words as _, fox, kind_of, png},
    server::Server,
    tasks::SUBMIT,
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
    let saved = bench.run("generate 'a fox' -s 64x64").ok().text();
    assert!(saved.starts_with("pictures/a-fox-"), "{saved}");
    bench.place.configure("size = \"64x64\"\noutput = \"pictures/fox.png\"\n");
    bench.run("task submit gen-2-pro --prompt 'a fox'").ok();
    bench.place.configure("");
    bench.run("resume").ok();
    assert_eq!(kind_of(&bench.place.read("pictures/fox.png")), image::ImageFormat::Png);
}

#[test]
fn the_service_is_that_of_the_file() {
    let bench = Bench::ready_after(AGES);
    bench.place.configure(&format!(
        "base_url = \"{}\"\nregional_base_url = \"{}\"\ndeadline = 4\n",
        bench.simulator.base_url(),
        bench.simulator.regional_base_url()
    ));
    let key = [("IMAGEKILN_API_KEY", bench.simulator.api_key())];
    for (more, deadline) in [(&[][..], "4 s"), (&["--deadline=2.5"], "2.5 s")] {
        bench.place.run_with(&key, &fox(more)).fails(6).says(&format!("deadline of {deadline}"));
    }
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn a_host_of_the_file_is_allowed() {
    let (place, service, other) = (Place::new(), Server::new(), Server::new());
    let host = other.url().trim_start_matches("http://").to_owned();
    place.configure(&format!("allow_polling_hosts = [\"{host}\"]\n"));
    let mut submit = place.kiln(&SUBMIT);
    service.run(&mut submit, |it| it.next().respond(200, &other.accepted("an-id"))).ok();
    let polled = service.run(&mut place.kiln("task status @1"), |_| {
        let poll = other.next();
        assert!(poll.headers.contains("x-key: a-key"), "{}", poll.headers);
        poll.respond(200, &json!({ "id": "an-id", "status": "Pending" }));
    });
    polled.ok();
}

#[test]
fn a_webhook_secret_comes_from_a_file() {
    let bench = Bench::new();
    bench.place.write("secret", "whsec-1\n");
    bench.place.write("cat.png", png(64, 64));
    let file = ["--webhook-secret-file", "secret"];
    for line in [
        "generate 'a fox' -s 64x64",
        "edit 'a fox' cat.png -s 64x64",
        "run gen-2-pro --prompt 'a fox' -s 64x64",
        "task submit gen-2-pro --prompt 'a fox' -s 64x64",
    ] {
        let words = &line.words()[..];
        let outcome = bench.run(&[words, &file].concat()).ok();
        // The simulator does not keep it.
        assert_eq!(bench.last_request()["webhook_secret"], "[redacted]", "{words:?}");
        assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
        let argument = ["--webhook-secret", "whsec-2"];
        let warned = bench.run(&[words, &argument].concat()).ok().stderr;
        assert!(warned.contains("warning: other users of this machine"), "{warned}");
        assert!(!warned.contains("whsec-2"), "{warned}");
        bench.run(&[words, &argument, &file].concat()).fails(2);
    }
    bench.run("generate 'a fox' --webhook-secret-file nowhere").fails(1);
    let server = Server::new();
    let words = [&SUBMIT[..], &file].concat();
    let submit = server.run(&mut bench.place.kiln(&words), |server| {
        let submission = server.next();
        let body: Value = serde_json::from_slice(&submission.body).unwrap();
        assert_eq!(body["webhook_secret"], "whsec-1");
        submission.respond(403, &json!({}));
    });
    submit.fails(3);
}
