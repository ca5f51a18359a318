//! Every operation without naming its type: the table of the contract, and a request put together
//! at run time.
//!
//!     cargo run --example any_operation -- --simulate

mod support;

use imagekiln::{OperationKind, Request, operations};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, _simulator) = support::client().await?;
    for operation in operations() {
        let takes_prompt = operation.field("prompt").is_some();
        let paints = operation.kind == Some(OperationKind::Create) && takes_prompt;
        if !paints || operation.deprecated || !operation.path_parameters.is_empty() {
            continue;
        }
        let mut request =
            Request::new(operation).field("prompt", "a red fox in the snow").field("seed", 7);
        if operation.field("output_format").is_some() {
            request = request.field("output_format", "webp");
        }
        if request.validate().is_err() {
            continue; // needs more than a prompt
        }
        let picture = client.submit(request).await?.wait().await?;
        println!("{operation}: {} bytes", picture.bytes().await?.len());
    }
    Ok(())
}
