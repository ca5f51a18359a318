//! A hundred foxes. Run it again to continue.

use std::path::Path;

use imagekiln::{
    Billing, Client, ClientBuilder, Error, ErrorKind, Once,
    journal::{Directory, Key},
    types::Gen2Pro,
};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let journal = Directory::open("foxes-journal")?;
    let client = ClientBuilder::from_env()?.max_active(24).journal(journal).build()?;
    std::fs::create_dir_all("foxes")?;
    let mut making: JoinSet<_> = (1..=100).map(|seed| make(client.clone(), seed)).collect();
    while let Some(made) = making.join_next().await {
        if let Err(error) = made? {
            eprintln!("{error}");
        }
    }
    Ok(())
}

async fn make(client: Client, seed: i64) -> Result<(), Error> {
    let name = format!("fox-{seed}.jpg");
    let request = Gen2Pro::new("a red fox in the snow").seed(seed).width(64).height(64);
    let once = match client.submit_once(&name, request.clone()).await {
        // A person has dismissed the lost submission as not billed: pay for a second attempt.
        Err(error)
            if error.kind() == ErrorKind::Undecided && error.billing() != Billing::Unknown =>
        {
            client.submit_once(Key::new(&name).attempt(2), request).await?
        }
        once => once?,
    };
    let Once::Task(task) = once else { return Ok(()) };
    let saved = task.wait().await?.save(Path::new("foxes").join(name)).await?;
    let credits = task.cost().map_or("unknown".to_owned(), |credits| credits.to_string());
    println!("{} for {credits} credits", saved.path.display());
    Ok(())
}
