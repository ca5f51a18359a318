//! What cleaners, backups and people do to the files of a journal between two runs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Result;
use fastrand::Rng;
use imagekiln::journal::Directory;

use crate::{program::name_of, world::World};

/// Changes some files of a journal. What can be lost with them is forgiven.
pub(crate) fn visit(world: &mut World, journal: &Path) -> Result<()> {
    let mut random = world.stream("vandal");
    if !world.has("vandal") || random.u8(0..3) > 0 {
        return Ok(());
    }
    for _ in 0..random.usize(1..4) {
        match random.u8(0..4) {
            0 => restore(world, journal, &mut random)?,
            1 => append(world, journal, &mut random)?,
            _ => damage(world, journal, &mut random)?,
        }
    }
    Ok(())
}

/// Puts an open record back that is closed, as a backup does.
fn restore(world: &mut World, journal: &Path, random: &mut Rng) -> Result<()> {
    let Some(open) = any(files(&journal.join("open"))?, random) else { return Ok(()) };
    let closed = journal.join("closed/0");
    fs::create_dir_all(&closed)?;
    let (name, text) = (open.file_name().unwrap_or_default(), fs::read(&open)?);
    if !closed.join(name).exists() {
        world.machine.tamper(&closed.join(name), Some(text))?;
        world.tell(format!("{} has a copy", open.display()));
    }
    Ok(())
}

/// Adds bytes to a record.
fn append(world: &mut World, journal: &Path, random: &mut Rng) -> Result<()> {
    let Some(record) = any(records(journal)?, random) else { return Ok(()) };
    let text = [&fs::read(&record)?[..], b"\0{}\n"].concat();
    world.machine.tamper(&record, Some(text))?;
    world.tell(format!("{} has more bytes", record.display()));
    Ok(())
}

/// Removes a record, shortens it, or overwrites a part of it. Its picture may be lost.
fn damage(world: &mut World, journal: &Path, random: &mut Rng) -> Result<()> {
    let Some(record) = any(records(journal)?, random) else { return Ok(()) };
    let number = record.file_stem().and_then(|name| name.to_str()?.parse().ok());
    let found = number.map(|number| Directory::find(journal, number)).transpose()?.flatten();
    let listed = found.and_then(Result::ok);
    let label = listed.and_then(|listed| Some(name_of(&listed.record)?.to_owned()));
    world.forgiven.extend(label.clone());
    let mut text = fs::read(&record)?;
    let at = random.usize(0..text.len().max(1));
    let damaged = match random.u8(0..3) {
        0 => None,
        1 => {
            text.truncate(at);
            Some(text)
        }
        _ => {
            let end = text.len().min(at + 512);
            text[at.min(end)..end].fill(0);
            Some(text)
        }
    };
    world.tell(format!("{} of {label:?} is damaged", record.display()));
    world.machine.tamper(&record, damaged)?;
    Ok(())
}

fn records(journal: &Path) -> io::Result<Vec<PathBuf>> {
    Ok([files(&journal.join("open"))?, files(&journal.join("closed/0"))?].concat())
}

/// Returns the files in a directory, which may not exist, in the order of their names.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory)?.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

fn any(mut files: Vec<PathBuf>, random: &mut Rng) -> Option<PathBuf> {
    if files.is_empty() { None } else { Some(files.swap_remove(random.usize(0..files.len()))) }
}
