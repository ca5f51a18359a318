//! Lists the files of the page: path and content.

use std::{
    env,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=page");
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let here = env::current_dir()?;
    let mut list = File::create(Path::new(&out).join("page.rs"))?;
    let mut left = vec![PathBuf::from("page")];
    writeln!(list, "&[")?;
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let mut paths = fs::read_dir(&path)?
                .map(|entry| Ok(entry?.path()))
                .collect::<io::Result<Vec<_>>>()?;
            paths.sort();
            left.extend(paths);
            continue;
        }
        let address = path.strip_prefix("page").unwrap_or(&path).display().to_string();
        let address = format!("/{}", address.replace('\\', "/"));
        writeln!(list, "({address:?}, include_bytes!({:?})),", here.join(&path))?;
    }
    writeln!(list, "]")
}
