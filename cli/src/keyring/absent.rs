//! A build without a keyring.

use super::Problem;
use crate::output::Output;

/// Never exists.
pub enum Keyring {}

impl Keyring {
    pub async fn open() -> Result<Self, Problem> {
        Err(Problem::NotBuilt)
    }

    pub async fn unlock(&self, _: &Output) -> Result<(), Problem> {
        match *self {}
    }

    pub async fn put(&self, _: &str, _: &str) -> Result<(), Problem> {
        match *self {}
    }

    pub async fn get(&self, _: &str, _: &Output) -> Result<String, Problem> {
        match *self {}
    }

    pub async fn delete(&self, _: &str, _: &Output) -> Result<(), Problem> {
        match *self {}
    }
}
