//! A hundred foxes. Run it again to continue.

use std::{collections::HashSet, path::PathBuf};

use imagekiln::{
    ClientBuilder, Error, Task, Unfinished,
    journal::{Directory, Origin, State},
    types::Gen2Pro,
};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let journal = Directory::open_keeping("foxes-journal", 1000)?;
    let client = ClientBuilder::from_env()?.max_active(24).journal(journal.clone()).build()?;
    std::fs::create_dir_all("foxes")?;
    let mut saving = JoinSet::new();

    // What the last run submitted and did not save.
    for unfinished in client.resume().await? {
        match unfinished {
            Unfinished::Task(task, record) => {
                saving.spawn(save(task, record.intent().label().unwrap_or("fox.jpg").to_owned()));
            }
            unknown => eprintln!("check the service's usage: {unknown:?}"),
        }
    }
    // What any run submitted. A person dismisses what was not billed.
    let records = Directory::list(journal.path())?.into_iter().map(|listed| listed.record);
    let submitted =
        records.filter(|record| record.task().is_some() || *record.state() == State::Unknown);
    let submitted: HashSet<String> =
        submitted.filter_map(|record| record.intent().label().map(str::to_owned)).collect();

    for seed in 1..=100 {
        let name = format!("fox-{seed}.jpg");
        if submitted.contains(&name) {
            continue;
        }
        let request = Gen2Pro::new("a red fox in the snow").seed(seed).width(64).height(64);
        // Waits for a free slot.
        match client.submit_for(request, Origin::new(&name)).await {
            Ok(task) => drop(saving.spawn(save(task, name))),
            Err(error) if error.may_have_been_billed() => eprintln!("{name}: {error}"),
            Err(error) => return Err(error.into()),
        }
    }
    while let Some(saved) = saving.join_next().await {
        if let Err(error) = saved.expect("saving does not panic") {
            eprintln!("{error}");
        }
    }
    Ok(())
}

async fn save(task: Task, name: String) -> Result<(), Error> {
    let saved = task.wait().await?.save(PathBuf::from("foxes").join(name)).await?;
    let credits = task.cost().map_or("unknown".to_owned(), |credits| credits.to_string());
    println!("{} for {credits} credits", saved.path.display());
    Ok(())
}
