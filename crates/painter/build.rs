//! Packs the shapes that pictures show into one compressed file, a line each: name, tab, SVG.

use std::{
    env,
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=shapes");
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let mut packed =
        GzEncoder::new(File::create(Path::new(&out).join("shapes.gz"))?, Compression::best());
    for folder in ["shapes", "shapes/emoji"] {
        let mut paths =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|kind| kind == "svg")) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let drawing = fs::read_to_string(path)?.replace('\n', " ");
            writeln!(packed, "{name}\t{}", drawing.trim_end())?;
        }
    }
    packed.finish().map(drop)
}
