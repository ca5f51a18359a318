//! A person who makes pictures with `kiln`: command lines with one state folder.

mod running;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use imagekiln::DELIVERY_VALIDITY;
use serde::Deserialize;
use tokio::time::sleep;

use self::running::{Outcome, Running};
use crate::{
    disk::{closed, expect_whole},
    process::{Failing, Process},
    world::{End, Wanted, World},
};

/// The runs without faults in which everything must come to its end.
const CALM_RUNS: usize = 4;

pub(crate) async fn live(world: &mut World) -> Result<()> {
    let pictures = world.path("pictures");
    fs::create_dir(&pictures)?;
    fs::create_dir(world.path("config"))?;
    // A picture that is saved once more goes there, too.
    fs::write(world.path("config").join("config.toml"), format!("output = {pictures:?}"))?;
    let wanted = world.wanted();
    world.tell(format!("a person who wants {} pictures from kiln", wanted.len()));
    let (advice, saved, paid) = <(Vec<_>, Vec<_>, Vec<_>)>::default();
    let mut person = Person { wanted, state: 0, advice, saved, paid };
    for number in world.runs() {
        world.change_weather(number)?;
        for _ in 0..world.random.usize(1..=2) {
            person.run(world).await?;
        }
        if world.random.bool() {
            person.decide(world).await?;
        }
    }
    world.calm()?;
    for _ in 0..CALM_RUNS {
        person.decide(world).await?;
        person.finish(world).await?;
        sleep(DELIVERY_VALIDITY).await;
    }
    person.settle(world).await
}

struct Person {
    wanted: Vec<Wanted>,
    /// The number of the state folder of `kiln`.
    state: u32,
    /// The command lines that errors advised.
    advice: Vec<Vec<String>>,
    /// The tasks whose pictures `kiln` said are saved.
    saved: Vec<String>,
    /// The tasks of which `kiln` told while the disk of its history could keep them.
    paid: Vec<String>,
}

/// A line of `kiln history --json`.
#[derive(Debug, Deserialize)]
struct Entry {
    number: u64,
    state: String,
    id: Option<String>,
    path: Option<PathBuf>,
    prompt: String,
}

impl Entry {
    fn is_for(&self, wanted: &Wanted) -> bool {
        self.prompt == wanted.prompt
    }

    /// Whether the picture is not billed, because a person found no task of this submission.
    fn is_void(&self) -> bool {
        self.state == "dismissed"
    }

    fn is_closed(&self) -> bool {
        !["submitting", "unknown", "waiting", "unfinished"].contains(&&*self.state)
    }
}

/// A command line, and the pictures that it makes.
#[derive(Debug)]
struct Command {
    words: Vec<String>,
    pictures: Vec<Wanted>,
}

impl Person {
    /// One command, or two at the same time, which may be killed.
    async fn run(&mut self, world: &mut World) -> Result<()> {
        let entries = self.history(world).await?;
        let mut left = self.left(world, &entries)?;
        let first = self.choose(world, &entries, &mut left);
        let second = world.random.bool().then(|| self.choose(world, &entries, &mut left));
        let death = death(world);
        // Either the machine dies, or only the first command.
        let machine_dies = world.random.bool();
        world.tell(format!("run: {:?}, death {death:?} of all {machine_dies}", first.words));
        let (disk, other_disk) = (world.storing_process(0), world.storing_process(1));
        for disk in [&disk, &other_disk] {
            world.tell(format!("a disk: {:?}", disk.trouble.disk));
        }
        let (one, other) = (self.process(world, disk), self.process(world, other_disk));
        let other_death = death.filter(|_| machine_dies);
        let run_other = async {
            let Some(second) = &second else { return None };
            Some(other.run(&second.words, other_death).await)
        };
        let (code, other_code) = tokio::join!(one.run(&first.words, death), run_other);
        let was_killed = code.is_none() || other_code == Some(None);
        if was_killed && machine_dies {
            self.lose_later_writes(world)?;
        }
        let outcome = one.end(code).await?;
        self.learn(world, &first, &outcome)?;
        if let Some((second, code)) = second.zip(other_code) {
            world.tell(format!("at the same time: {:?}", second.words));
            let outcome = other.end(code).await?;
            self.learn(world, &second, &outcome)?;
        }
        Ok(closed(&self.state(world)).await?)
    }

    /// A command line, executed to its end.
    async fn execute(&mut self, world: &mut World, command: &Command) -> Result<Outcome> {
        let disk = world.healthy_process();
        let running = self.process(world, disk);
        let code = running.run(&command.words, None).await;
        let outcome = running.end(code).await?;
        closed(&self.state(world)).await?;
        self.learn(world, command, &outcome)?;
        Ok(outcome)
    }

    /// Chooses what to do next. `left` has the pictures that are not submitted.
    fn choose(&mut self, world: &mut World, entries: &[Entry], left: &mut Vec<Wanted>) -> Command {
        let random = &mut world.random;
        let open: Vec<_> = entries.iter().filter(|entry| !entry.is_closed()).collect();
        match random.u8(0..10) {
            0..6 if !left.is_empty() => {
                let some = left.split_off(random.usize(0..left.len()));
                generate(world, some)
            }
            6 if let Some(wanted) = left.pop() => submit(world, wanted),
            7 if !self.advice.is_empty() => {
                command(self.advice.swap_remove(random.usize(0..self.advice.len())))
            }
            8 if !open.is_empty() => {
                let entry = open[random.usize(0..open.len())];
                let name = entry.id.clone().filter(|_| random.bool());
                let name = name.unwrap_or_else(|| format!("@{}", entry.number));
                command(["task", "save", &name])
            }
            _ => command(["resume"]),
        }
    }

    fn state(&self, world: &World) -> PathBuf {
        world.path(&format!("state-{}", self.state))
    }

    fn process(&self, world: &mut World, disk: Arc<Process>) -> Running {
        Running::new(world, self.state(world), disk)
    }

    /// The machine died: what its processes still write is lost. They have the old folder.
    fn lose_later_writes(&mut self, world: &World) -> Result<()> {
        let from = self.state(world);
        self.state += 1;
        Ok(copy(&from, &self.state(world))?)
    }

    /// Reads what a command printed, which must be true.
    fn learn(&mut self, world: &mut World, command: &Command, outcome: &Outcome) -> Result<()> {
        world.totals.runs += 1;
        world.totals.killed += u64::from(outcome.code.is_none());
        world.tell(format!("{:?} ended with {:?}", command.words, outcome.code));
        for event in &outcome.events {
            world.tell(event.to_string());
            let index = event["index"].as_u64().map(|index| index as usize - 1);
            let about = match (index, &command.pictures[..]) {
                (Some(index), pictures) => pictures.get(index),
                (None, [only]) => Some(only),
                (None, _) => None,
            };
            if let Some(line) = event["resume"].as_str() {
                let words = split(line).into_iter().skip(1).collect();
                if !self.advice.contains(&words) {
                    self.advice.push(words);
                }
            }
            if let Some(about) = about.filter(|_| event["exit_code"].is_u64()) {
                let charged = world.services.id_for(&about.name);
                let id = event["task"]["id"].as_str();
                let is_unknown = event["may_have_been_billed"] == true;
                let is_true = charged.as_deref() == id;
                ensure!(is_unknown || is_true, "an error of {} is wrong: {event}", about.name);
            }
        }
        // The space of an acceptance is written before the submission is sent.
        if outcome.failing.is_none_or(|failing| failing == Failing::Full)
            && !command.pictures.is_empty()
        {
            let told = outcome.events.iter().chain(&outcome.results);
            self.paid.extend(told.filter_map(|told| Some(told["task"]["id"].as_str()?.to_owned())));
        }
        for result in &outcome.results {
            if let (Some(id), Some(path)) = (result["task"]["id"].as_str(), result["path"].as_str())
            {
                expect_whole(Path::new(path))?;
                if outcome.failing.is_none() {
                    self.saved.push(id.to_owned());
                }
            }
        }
        if outcome.code == Some(0) {
            for wanted in &command.pictures {
                let count = world.services.charged(&wanted.name).count();
                ensure!(count == 1, "kiln made {} for {count} tasks", wanted.name);
            }
        }
        Ok(())
    }

    /// Reads the history, which must have what `kiln` said, and proofs.
    async fn history(&self, world: &mut World) -> Result<Vec<Entry>> {
        let disk = world.healthy_process();
        let running = self.process(world, disk);
        let words = ["history", "--limit", "1000"].map(str::to_owned);
        let code = running.run(&words, None).await;
        let outcome = running.end(code).await?;
        ensure!(code == Some(0), "the history is unreadable: {:?}", outcome.events);
        let entries = outcome.results.into_iter().map(serde_json::from_value);
        let entries: Vec<Entry> =
            entries.collect::<Result<_, _>>().context("the history is not as expected")?;
        for id in &self.saved {
            let entry = entries.iter().find(|entry| entry.id.as_ref() == Some(id));
            let is_saved = entry.is_some_and(|entry| entry.state == "saved");
            ensure!(is_saved, "the picture of {id} is saved, and not so in the history: {entry:?}");
        }
        for id in &self.paid {
            let has_it = entries.iter().any(|entry| entry.id.as_ref() == Some(id));
            ensure!(has_it, "the history forgot the task {id}");
        }
        for entry in &entries {
            let end = match &*entry.state {
                "failed" | "moderated" => End::Failed,
                "expired" => End::Expired,
                _ => continue,
            };
            let wanted = self.wanted.iter().find(|wanted| entry.is_for(wanted));
            world.expect_proof(wanted.context("an entry of something else")?, &end)?;
        }
        Ok(entries)
    }

    /// Returns the pictures that were never submitted, or certainly not billed.
    fn left(&self, world: &World, entries: &[Entry]) -> Result<Vec<Wanted>> {
        let is_submitted =
            |wanted: &Wanted| entries.iter().any(|it| it.is_for(wanted) && !it.is_void());
        let left = self.wanted.iter().filter(|wanted| !is_submitted(wanted)).cloned();
        let left: Vec<_> = left.collect();
        for wanted in &left {
            let is_charged = world.services.id_for(&wanted.name).is_some();
            ensure!(!is_charged, "{} is charged, and not in the history", wanted.name);
        }
        Ok(left)
    }

    /// A person looks up each unknown submission in the account of the service.
    async fn decide(&mut self, world: &mut World) -> Result<()> {
        for entry in self.history(world).await? {
            if entry.state != "unknown" {
                continue;
            }
            let mut wanted = self.wanted.iter().filter(|wanted| entry.is_for(wanted));
            let wanted = wanted.next().context("a submission of something else")?;
            let number = format!("@{}", entry.number);
            match world.services.id_for(&wanted.name) {
                // The poll of the task may fail.
                Some(id) => {
                    let decision = command(["task", "resolve", &number, &id]);
                    self.execute(world, &decision).await?;
                }
                None => {
                    let decision = command(["task", "dismiss", &number]);
                    let outcome = self.execute(world, &decision).await?;
                    ensure!(outcome.code == Some(0), "a person could not dismiss {number}");
                }
            }
            world.totals.decisions += 1;
        }
        sleep(Duration::from_secs(world.random.u64(0..900))).await;
        Ok(())
    }

    /// Does all that is left to do, without faults.
    async fn finish(&mut self, world: &mut World) -> Result<()> {
        for words in std::mem::take(&mut self.advice) {
            self.execute(world, &command(words)).await?;
        }
        let entries = self.history(world).await?;
        let left = self.left(world, &entries)?;
        if !left.is_empty() {
            let generate = generate(world, left);
            self.execute(world, &generate).await?;
        }
        self.execute(world, &command(["resume"])).await?;
        Ok(())
    }

    /// Compares the history and the files with the account.
    async fn settle(&mut self, world: &mut World) -> Result<()> {
        let outcome = self.execute(world, &command(["resume"])).await?;
        ensure!(outcome.code == Some(0), "`kiln resume` never finishes");
        let mut entries = self.history(world).await?;
        entries.retain(|entry| !entry.is_void());
        entries.iter().for_each(|entry| world.tell(format!("{entry:?}")));
        ensure!(entries.len() == self.wanted.len(), "not one entry for each picture");
        for wanted in &self.wanted {
            let entry = entries.iter().find(|entry| entry.is_for(wanted));
            let entry = entry.with_context(|| format!("{} has no entry", wanted.name))?;
            ensure!(entry.is_closed(), "{} is still {}", wanted.name, entry.state);
            let is_its = world.services.id_for(&wanted.name) == entry.id;
            ensure!(is_its, "the entry of {} has another task", wanted.name);
            let file = entry.path.clone().unwrap_or_else(|| picture(world, wanted));
            world.settle(wanted, &file, entry.state != "saved")?;
        }
        // A process may die after it has saved a picture, and before it says so.
        for file in fs::read_dir(world.path("pictures"))? {
            let path = file?.path();
            // What arrived of a damaged delivery has a name that says so.
            if path.extension().is_none_or(|extension| extension != "damaged") {
                expect_whole(&path)?;
            }
        }
        world.nothing_else(&self.wanted)
    }
}

fn command<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Command {
    Command { words: words.into_iter().map(W::into).collect(), pictures: Vec::new() }
}

fn generate(world: &World, pictures: Vec<Wanted>) -> Command {
    let target = match &pictures[..] {
        [only] => picture(world, only),
        _ => world.path("pictures"),
    };
    let prompts = pictures.iter().map(|wanted| wanted.prompt.clone());
    let words = ["generate".to_owned()].into_iter().chain(prompts).chain(options(target));
    Command { words: words.collect(), pictures }
}

fn submit(world: &World, wanted: Wanted) -> Command {
    let words = ["task", "submit", "gen-2-pro", "--prompt", &wanted.prompt].map(str::to_owned);
    let words = words.into_iter().chain(options(picture(world, &wanted)));
    Command { words: words.collect(), pictures: vec![wanted] }
}

/// A small picture, which is saved there.
fn options(target: PathBuf) -> impl Iterator<Item = String> {
    let words = ["--width", "64", "--height", "64", "--output"].map(str::to_owned);
    words.into_iter().chain([target.to_string_lossy().into_owned()])
}

fn picture(world: &World, wanted: &Wanted) -> PathBuf {
    world.path("pictures").join(format!("{}.jpg", wanted.name))
}

/// Returns when a command dies, if it does.
fn death(world: &mut World) -> Option<Duration> {
    let dies = world.random.u8(0..3) > 0;
    // Most of a command happens in its first seconds.
    let after = Duration::from_secs_f64(world.random.f64().powi(3) * 90.0);
    (dies && world.has("deaths")).then_some(after)
}

/// Copies a directory, and those below it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from).into_iter().flatten() {
        let file = file?;
        let to = to.join(file.file_name());
        if file.file_type()?.is_dir() {
            copy(&file.path(), &to)?;
        } else {
            fs::copy(file.path(), to)?;
        }
    }
    Ok(())
}

/// Splits a command line as a POSIX shell does.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            '\\' if !is_quoted => word.extend(rest.next()),
            c => word.push(c),
        }
    }
    words.push(word);
    words
}
