//! The short way: submit, wait, save.
//!
//!     cargo run --example generate -- --simulate

mod support;

use imagekiln::types::Gen2Pro;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, _simulator) = support::client().await?;
    let request =
        Gen2Pro::new("a red fox in the snow").width(1024).height(768).seed(7).output_format("png");
    let task = client.submit(request).await?; // the POST happens here, and only here
    if let Some(credits) = task.cost() {
        println!("{} costs {credits} credits", task.id());
    }
    let saved = task.wait().await?.save(std::env::temp_dir().join("fox.png")).await?;
    println!("{} ({} bytes)", saved.path.display(), saved.bytes);
    Ok(())
}
