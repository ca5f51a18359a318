//! A journal: nothing that was paid is lost with the process. The next run (here: another client)
//! resumes the task.
//!
//!     cargo run --example resume -- --simulate

mod support;

use std::env;

use imagekiln::{Unfinished, journal::Directory, types::Gen2Pro};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (builder, _simulator) = support::builder().await?;
    let path = env::temp_dir().join("imagekiln-submissions");

    let client = builder.clone().journal(Directory::open(&path)?).build()?;
    let request = Gen2Pro::new("a red fox in the snow").seed(7);
    let task = client.submit_for(request, "fox-7").await?;
    println!("submitted {}", task.id());
    // The first run ends here, before the picture is ready.
    drop((task, client));

    let client = builder.journal(Directory::open(&path)?).build()?;
    for unfinished in client.resume().await? {
        match unfinished {
            Unfinished::Task(task, record) => {
                let name = record.intent().label().unwrap_or("fox").to_owned();
                let target = env::temp_dir().join(format!("{name}.jpg"));
                let saved = task.wait().await?.save(target).await?;
                println!("resumed {name}: {} ({} bytes)", saved.path.display(), saved.bytes);
            }
            other => println!("check the service's usage: {other:?}"),
        }
    }
    assert!(client.resume().await?.is_empty(), "a picture that is saved is not resumed");
    Ok(())
}
