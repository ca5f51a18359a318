//! The files of this machine: their directories, secrets, and the targets of pictures.

pub mod directory;
pub mod secret_file;
pub mod target;
