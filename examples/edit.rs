//! Editing: a picture goes in as bytes, the task's updates are shown, and the result is fetched
//! into memory.
//!
//!     cargo run --example edit -- --simulate

mod support;

use futures_util::TryStreamExt;
use imagekiln::{ImageInput, WaitOptions, types::Gen2Pro};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, _simulator) = support::client().await?;
    let first = client
        .submit(Gen2Pro::new("a red fox in the snow").seed(7))
        .await?
        .wait()
        .await?
        .bytes()
        .await?;

    // A file would be `ImageInput::path("fox.jpg")`, read as it is sent; an address
    // `ImageInput::url("https://...")`.
    let request =
        Gen2Pro::new("the same fox at night").input_image(ImageInput::bytes(first)).seed(8);
    let task = client.submit(request).await?;
    let mut updates = task.updates(WaitOptions::default());
    while let Some(update) = updates.try_next().await? {
        println!("{}", update.status());
    }
    // The last status may be a failure, which `wait` returns with the task.
    println!("{} bytes", task.wait().await?.bytes().await?.len());
    Ok(())
}
