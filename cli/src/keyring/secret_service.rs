//! Keyrings that implement the Secret Service, such as those of GNOME and KDE, on the session bus.

use std::{collections::HashMap, future::Future, time::Duration};

use secret_service::{Collection, EncryptionType, Error, Item, SecretService};
use tokio::time::timeout;

use super::{ANSWER_SECONDS, Problem, label};
use crate::output::Output;

/// How long the user may take to unlock the keyring.
const UNLOCK_SECONDS: u64 = 60;

/// A connection to the keyring. Secrets are encrypted on the bus.
pub struct Keyring(SecretService<'static>);

impl Keyring {
    /// Connects to the keyring, which may be locked.
    pub async fn open() -> Result<Self, Problem> {
        let service = answer(SecretService::connect(EncryptionType::Dh)).await;
        service.map(Self).map_err(|problem| match problem {
            Problem::Failed(cause) => Problem::Unreachable(cause),
            silent => Problem::Unreachable(silent.to_string()),
        })
    }

    /// Unlocks the default keyring, for which it may ask the user.
    pub async fn unlock(&self, output: &Output) -> Result<(), Problem> {
        let keyring = self.default().await?;
        if answer(keyring.is_locked()).await? {
            unlock(keyring.unlock(), output).await
        } else {
            Ok(())
        }
    }

    /// Stores the key of a profile in the default keyring, and replaces the one that it contains.
    pub async fn put(&self, profile: &str, key: &str) -> Result<(), Problem> {
        let keyring = self.default().await?;
        let (label, names) = (label(profile), attributes(profile));
        let stored = keyring.create_item(&label, names, key.as_bytes(), true, "text/plain");
        answer(stored).await.map(drop)
    }

    /// Reads the key of a profile. A locked keyring may ask the user.
    pub async fn get(&self, profile: &str, output: &Output) -> Result<String, Problem> {
        let mut items = self.items(profile).await?;
        if items.is_empty() {
            return Err(Problem::NoEntry);
        }
        let item = items.swap_remove(0);
        unlock_item(&item, output).await?;
        let secret = answer(item.get_secret()).await?;
        // The error would quote the key.
        String::from_utf8(secret).map_err(|_| Problem::Failed("the key is not UTF-8".to_owned()))
    }

    /// Deletes the key of a profile, if there is one. A locked keyring may ask the user.
    pub async fn delete(&self, profile: &str, output: &Output) -> Result<(), Problem> {
        for item in self.items(profile).await? {
            unlock_item(&item, output).await?;
            answer(item.delete()).await?;
        }
        Ok(())
    }

    async fn default(&self) -> Result<Collection<'_>, Problem> {
        answer(self.0.get_default_collection()).await.map_err(|problem| match problem {
            Problem::NoEntry => Problem::NoDefault,
            other => other,
        })
    }

    /// The entries of a profile, first those that are not locked.
    async fn items(&self, profile: &str) -> Result<Vec<Item<'_>>, Problem> {
        let found = answer(self.0.search_items(attributes(profile))).await?;
        Ok(found.unlocked.into_iter().chain(found.locked).collect())
    }
}

/// The attributes that identify an entry. Programs that manage keyrings show these names.
fn attributes(profile: &str) -> HashMap<&str, &str> {
    HashMap::from([("service", "kiln"), ("account", profile)])
}

async fn unlock_item(item: &Item<'_>, output: &Output) -> Result<(), Problem> {
    if answer(item.is_locked()).await? { unlock(item.unlock(), output).await } else { Ok(()) }
}

/// Waits until the user has unlocked a keyring.
async fn unlock(
    unlocking: impl Future<Output = Result<(), Error>>,
    output: &Output,
) -> Result<(), Problem> {
    output.note(&format!("waiting up to {UNLOCK_SECONDS} seconds for the keyring to be unlocked"));
    match timeout(Duration::from_secs(UNLOCK_SECONDS), unlocking).await {
        Ok(Err(Error::Prompt)) | Err(_) => Err(Problem::Locked),
        Ok(unlocked) => unlocked.map_err(failed),
    }
}

async fn answer<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, Problem> {
    match timeout(Duration::from_secs(ANSWER_SECONDS), request).await {
        Ok(answered) => answered.map_err(failed),
        Err(_) => Err(Problem::Silent),
    }
}

fn failed(error: Error) -> Problem {
    match error {
        Error::Locked => Problem::Locked,
        Error::NoResult => Problem::NoEntry,
        Error::Zbus(error) => Problem::Failed(error.to_string()),
        Error::ZbusFdo(error) => Problem::Failed(error.to_string()),
        other => Problem::Failed(other.to_string()),
    }
}
