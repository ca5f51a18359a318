//! `--json`: what each command prints is what the page says, and nothing on the page is missing.

mod page;

use std::{cell::RefCell, collections::BTreeSet, thread};

use serde_json::{Map, Value, json};

use self::page::Page;
use crate::{
    batch::{stopping::RUN, unrecorded::run_into_a_full_ledger},
    bench::{Bench, Outcome, Place, png},
    errors::scripted,
    help,
    running::Running,
    webhook::{listening::Listening, signed},
};

/// They have neither results nor events, or need an editor, a desktop or a terminal.
const NOT_RUN: [&str; 5] = ["help", "version", "config edit", "setup", "mcp"];

/// The simulator does not explain failures.
const WITHOUT_VALUES: [&str; 2] = ["Entry: details", "Recorded: details"];

/// Runs commands, and compares what they print with the page.
struct Check {
    page: Page,
    bench: Bench,
    events: RefCell<BTreeSet<String>>,
    commands: RefCell<BTreeSet<String>>,
}

impl Check {
    /// Runs a command, whose words are separated by spaces. `_` is a space in a word.
    #[track_caller]
    fn run(&self, line: &str) -> Outcome {
        self.run_with_stdin(line, "")
    }

    #[track_caller]
    fn run_with_stdin(&self, line: &str, input: &str) -> Outcome {
        let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
        let words: Vec<&str> = ["--json"].into_iter().chain(words.iter().map(|it| &**it)).collect();
        let outcome = self.bench.run_with_stdin(&words, input.as_bytes());
        self.read(line, &outcome);
        outcome
    }

    #[track_caller]
    fn read(&self, line: &str, outcome: &Outcome) {
        let (command, interfaces) = self.command(line);
        self.commands.borrow_mut().insert(command.to_owned());
        for line in outcome.text().lines().filter(|_| command != "config completions") {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|error| {
                panic!("{command} printed no JSON: {error}: {line}");
            });
            match &value {
                Value::Array(items) => items.iter().for_each(|it| self.page.check(interfaces, it)),
                object => self.page.check(interfaces, object),
            }
        }
        outcome.events().iter().for_each(|event| self.event(event));
    }

    fn event(&self, value: &Value) {
        let event = value["event"].as_str().unwrap_or_else(|| panic!("{value}"));
        self.page.check(&self.page.events[event], value);
        self.events.borrow_mut().insert(event.to_owned());
    }

    /// The longest command with which a line starts.
    fn command(&self, line: &str) -> (&str, &[String]) {
        let commands = self.page.commands.iter().map(|(name, anchors)| (&**name, &**anchors));
        let ours = commands.filter(|(name, _)| format!("{line} ").starts_with(&format!("{name} ")));
        ours.max_by_key(|(name, _)| name.len()).unwrap_or_else(|| panic!("{line} is not listed"))
    }
}

#[test]
fn the_page_lists_every_command() {
    let listed = Page::read().commands;
    let is_shown = |name: &&String| help::HELPS.iter().any(|(other, _)| other == *name);
    for name in listed.keys().filter(|name| !is_shown(name)) {
        Place::new().run(&format!("{name} --help")).ok();
    }
    for name in help::commands() {
        assert!(listed.contains_key(name), "docs/json.md does not list {name}");
    }
}

#[test]
fn commands_print_what_the_page_says() {
    let check = Check {
        page: Page::read(),
        bench: Bench::new(),
        events: RefCell::default(),
        commands: RefCell::default(),
    };
    pictures(&check);
    tasks(&check);
    machine(&check);
    batches(&check);
    webhooks(&check);
    interruptions(&check);
    let Check { page, events, commands, .. } = check;
    let listed: BTreeSet<String> = page.events.keys().cloned().collect();
    assert_eq!(events.into_inner(), listed);
    let listed = page.commands.keys().filter(|name| !NOT_RUN.contains(&name.as_str()));
    assert_eq!(commands.into_inner(), listed.cloned().collect());
    let problems = page.problems(&WITHOUT_VALUES);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn pictures(check: &Check) {
    for name in ["cat.png", "hat.png", "mask.png"] {
        check.bench.place.write(name, png(256, 256));
    }
    for line in [
        "generate a_fox -s 64x64 --seed 1..2 -o {seed}.png",
        "generate a_fox -s 64x64 --seed 2 -o {seed}.png --dry-run",
        "generate a_fox -s 64x64 --dry-run --simulate",
        "edit at_night cat.png -o night.png",
        "tool inpaint a_hat cat.png --mask mask.png -o hat-on.png",
        "tool outpaint cat.png -s 512x256 -o wide.png",
        "tool expand cat.png --left 64 -o left.png",
        "tool erase cat.png --mask mask.png -o erased.png",
        "tool deblur cat.png -o sharp.png",
        "tool try-on cat.png hat.png -o on.png",
        "tool video a_fox -s 64x64 --extra duration=1 -o fox.webm",
        "run gen-dev --prompt a_fox -s 256x256 -o dev.png",
        "generate a_fox -s 64x64 --key cover -o cover.png",
        "show @last",
        "again @1 --describe --no-history -o again.png",
        "show @1",
        "show again.png.json",
        "generate an_owl -s 64x64 --dry-run",
        "edit a_storm @1 -s 64x64 --vary seed=1..2 -o {name}.png",
        "preset save poster --from @1 --prompt a_{prompt}",
        "preset",
        "preset list",
        "preset show poster",
        "preset remove poster",
        "again @1 -o more.png",
        "spending --by day,profile",
    ] {
        check.run(line).ok();
    }
    check.run("generate a_fox[[wrong-size]] -s 64x64 -o size.png").ok();
    check.run("generate a_fox[[damaged:always]] -s 64x64 -o damaged.png").fails(6);
    check.run("show @last @1").ok();
    check.run("history").ok();
    check.run("spending --ledger missing.sqlite").fails(2);
    check.run("task save @last --damaged").ok();
    check.run("gallery").ok();
    let serving = Listening::start(&mut check.bench.kiln("--json gallery --serve"));
    let stdout = serving.greeting.clone().into_bytes();
    check.read("gallery", &Outcome { code: 0, stdout, stderr: String::new() });
    check.run("run gen-dev --prompt a_fox -s 64x64").fails(2);
    let moderated = "[[content-moderated]]";
    check.run(&format!("generate a_fox a_wolf{moderated} -s 64x64 -o {{index}}.png")).fails(5);
}

fn tasks(check: &Check) {
    check.run("task submit gen-2-pro --prompt a_fox -s 64x64 -o later.png").ok();
    for line in ["task status @last", "task wait @last", "task list", "task save @last"] {
        check.run(line).ok();
    }
    check.run("task submit gen-2-pro --prompt a_fox --dry-run").ok();
    check.run("task submit gen-2-pro --prompt a_fox -s 64x64").ok();
    check.run("task dismiss @last").ok();
    check.bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    check.run("task submit gen-2-pro --prompt a_fox -s 64x64 -o lost.png").fails(8);
    check.run("task list").ok();
    check.run("show @last").ok();
    check.run("resume").fails(8);
    check.run(&format!("task resolve @last {}", check.bench.last_task().id)).ok();
    check.run("resume").ok();
    check.run("resume").ok();
    check.run("history").ok();
}

fn machine(check: &Check) {
    check.bench.place.configure("[profile.work]\nbase_url = \"http://127.0.0.1:1\"\n");
    for line in [
        "models",
        "models gen-2-pro",
        "config",
        "config list",
        "config get size",
        "config set size 64x64",
        "config set size 64x64 --profile work",
        "config profiles",
        "config unset size",
        "config path",
        "doctor",
    ] {
        check.run(line).ok();
    }
    check.run_with_stdin("config login", "my-key").ok();
    for line in ["config logout", "config completions bash", "config man pages", "exit-codes"] {
        check.run(line).ok();
    }
    check.run("simulate -- true").ok();
    let nowhere = [("IMAGEKILN_BASE_URL", "http://127.0.0.1:1")];
    check.read("doctor", &check.bench.run_with(&nowhere, "--json doctor").fails(7));
    let submit = scripted("--json task submit gen-2-pro --prompt 'a fox'", |server| {
        server.next().respond_with(403, "x-request-id: r1\r\n", &Value::Null);
    });
    check.read("task submit", &submit.fails(3));
    let mut simulate = Running::start(&mut check.bench.kiln("--json simulate --port 0"));
    let stdout = simulate.line().into_bytes();
    simulate.interrupt();
    let (code, _, stderr) = simulate.end();
    assert_eq!(stderr, "");
    check.read("simulate", &Outcome { code, stdout, stderr }.ok());
}

fn batches(check: &Check) {
    let place = &check.bench.place;
    let job = |name, more: Value| {
        let job = json!({ "name": name, "prompt": "a fox", "width": 64, "height": 64 });
        let mut job = serde_json::from_value::<Map<String, Value>>(job).unwrap();
        job.extend(serde_json::from_value::<Map<String, Value>>(more).unwrap());
        format!("{}\n", Value::from(job))
    };
    let more = json!({ "group": "anna", "metadata": { "order": 7 }, "target": "a.jpg" });
    let saved = job("a", more);
    let moderated = job("b", json!({ "prompt": "a fox [[content-moderated]]" }));
    place.write("jobs.jsonl", saved + &moderated);
    check.run("batch run jobs.jsonl --output pictures --price 4 --dry-run").ok();
    check.run("batch run jobs.jsonl --output pictures").fails(5);
    check.run("show pictures/a.jpg").ok();
    check.run("batch run jobs.jsonl --output pictures --add-only").ok();
    check.run("batch advance a --output pictures").ok();
    check.run("batch advance b --output pictures").fails(5);
    place.write("bad.jsonl", job("c", json!({ "sede": 1 })));
    check.run("batch run bad.jsonl --output pictures").fails(2);
    check.bench.simulator.faults().add("reply-lost@submission:once").unwrap();
    place.write("lost.jsonl", job("lost", json!({})));
    check.run("batch run lost.jsonl --output pictures").fails(8);
    let status = check.run("batch status --state unknown --ledger pictures").ok().json();
    check.run("batch resolve lost a --paid --dry-run --ledger pictures").fails(10);
    let sent = status["listed"][0]["sent_at"].as_u64().unwrap();
    for (time, code) in [(sent, 0), (sent - 3600, 10)] {
        place.write("usage.csv", format!("time,task_id,model\n{time},t1,gen-2-pro\n"));
        check.run("batch reconcile usage.csv --dry-run --ledger pictures").fails(code);
    }
    for line in [
        "batch resolve lost --paid",
        "batch status --all",
        "batch report",
        "spending --by ledger,group,model",
        "batch limits --pause --budget 50 --max-active 3 --price gen-2-pro=4",
        "batch limits --budget 20 --rate 60 --group anna",
        "batch limits",
        "batch limits --unpause --group anna",
        "batch jobs priority 1 --all",
        "batch jobs cancel --all",
        "batch jobs retry b",
        "batch jobs forget lost",
        "batch jobs archive --older-than 0",
    ] {
        check.run(&format!("{line} --ledger pictures")).ok();
    }
    check.run("batch advance b --output pictures").fails(13);
    check.run("batch run jobs.jsonl --output pictures --ledger other.db").fails(1);
    check.run("batch adopt --output pictures --ledger other.db").ok();
    let key = [("IMAGEKILN_API_KEY", "wrong")];
    let refused = check.bench.run_with(&key, "--json batch run lost.jsonl --output refused");
    check.read("batch run", &refused.fails(3));
    check.run("batch status --ledger refused").ok();
    check.run("batch limits --ledger refused").ok();
}

fn webhooks(check: &Check) {
    let place = &check.bench.place;
    // Nothing needs the ledger any more.
    place.write("pictures/.kiln-batch.db", "damaged");
    check.run("spending").ok();
    place.write("body.json", signed::BODY);
    place.write("secret", signed::SECRET);
    let [id, timestamp, signature] = signed::standard_headers("msg_1", 1_767_225_600, signed::BODY);
    let words = ["webhook", "verify", "body.json", "--scheme", "standard", "--max-age", "100000d"];
    let headers = ["-H", &id, "-H", &timestamp, "-H", &signature, "--secret-file", "secret"];
    check.read("webhook verify", &place.run(&[&["--json"][..], &words, &headers].concat()).ok());
    check.run("webhook verify body.json -H a:b --secret-file secret").fails(9);
    let listen = ["--json", "webhook", "listen", "--scheme", "standard", "--max-age", "100000d"];
    for secret in [&["--secret-file", "secret"][..], &[]] {
        let mut listening = Listening::start(&mut place.kiln(&[&listen[..], secret].concat()));
        let mut stdout = listening.greeting.clone();
        for body in [signed::BODY, "{"] {
            listening.post(&[id.clone(), timestamp.clone(), signature.clone()], body);
            stdout += &format!("\n{}", listening.line());
        }
        let outcome = Outcome { code: 0, stdout: stdout.into_bytes(), stderr: String::new() };
        check.read("webhook listen", &outcome);
    }
}

/// The events that Ctrl-C causes, and those of a full disk.
fn interruptions(check: &Check) {
    let slow = || {
        let bench = Bench::new();
        bench.simulator.faults().add("slow-headers@submission=2:always").unwrap();
        bench
    };
    let start = |bench: &Bench, line: &str| {
        let run = Running::start(&mut bench.kiln(&format!("--json {line}")));
        while bench.simulator.counts().accepted < 1 {
            thread::yield_now();
        }
        run.interrupt();
        run
    };
    let read = |command, run: Running| {
        let (code, stdout, stderr) = run.end();
        check.read(command, &Outcome { code, stdout: stdout.into_bytes(), stderr }.fails(130));
    };
    let bench = slow();
    read("generate", start(&bench, "generate 'a fox' -s 64x64 -o fox.png"));
    let bench = slow();
    let mut run = start(&bench, RUN);
    run.until("\"stopping\"");
    run.interrupt();
    read("batch run", run);
    let bench = Bench::new();
    check.read("batch run", &run_into_a_full_ledger(&bench, "--json").fails(8));
}
