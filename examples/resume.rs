//! Nothing paid is lost: the task's reference is kept on disk, and another run (here: another client) takes it up again.
//!
//!     cargo run --example resume -- --simulate

mod support;

use std::{fs, time::Duration};

use imagekiln::{ErrorKind, TaskRef, WaitOptions, types::Gen2Pro};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, _simulator) = support::client().await?;
    let kept = std::env::temp_dir().join("imagekiln-task.json");

    let task = client.submit(Gen2Pro::new("a red fox in the snow").seed(7)).await?;
    fs::write(&kept, serde_json::to_vec(task.reference())?)?;
    // Too short a wait. The error says that the task goes on, and carries its reference too.
    match task.wait_with(WaitOptions::default().deadline(Duration::from_millis(50))).await {
        Err(error) if error.kind() == ErrorKind::Deadline => println!("{error}"),
        other => println!("sooner than expected: {}", other?.task().id()),
    }
    drop(task);

    let reference: TaskRef = serde_json::from_slice(&fs::read(&kept)?)?;
    let picture = client.task(reference).wait().await?;
    let saved = picture.save(std::env::temp_dir().join("fox-resumed.jpg")).await?;
    println!("{} ({} bytes)", saved.path.display(), saved.bytes);
    fs::remove_file(kept)?;
    Ok(())
}
