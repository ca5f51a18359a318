//! What cleaners, backups and people do to the files of a journal.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, ensure};
use fastrand::Rng;
use imagekiln::journal::Directory;
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::Value;
use tokio::time::sleep;

use crate::{program::name_of, world::World};

/// How a file is damaged.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Removed,
    Shortened,
    Zeroed,
    Directory,
    Pipe,
}

/// Half of what is damaged is still a file.
const DAMAGES: [Damage; 6] = [
    Damage::Removed,
    Damage::Shortened,
    Damage::Shortened,
    Damage::Zeroed,
    Damage::Directory,
    Damage::Pipe,
];

/// Changes some files of a journal between two runs. What can be lost with them is forgiven.
pub(crate) fn visit(world: &mut World, journal: &Path) -> Result<()> {
    let mut random = world.stream("vandal");
    if !world.has("vandal") || random.u8(0..3) > 0 {
        return Ok(());
    }
    for _ in 0..random.usize(1..4) {
        match random.u8(0..7) {
            0 => restore(world, journal, &mut random)?,
            1 => append(world, journal, &mut random)?,
            2 => protect(world, journal, &mut random)?,
            3 => damage_key(world, journal, &mut random)?,
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
    change(world, &record, Some(text))?;
    world.tell(format!("{} has more bytes", record.display()));
    Ok(())
}

/// Makes a record read-only, until a person sees it.
fn protect(world: &mut World, journal: &Path, random: &mut Rng) -> Result<()> {
    let Some(record) = any(records(journal)?, random) else { return Ok(()) };
    world.tell(format!("{} is read-only", record.display()));
    world.machine.protect(record);
    Ok(())
}

/// Damages a record. Its picture may be lost, and paid for again if it has no key.
fn damage(world: &mut World, journal: &Path, random: &mut Rng) -> Result<()> {
    let Some(record) = any(records(journal)?, random) else { return Ok(()) };
    let name = record.file_name().unwrap_or_default();
    if ["open", "closed/0"].iter().all(|folder| journal.join(folder).join(name).exists()) {
        // If one of two files is a pipe, the record is readable, and cannot be changed.
        return Ok(());
    }
    let number = record.file_stem().and_then(|name| name.to_str()?.parse().ok());
    let found = number.map(|number| Directory::find(journal, number)).transpose()?.flatten();
    let listed = found.and_then(Result::ok);
    let name = listed.as_ref().and_then(|listed| Some(name_of(&listed.record)?.to_owned()));
    world.forgiven.extend(name.clone());
    if listed.is_none_or(|listed| listed.record.intent().key().is_none()) {
        world.unguarded.extend(name.clone());
    }
    replace(world, &record, name.as_deref(), random)
}

/// Damages the file of a key. Its picture may be lost, and paid for again if the file is gone.
fn damage_key(world: &mut World, journal: &Path, random: &mut Rng) -> Result<()> {
    let Some(key) = any(files(&journal.join("keys"))?, random) else { return Ok(()) };
    let content: Value = serde_json::from_slice(&fs::read(&key)?).unwrap_or_default();
    let Some(name) = content["key"]["name"].as_str() else { return Ok(()) };
    world.forgiven.insert(name.to_owned());
    replace(world, &key, Some(name), random)?;
    if !key.exists() {
        world.unguarded.insert(name.to_owned());
    }
    Ok(())
}

fn replace(world: &mut World, file: &Path, name: Option<&str>, random: &mut Rng) -> Result<()> {
    let damage = DAMAGES[random.usize(0..DAMAGES.len())];
    world.tell(format!("{} of {name:?} is damaged: {damage:?}", file.display()));
    let mut text = fs::read(file)?;
    let at = random.usize(0..text.len().max(1));
    let damaged = match damage {
        Damage::Shortened => {
            text.truncate(at);
            Some(text)
        }
        Damage::Zeroed => {
            let end = text.len().min(at + 512);
            text[at.min(end)..end].fill(0);
            Some(text)
        }
        Damage::Removed | Damage::Directory | Damage::Pipe => None,
    };
    change(world, file, damaged)?;
    match damage {
        Damage::Directory => fs::create_dir(file)?,
        // Not with a program: for a moment, it would have the locks of all histories.
        Damage::Pipe => mkfifoat(CWD, file, Mode::RUSR | Mode::WUSR)?,
        _ => {}
    }
    Ok(())
}

/// A person puts a file away that is not understood.
pub(crate) fn put_away(world: &mut World, file: &Path) -> Result<()> {
    ensure!(!world.forgiven.is_empty(), "nobody damaged {}", file.display());
    world.tell(format!("a person put {} away", file.display()));
    if file.is_dir() {
        return Ok(fs::remove_dir(file)?);
    }
    change(world, file, None)
}

/// Changes a file, whose bytes must be kept from then on.
fn change(world: &mut World, file: &Path, text: Option<Vec<u8>>) -> Result<()> {
    if file.is_file() {
        let before = fs::read(file)?;
        world.damaged.retain(|damaged| *damaged != before);
        world.damaged.extend(text.clone().filter(|text| *text != before));
    }
    Ok(world.machine.tamper(file, text)?)
}

/// Fails if a journal has overwritten bytes that it did not understand.
pub(crate) fn expect_kept(world: &World, journal: &Path) -> Result<()> {
    let folders = ["open", "closed/0", "damaged", "keys"].map(|folder| journal.join(folder));
    let files = folders.iter().map(|folder| files(folder)).collect::<io::Result<Vec<_>>>()?;
    let kept = files.concat().iter().map(fs::read).collect::<io::Result<Vec<_>>>()?;
    let is_kept = world.damaged.iter().all(|damaged| kept.contains(damaged));
    ensure!(is_kept, "the journal has overwritten what it did not understand");
    Ok(())
}

/// Removes the locks of processes now and then, while they run. Never returns.
pub(crate) async fn remove_locks(mut random: Rng, locks: PathBuf, away: PathBuf) -> io::Result<()> {
    fs::create_dir_all(&away)?;
    loop {
        sleep(Duration::from_secs_f64(random.f64().powi(3) * 30.0)).await;
        for lock in files(&locks)? {
            // The process may replace or remove it at the same time.
            let _ = fs::rename(&lock, away.join(lock.file_name().unwrap_or_default()));
        }
    }
}

/// Puts the locks back of processes that have ended. Without a lock, they would count as running:
/// all processes of a history have the number of this one.
pub(crate) fn return_locks(locks: &Path, away: &Path) -> io::Result<()> {
    for lock in files(away)? {
        let place = locks.join(lock.file_name().unwrap_or_default());
        if place.exists() { fs::remove_file(lock)? } else { fs::rename(lock, place)? }
    }
    Ok(())
}

/// Gives the owners of open records locks that nobody holds, if they have none, like
/// [`return_locks`]: a crash brings records back that were removed, after the locks of their
/// processes. On a machine, the numbers of these processes are gone.
pub(crate) fn end_owners(journal: &Path) -> Result<()> {
    for record in files(&journal.join("open"))? {
        let text = fs::read(&record)?;
        let text = String::from_utf8_lossy(&text);
        let owner = text.split_once(r#""process":""#).and_then(|(_, rest)| rest.split_once('"'));
        let Some((owner, _)) = owner else { continue };
        let lock = journal.join(format!("processes/{owner}.lock"));
        if !lock.exists() {
            fs::write(lock, "")?;
        }
    }
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
    // One that is being written means nothing.
    let is_new = |path: &PathBuf| path.to_string_lossy().contains("/new-");
    files.retain(|path| path.is_file() && !is_new(path));
    files.sort();
    Ok(files)
}

fn any(mut files: Vec<PathBuf>, random: &mut Rng) -> Option<PathBuf> {
    if files.is_empty() { None } else { Some(files.swap_remove(random.usize(0..files.len()))) }
}
