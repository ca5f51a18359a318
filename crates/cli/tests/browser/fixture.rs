//! A sheet of a thousand jobs in a directory with their pictures.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use image::{ImageFormat, Rgb, RgbImage};
use imagekiln_batch::JobState;
use imagekiln_cli::fuzzing::{Entry, Sheet};
use imagekiln_testbed::{
    Runtime, Trial,
    browser::{BROWSER, Browser},
    name_of,
    picture::encoded,
};

pub const JOBS: usize = 1000;

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
    pub entries: Vec<Entry>,
}

impl Fixture {
    pub fn write() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("pictures")).unwrap();
        let pictures: Vec<_> = (0..40).map(picture).collect();
        let file = BufWriter::new(File::create(directory.path().join("sheet.html")).unwrap());
        let mut sheet = Sheet::begin(file, HOSTILE, "2026-11-22 15:00 UTC").unwrap();
        let entries: Vec<_> = (0..JOBS).map(entry).collect();
        for (number, entry) in entries.iter().enumerate() {
            let mut entry = entry.clone();
            if let Some(link) = entry.link.as_ref().filter(|_| number != LOST_JOB) {
                let bytes = match number {
                    DAMAGED_JOB => b"\x89PNG\r\n\x1a\n".to_vec(),
                    VIDEO_JOB => b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom".to_vec(),
                    _ => pictures[number % pictures.len()].clone(),
                };
                fs::write(directory.path().join(link), &bytes).unwrap();
                entry.picture = Some(bytes);
            }
            sheet.add(&entry).unwrap();
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
        self.directory.path().join(self.entries[number].link.as_ref().unwrap())
    }

    fn path(&self, name: impl AsRef<Path>) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn count(&self, condition: impl Fn(&Entry) -> bool) -> usize {
        self.entries.iter().filter(|entry| condition(entry)).count()
    }
}

/// Creates a test from a scene with the open sheet.
pub fn test<S>(fixture: &Shared, scene: S) -> Trial
where
    S: AsyncFnOnce(&Browser, &Fixture) + Send + 'static,
{
    let (name, fixture) = (name_of(&scene), Arc::clone(fixture));
    imagekiln_testbed::test(name, &[BROWSER], Runtime::CurrentThread, async move || {
        Browser::with(async |browser| {
            browser.open(&fixture.url()).await;
            scene(browser, &fixture).await;
        })
        .await;
    })
}

fn entry(number: usize) -> Entry {
    let state = match number {
        500 => JobState::Unknown,
        501 => JobState::Expired,
        502 => JobState::Queued,
        number if number % 25 == 7 => JobState::Failed,
        number if number % 40 == 3 => JobState::Moderated,
        _ => JobState::Saved,
    };
    let model = ["gen-2-pro", "gen-kontext-max", "gen-pro-1.1-ultra"][number % 7 % 3];
    let mut entry = Entry::new(format!("job-{number}"), model, state);
    let animal = ["fox", "owl", "hare", "lynx", "heron"][number / 25 % 5];
    entry.prompt = Some(format!("number {number}: a {animal} in the snow"));
    entry.seed = Some(number as i64);
    entry.credits = (state == JobState::Saved).then_some((number % 3 + 1) as f64);
    entry.task_id = (state != JobState::Queued).then(|| format!("task-{number}"));
    entry.reason = match state {
        JobState::Failed => Some(format!("the service refused job {number}")),
        JobState::Moderated => Some("Content Moderated".to_owned()),
        _ => None,
    };
    // A name that is not a valid URL, and looks like one with a scheme.
    entry.link = (state == JobState::Saved).then(|| format!("pictures/job: {number}#?%.jpg"));
    if number == HOSTILE_JOB {
        entry.name = HOSTILE.to_owned();
        entry.prompt = Some(HOSTILE.to_owned());
        entry.reason = Some(HOSTILE.to_owned());
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
