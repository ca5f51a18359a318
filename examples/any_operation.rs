//! Every operation without naming its type: the table of the contract, and a request put together
//! at run time.
//!
//!     cargo run --example any_operation -- --simulate

mod support;

use imagekiln::{Request, operations};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, _simulator) = support::client().await?;
    for operation in
        operations().iter().filter(|operation| operation.submits && !operation.deprecated)
    {
        if !operation.fields.iter().any(|field| field.name == "prompt")
            || !operation.path_parameters.is_empty()
        {
            continue;
        }
        let mut request =
            Request::new(operation).field("prompt", "a red fox in the snow").field("seed", 7);
        if operation.field("image").is_some() {
            continue; // works on a picture, which this example does not have
        }
        if operation.field("output_format").is_some() {
            request = request.field("output_format", "webp");
        }
        let picture = client.submit(request).await?.wait().await?;
        println!("{operation}: {} bytes", picture.bytes().await?.len());
    }
    Ok(())
}
