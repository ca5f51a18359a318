//! A sheet of a thousand jobs in a directory with their pictures.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use image::{ImageFormat, Rgb, RgbImage};
use imagekiln_cli::fuzzing::{Item, Kind, Page, Preview, embed, relative_url};
use imagekiln_testbed::{
    Requirement, Runtime, Trial,
    browser::{BROWSER, Browser},
    name_of,
    picture::encoded,
};

pub const JOBS: usize = 1000;

/// 2026-11-01 at noon in UTC, in seconds.
pub const FIRST_DAY: u64 = 1_793_534_400;

/// The job whose texts contain markup.
pub const HOSTILE_JOB: usize = 10;
/// Saved, but its file is damaged.
pub const DAMAGED_JOB: usize = 20;
/// Saved, but its file is a video.
pub const VIDEO_JOB: usize = 21;
/// Saved, but its file does not exist.
pub const LOST_JOB: usize = 22;

pub const HOSTILE: &str = concat!(
    r#""><img src=x onerror="window.caught = 1"><script>alert(1)</script>"#,
    "<b>bold</b>&amp;\u{2028}{{title}}",
);

/// Written by the first test that needs it.
pub type Shared = Arc<LazyLock<Fixture>>;

pub struct Fixture {
    directory: tempfile::TempDir,
    /// The jobs of the sheet, without pictures.
    pub entries: Vec<Item>,
}

impl Fixture {
    pub fn write() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("pictures")).unwrap();
        let pictures: Vec<_> = (0..40).map(picture).collect();
        let file = BufWriter::new(File::create(directory.path().join("sheet.html")).unwrap());
        let titles = (HOSTILE, "2026-11-22 15:00 UTC");
        let mut sheet = Page::begin(file, Kind::Sheet, titles, &[]).unwrap();
        let entries: Vec<_> = (0..JOBS).map(entry).collect();
        for (number, entry) in entries.iter().enumerate() {
            let mut item = entry.clone();
            if entry.link.is_some() && number != LOST_JOB {
                let bytes = match number {
                    DAMAGED_JOB => b"\x89PNG\r\n\x1a\n".to_vec(),
                    VIDEO_JOB => b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom".to_vec(),
                    _ => pictures[number % pictures.len()].clone(),
                };
                fs::write(directory.path().join(file_of(number)), &bytes).unwrap();
                embed(&mut item, Preview::of(&bytes));
            }
            sheet.add(&item).unwrap();
        }
        sheet.finish().unwrap();
        Self { directory, entries }
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.path("sheet.html"))
    }

    /// The URL of the directory.
    pub fn base(&self) -> String {
        format!("file://{}", self.path(""))
    }

    /// The file of a job's picture.
    pub fn file(&self, number: usize) -> PathBuf {
        self.directory.path().join(file_of(number))
    }

    fn path(&self, name: impl AsRef<Path>) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn count(&self, condition: impl Fn(&Item) -> bool) -> usize {
        self.entries.iter().filter(|entry| condition(entry)).count()
    }
}

/// Creates a test from a scene with the open sheet.
pub fn test<S>(fixture: &Shared, scene: S) -> Trial
where
    S: AsyncFnOnce(&Browser, &Fixture) + Send + 'static,
{
    test_with(&[BROWSER], fixture, scene)
}

pub fn test_with<S>(needs: &'static [Requirement], fixture: &Shared, scene: S) -> Trial
where
    S: AsyncFnOnce(&Browser, &Fixture) + Send + 'static,
{
    let (name, fixture) = (name_of(&scene), Arc::clone(fixture));
    imagekiln_testbed::test(name, needs, Runtime::CurrentThread, async move || {
        Browser::with_reused(async |browser| {
            browser.open(&fixture.url()).await;
            scene(browser, &fixture).await;
        })
        .await;
    })
}

/// A name that is not a valid URL, and looks like one with a scheme.
fn file_of(number: usize) -> String {
    format!("pictures/job: {number}#?%.jpg")
}

fn entry(number: usize) -> Item {
    let state = match number {
        500 => "unknown",
        501 => "expired",
        502 => "queued",
        number if number % 25 == 7 => "failed",
        number if number % 40 == 3 => "moderated",
        _ => "saved",
    };
    let model = ["gen-2-pro", "gen-kontext-max", "gen-pro-1.1-ultra"][number % 7 % 3];
    let mut entry = Item::new(format!("job-{number}"), model, state);
    let animal = ["fox", "owl", "hare", "lynx", "heron"][number / 25 % 5];
    entry.prompt = Some(format!("number {number}: a {animal} in the snow"));
    entry.credits = (state == "saved").then_some((number % 3 + 1) as f64);
    entry.is_without_cost = !["saved", "queued"].contains(&state);
    // A day has a hundred jobs.
    entry.time = Some(FIRST_DAY + (number / 100 * 86_400) as u64);
    entry.group = Some((format!("{}", number / 4), format!("the command {}", number / 4)));
    entry.fact("model", model);
    entry.fact("seed", number);
    if let Some(credits) = entry.credits {
        entry.fact("cost", format!("{credits:.2} credits"));
    }
    if state != "queued" {
        entry.fact("id", format!("task-{number}"));
    }
    entry.reason = match state {
        "failed" => Some(format!("the service refused job {number}")),
        "moderated" => Some("Content Moderated".to_owned()),
        _ => None,
    };
    if state == "saved" {
        entry.note = Some("the file was not found".to_owned());
        entry.link = relative_url(Path::new(&file_of(number)), Path::new(""));
        entry.argument = Some(format!("'pictures/{number}'"));
    }
    if number == HOSTILE_JOB {
        entry.name = HOSTILE.to_owned();
        entry.prompt = Some(HOSTILE.to_owned());
        entry.reason = Some(HOSTILE.to_owned());
        entry.fact(HOSTILE, HOSTILE);
    }
    entry
}

/// A picture whose size, format and colours follow from its number. One in ten is larger than a
/// thumbnail.
fn picture(number: u32) -> Vec<u8> {
    let scale = if number % 10 == 2 { 3 } else { 1 };
    let (width, height) = (90 + number * 13 % 150, 90 + number * 29 % 120);
    let (width, height) = (width * scale, height * scale);
    let format = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP][number as usize % 3];
    let colour = |x: u32, y: u32| Rgb([(x / 2) as u8, (y / 2) as u8, (number * 6) as u8]);
    encoded(RgbImage::from_fn(width, height, colour), format)
}
