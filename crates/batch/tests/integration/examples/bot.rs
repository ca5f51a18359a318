//! The bot: what its users spend, and what is left after it was killed.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    thread,
    time::Duration,
};

use imagekiln::{Unfinished, journal::Journal as _};
use imagekiln_batch::Ledger;
use imagekiln_testbed::{Runtime, Trial, name_of, test};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time,
};

use super::{FAULTS, Process, command, fixture, path_of};
use crate::support::{Backend, Fixture, assert_equal, is_picture, open};

pub fn tests() -> Vec<Trial> {
    vec![
        threads(a_user_spends_the_limit),
        threads(users_do_not_wait_for_others),
        threads(a_killed_bot_saves_the_picture),
        threads(a_person_finds_a_lost_task),
        threads(pictures_survive_kills),
    ]
}

/// Creates a test on several threads.
fn threads<F>(run: impl Fn() -> F + Copy + Send + 'static) -> Trial
where
    F: Future<Output = ()>,
{
    test(name_of(&run), &[], Runtime::MultiThread, async move || run().await)
}

/// The credits of two pictures, and a part of the third one.
const CREDITS: &str = "9";
const PRICE: f64 = 4.0;

struct Bot {
    process: Process,
    lines: UnboundedReceiver<String>,
}

impl Bot {
    fn start(fixture: &Fixture, credits: &str, arguments: &[&str]) -> Self {
        let mut command = command("bot", fixture);
        let mut process = Process::start(command.env("CREDITS_PER_USER", credits).args(arguments));
        let output = BufReader::new(process.0.stdout.take().unwrap());
        let (sender, lines) = unbounded_channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { process, lines }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.process.0.stdin.as_ref().unwrap(), "{line}").unwrap();
    }

    /// Waits for a line with this start, and returns the rest of it.
    async fn until(&mut self, start: &str) -> String {
        let read = async {
            loop {
                let line = self.lines.recv().await.expect("the bot has ended");
                if let Some(rest) = line.strip_prefix(start) {
                    return rest.to_owned();
                }
            }
        };
        time::timeout(Duration::from_secs(60), read).await.expect(start)
    }

    /// Closes the standard input, and waits until the bot has ended.
    fn end(mut self) {
        drop(self.process.0.stdin.take());
        assert!(self.process.0.wait().unwrap().success());
    }
}

/// Returns the number of pictures in the directory of the bot.
fn pictures(fixture: &Fixture) -> u64 {
    let files = fs::read_dir(fixture.directory.path()).unwrap();
    files.filter(|file| is_picture(file.as_ref().unwrap().path())).count() as u64
}

async fn ledger(fixture: &Fixture) -> Ledger {
    open(&path_of(fixture, "bot.db")).await
}

async fn a_user_spends_the_limit() {
    let fixture = fixture(Backend::Sqlite, Duration::from_millis(50)).await;
    let mut bot = Bot::start(&fixture, CREDITS, &[]);
    for _ in 0..2 {
        bot.write("anna: a fox");
        bot.until("anna: ./gen-2-pro-").await;
    }
    bot.write("anna: !spent");
    assert_eq!(bot.until("anna: ").await, "you have spent 8.00 credits");
    bot.write("anna: a wolf");
    assert_eq!(bot.until("anna: ").await, "no picture: your credits are used up");
    // The limit is that of each user, and holds in the next process.
    bot.write("ben: a wolf");
    bot.until("ben: ./").await;
    bot.end();
    let mut bot = Bot::start(&fixture, CREDITS, &[]);
    bot.write("anna: a wolf");
    assert_eq!(bot.until("anna: ").await, "no picture: your credits are used up");
    assert_eq!((fixture.accepted(), pictures(&fixture)), (3, 3));
    assert_equal(fixture.charged(), 3.0 * PRICE);
}

async fn users_do_not_wait_for_others() {
    let fixture = fixture(Backend::Sqlite, Duration::from_secs(2)).await;
    let mut bot = Bot::start(&fixture, CREDITS, &[]);
    // The first submissions of a ledger that knows no price.
    for user in ["anna", "ben", "carl"] {
        bot.write(&format!("{user}: a fox"));
    }
    let mut in_progress = Vec::new();
    for _ in 0..3 {
        in_progress.push(bot.lines.recv().await.unwrap());
    }
    assert!(in_progress.iter().all(|line| line.ends_with(": your picture is in progress")));
    bot.write("ben: a wolf");
    assert_eq!(bot.until("ben: ").await, "no picture: your last picture is not finished");
    let mut saved = Vec::new();
    for _ in 0..3 {
        saved.push(bot.lines.recv().await.unwrap());
    }
    assert!(saved.iter().all(|line| line.contains(": ./gen-2-pro-")), "{saved:?}");
    assert_eq!((fixture.accepted(), pictures(&fixture)), (3, 3));
}

async fn a_killed_bot_saves_the_picture() {
    let fixture = fixture(Backend::Sqlite, Duration::from_secs(2)).await;
    let mut bot = Bot::start(&fixture, CREDITS, &[]);
    bot.write("anna: a fox");
    assert_eq!(bot.until("anna: ").await, "your picture is in progress");
    drop(bot);
    assert_eq!(pictures(&fixture), 0);
    let mut bot = Bot::start(&fixture, CREDITS, &[]);
    bot.until("anna: ./gen-2-pro-").await;
    bot.write("anna: !spent");
    assert_eq!(bot.until("anna: ").await, "you have spent 4.00 credits");
    assert_eq!((fixture.accepted(), pictures(&fixture)), (1, 1));
}

async fn a_person_finds_a_lost_task() {
    let fixture = fixture(Backend::Sqlite, Duration::from_millis(50)).await;
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let mut bot = Bot::start(&fixture, CREDITS, &[]);
    bot.write("anna: a fox");
    bot.until("anna: no picture: ").await;
    bot.write("anna: a fox");
    let reason = bot.until("anna: ").await;
    assert_eq!(reason, "no picture: your last picture is not finished");
    drop(bot);
    let mut bot = Bot::start(&fixture, CREDITS, &[]);
    bot.until("the response was lost: ").await;
    drop(bot);
    for (submission, task) in unknown(&fixture).await {
        let mut bot = Bot::start(&fixture, CREDITS, &[&submission, &task]);
        bot.until("anna: ./gen-2-pro-").await;
    }
    assert_eq!((fixture.accepted(), pictures(&fixture)), (1, 1));
}

/// Returns the submissions whose responses were lost, with their tasks or `none`. A person finds
/// them by the prompt and the time.
async fn unknown(fixture: &Fixture) -> Vec<(String, String)> {
    let client = fixture.client().journal(ledger(fixture).await).build().unwrap();
    let unknown = client.resume().await.unwrap().into_iter().filter_map(|unfinished| {
        let Unfinished::Unknown(record) = unfinished else { return None };
        let prompt = record.intent().label().unwrap();
        let task =
            fixture.simulator.tasks().into_iter().find(|task| task.request["prompt"] == prompt);
        let task = task.map_or("none".to_owned(), |task| task.id);
        Some((record.intent().id().to_owned(), task))
    });
    unknown.collect()
}

/// However often the bot is killed, nobody is charged twice, and each paid picture is saved.
async fn pictures_survive_kills() {
    const USERS: usize = 12;
    let fixture = fixture(Backend::Sqlite, Duration::from_millis(100)).await;
    for fault in FAULTS {
        fixture.simulator.faults().add(fault).unwrap();
    }
    let mut bot = Bot::start(&fixture, "1000", &[]);
    for user in 1..=USERS {
        bot.write(&format!("{user}: fox {user}"));
        if user % 3 == 0 {
            bot.until("").await;
            time::sleep(Duration::from_millis(fastrand::u64(..300))).await;
            drop(bot);
            bot = Bot::start(&fixture, "1000", &[]);
        }
    }
    drop(bot);
    fixture.simulator.faults().clear();
    for (submission, task) in unknown(&fixture).await {
        let mut bot = Bot::start(&fixture, "1000", &[&submission, &task]);
        // It responds after it has recorded the decision.
        bot.write("nobody: !spent");
        bot.until("nobody: ").await;
    }
    let mut bot = Bot::start(&fixture, "1000", &[]);
    let file = path_of(&fixture, "bot.db");
    let all_saved = async {
        let ledger = Ledger::open_read_only(file).await.unwrap();
        while !ledger.open_records().await.unwrap().is_empty() {
            time::sleep(Duration::from_millis(50)).await;
        }
    };
    time::timeout(Duration::from_secs(60), all_saved).await.unwrap();
    bot.write("nobody: !spent");
    assert_eq!(bot.until("nobody: ").await, "you have spent 0.00 credits");
    drop(bot);
    assert_eq!(pictures(&fixture), fixture.accepted());
    let mut tasks = BTreeMap::<_, u32>::new();
    for task in fixture.simulator.tasks() {
        *tasks.entry(task.request["prompt"].to_string()).or_default() += 1;
    }
    assert!(tasks.values().all(|count| *count == 1), "{tasks:?}");
    let ledger = ledger(&fixture).await;
    let spending = ledger.reports().spending().await.unwrap();
    let spent = spending.iter().map(|row| row.credits + row.estimated).sum();
    assert_equal(spent, fixture.charged());
}
