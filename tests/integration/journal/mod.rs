//! The journal: submissions are recorded first, so that no billed task is lost with its process.

mod controlled_journal;
mod damage;
mod directory;
mod keys;
mod killed;
mod order;
mod resuming;
mod table;
