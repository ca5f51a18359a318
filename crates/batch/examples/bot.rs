//! A chat bot that makes pictures. Each user can spend a number of credits, and has one picture in
//! progress. Instead of a chat network, the bot has lines `user: prompt` in its standard input, and
//! prints lines `user: response`. The response to `user: !spent` is what the user has spent.
//!
//!     cargo run --package imagekiln-batch --example bot
//!
//! Set IMAGEKILN_API_KEY, IMAGEKILN_BASE_URL and CREDITS_PER_USER. Run it again after a crash: it
//! saves the pictures that are paid for. If a response was lost, its user waits until a person has
//! looked at the usage of the service, and runs `bot SUBMISSION TASK`, or `none` if it has no task.

use std::{env, time::Duration};

use imagekiln::{
    Client, ClientBuilder, SubmitOptions, Task, Unfinished, journal::Origin, types::Gen2Pro,
};
use imagekiln_batch::{ErrorKind, Ledger, Scope};
use tokio::io::{self, AsyncBufReadExt as _, BufReader};
use tokio::{sync::Mutex, time};

type Error = Box<dyn std::error::Error + Send + Sync>;
/// Held during a submission, because the ledger knows no price before the first response.
static TURN: Mutex<()> = Mutex::const_new(());

#[tokio::main]
async fn main() -> Result<(), Error> {
    let ledger = Ledger::open("bot.db").await?;
    ledger
        .limits()
        .set_budget(Scope::EachGroup, Some(env::var("CREDITS_PER_USER")?.parse()?))
        .await?;
    ledger.limits().set_max_active(Scope::EachGroup, Some(1)).await?;
    let client = ClientBuilder::from_env()?.journal(ledger.clone()).build()?;
    let decided = env::args().nth(1).zip(env::args().nth(2));
    for unfinished in client.resume().await? {
        let (task, record) = match (unfinished, &decided) {
            (Unfinished::Task(task, record), _) => (task, record),
            (Unfinished::Unknown(record), Some((id, task))) if record.intent().id() == id => {
                if task == "none" {
                    client.dismiss(&record).await?;
                    continue;
                }
                (client.adopt(&record, task).await?, record)
            }
            (unknown, _) => {
                println!("the response was lost: {unknown:?}");
                continue;
            }
        };
        let (client, user) = (client.clone(), record.intent().group().unwrap_or("?").to_owned());
        tokio::spawn(async move { say(&user, save(&client, &task).await) });
    }
    let mut lines = BufReader::new(io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (client, ledger) = (client.clone(), ledger.clone());
        tokio::spawn(async move {
            let (user, text) = line.split_once(": ").unwrap_or((&line, ""));
            say(user, respond(client, ledger, user, text).await);
        });
    }
    // The next process saves the pictures of accepted tasks.
    Ok(client.drain(Duration::from_secs(60)).await.map(drop)?)
}

fn say(user: &str, response: Result<String, Error>) {
    println!("{user}: {}", response.unwrap_or_else(|error| format!("no picture: {error}")));
}

async fn respond(client: Client, ledger: Ledger, user: &str, text: &str) -> Result<String, Error> {
    if text == "!spent" {
        let rows = ledger.reports().spending().await?.into_iter();
        let own = rows.filter(|row| row.group.as_deref() == Some(user));
        let spent = own.fold(0.0, |spent, row| spent + row.credits + row.estimated);
        return Ok(format!("you have spent {spent:.2} credits"));
    }
    let turn = TURN.lock().await;
    let options = SubmitOptions::default().origin(Origin::new(text).group(user));
    let submitted = client.submit_with(Gen2Pro::new(text), options).await;
    drop(turn);
    let task = submitted.map_err(|error| reason(&error))?;
    say(user, Ok("your picture is in progress".into()));
    save(&client, &task).await
}

/// Returns why a request was not accepted, in words for the user.
fn reason(error: &imagekiln::Error) -> String {
    let limit = error.refusal().and_then(|limit| limit.downcast_ref::<imagekiln_batch::Error>());
    match limit.map(|limit| (limit.kind(), limit.limited_scope())) {
        Some((ErrorKind::Budget, Some(Scope::Group(_)))) => "your credits are used up".into(),
        Some((ErrorKind::Budget, _)) => "the credits of the bot are used up".into(),
        Some((ErrorKind::ActiveTasks, _)) => "your last picture is not finished".into(),
        _ => error.to_string(),
    }
}

/// Saves a picture that is paid for. Tries again until the task has failed.
async fn save(client: &Client, task: &Task) -> Result<String, Error> {
    let is_it = |open: &Unfinished| matches!(open, Unfinished::Task(it, _) if it.id() == task.id());
    loop {
        let saved = async { task.wait().await?.save_in(".").await }.await;
        match (saved, client.resume().await) {
            (Ok(saved), _) => return Ok(saved.path.display().to_string()),
            (Err(error), Ok(open)) if !open.iter().any(is_it) => return Err(error.into()),
            _ => time::sleep(Duration::from_secs(1)).await,
        }
    }
}
