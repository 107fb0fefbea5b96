//! Stores a key, reads all of it and a part of it, lists it and deletes it.
//!
//! ```text
//! make run                                   # in another terminal; prints the path for clients
//! cargo run --release --example put_get -- data/ozone-site.xml
//! ```

use std::error::Error;

use bytes::Bytes;
use client::{BucketSpec, Client, CreateKey, ErrorKind, KeyPath};
use config::Configuration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Some(file) = std::env::args_os().nth(1) else {
        return Err("usage: put_get <ozone-site.xml of the cluster>".into());
    };
    let conf = Configuration::builder().file(&file)?.build()?;
    let client = Client::connect(&conf)?;

    exists(client.create_volume("example", None, -1, -1).await)?;
    exists(client.create_bucket("example", "bucket", BucketSpec::default()).await)?;

    let path = KeyPath::new("example", "bucket", "greetings/hello");
    // Small keys are written by one call. `create_key` returns a writer for a stream of bytes.
    let put = client.put_key(CreateKey::new(path.clone()), Bytes::from("Hello, world")).await?;
    println!("stored {} bytes", put.data_size);

    let reader = client.open_key(&path).await?;
    println!("all of it: {:?}", reader.read_all().await?);
    println!("bytes 7 to 11: {:?}", reader.read(7..12).await?);

    // Programs branch on the kind of an error, not on its text.
    client.delete_key(&path).await?;
    match client.open_key(&path).await {
        Err(error) if error.kind() == ErrorKind::NotFound => println!("deleted"),
        other => return Err(format!("still there after its deletion: {:?}", other.err()).into()),
    }
    Ok(())
}

/// Accepts the error that a volume or bucket already exists.
fn exists<T>(created: Result<T, client::Error>) -> Result<(), client::Error> {
    match created {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
