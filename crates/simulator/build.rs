//! Packs the shapes that pictures show into one compressed file, a line each: name, tab, SVG. Lists
//! the files of the page: path and content.

use std::{
    env,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=shapes");
    println!("cargo::rerun-if-changed=page");
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let out = Path::new(&out);
    pack_shapes(&out.join("shapes.gz"))?;
    list_page(&out.join("page.rs"))
}

fn pack_shapes(target: &Path) -> io::Result<()> {
    let mut packed = GzEncoder::new(File::create(target)?, Compression::best());
    for folder in ["shapes", "shapes/emoji"] {
        let paths = paths(Path::new(folder))?;
        for path in paths.iter().filter(|path| path.extension().is_some_and(|kind| kind == "svg")) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            writeln!(
                packed,
                "{name}\t{}",
                fs::read_to_string(path)?.replace('\n', " ").trim_end()
            )?;
        }
    }
    packed.finish().map(drop)
}

fn list_page(target: &Path) -> io::Result<()> {
    let here = env::current_dir()?;
    let mut list = File::create(target)?;
    let mut left = vec![PathBuf::from("page")];
    writeln!(list, "&[")?;
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(paths(&path)?);
            continue;
        }
        let address = path.strip_prefix("page").unwrap_or(&path).display().to_string();
        let address = format!("/{}", address.replace('\\', "/"));
        writeln!(list, "({address:?}, include_bytes!({:?})),", here.join(&path))?;
    }
    writeln!(list, "]")
}

/// What a folder contains, in the order of the names.
fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
