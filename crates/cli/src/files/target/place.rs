//! The places that `--output` can name.

use std::{
    ffi::OsStr,
    fs,
    path::{self, Path, PathBuf},
};

use super::names::extension;
use crate::failure::Failure;
use imagekiln::FileKind;
use imagekiln_label::{Template, TemplateFields};

/// Longer than the part of an id that a template keeps, for the longest name of a picture.
pub const LONGEST_ID: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file. Its ending is replaced if the picture has another format.
    File(PathBuf),
    /// A file in this directory, named after the prompt or the model, the task, and the format.
    Named(PathBuf),
    /// A file whose name is a template.
    Pattern(Pattern),
    /// A device or a pipe. The picture is written to it, because saving would replace it with a
    /// file.
    Special(PathBuf),
    /// Standard output.
    Stdout,
}

impl Place {
    /// The place that `--output` names. A brace begins a field of a template, unless the whole text
    /// is the path of an existing directory.
    pub fn of(output: Option<&OsStr>) -> Result<Self, Failure> {
        let Some(output) = output else { return Ok(Self::Named(PathBuf::new())) };
        if output == "-" {
            return Ok(Self::Stdout);
        }
        let path = Path::new(output);
        check_path(path)?;
        match output.to_str().filter(|text| text.contains('{') && !path.is_dir()) {
            None => Ok(Self::at(path)),
            Some(text) => {
                let pattern = Pattern::parse(text)?;
                Ok(pattern.plain().map_or(Self::Pattern(pattern), |path| Self::at(&path)))
            }
        }
    }

    /// The place that a path names. A separator at the end makes it a directory, even if that does
    /// not exist yet.
    pub fn at(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Self::Named(path.to_owned()),
            Ok(metadata) if !metadata.is_file() => Self::Special(path.to_owned()),
            _ if ends_with_separator(path.as_os_str()) => Self::Named(path.to_owned()),
            _ => Self::File(path.to_owned()),
        }
    }
}

/// Refuses an empty path, which comes from an unset variable of the shell, and a path below a tilde
/// that the shell has not replaced.
pub fn check_path(path: &Path) -> Result<(), Failure> {
    if path.as_os_str().is_empty() {
        return Err(Failure::usage("--output is empty").advise(
            "nothing was sent; pass a file or a directory, and check that a variable in it is set",
        ));
    }
    match path.strip_prefix("~") {
        Ok(rest) => Err(Failure::usage(format!(
            "{} is in a directory named `~`, because the shell does not replace it in quotes",
            path.display()
        ))
        .advise(format!(
            "nothing was sent; write --output \"$HOME/{0}\", or ./~/{0} for that directory",
            rest.display()
        ))),
        Err(_) => Ok(()),
    }
}

/// Whether the path ends with a separator, so that it can only name a directory.
pub fn ends_with_separator(path: &OsStr) -> bool {
    path.as_encoded_bytes().last().is_some_and(|last| path::is_separator(char::from(*last)))
}

/// A directory, and the template for the path of a picture in it, which may contain more
/// directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pub directory: PathBuf,
    pub template: Template,
}

impl Pattern {
    /// Reads the value of `--output`. The directory ends before the first component with a brace.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let brace = text.find('{').unwrap_or(text.len());
        let start = text[..brace].rfind(path::is_separator).map_or(0, |separator| separator + 1);
        let (directory, name) = text.split_at(start);
        let name = name.replace(path::MAIN_SEPARATOR, "/");
        let template = Template::parse(&name).map_err(|error| {
            Failure::usage(error.to_string()).advise("nothing was sent; write {{ for a brace")
        })?;
        Ok(Self { directory: directory.into(), template })
    }

    /// The path, if the template has no fields.
    pub fn plain(&self) -> Option<PathBuf> {
        let fields = TemplateFields::default();
        self.template.is_plain().then(|| self.directory.join(self.template.render(&fields)))
    }

    /// Fills in all fields except the id and the extension, which are known after the submission.
    /// Fails if another field has no value: an empty prompt or name is not known.
    pub fn filled(&self, known: &TemplateFields<'_>) -> Result<Self, Failure> {
        let by_seed = "use {index} or {id}, or pass --seed if the model has one";
        let by_slug = "use {index}, {model} or {id}";
        let by_name = "only `kiln edit --prompt`, --vary and the jobs of `kiln batch` give names; \
                       use {index}, {seed}, {model}, {date}, {id}, {slug} or {ext}";
        for (field, is_known, what, advice) in [
            ("seed", known.seed.is_some(), "seed", by_seed),
            ("slug", !known.prompt.is_empty(), "prompt", by_slug),
            ("name", !known.name.is_empty(), "name", by_name),
        ] {
            if self.template.has_field(field) && !is_known {
                let problem =
                    format!("the name of the picture contains {{{field}}}, and no {what} is known");
                return Err(Failure::usage(problem).advise(format!("nothing was sent; {advice}")));
            }
        }
        let (directory, template) = (self.directory.clone(), self.template.filled(known));
        Ok(Self { directory, template })
    }

    /// The path of the picture of a task, if the pattern was [filled](Self::filled).
    pub fn path(&self, id: &str, kind: Option<FileKind>) -> PathBuf {
        let ext = extension(kind);
        let fields = TemplateFields { id, ext, ..TemplateFields::default() };
        self.directory.join(self.template.render(&fields))
    }

    /// The path with its fields, as the user would pass it to `--output`.
    pub fn shown(&self) -> PathBuf {
        self.directory.join(self.template.to_string())
    }

    /// The last component of the path, with its fields. Its ending may select the format.
    pub fn file_name(&self) -> String {
        let text = self.template.to_string();
        Path::new(&text).file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: TemplateFields<'_> = TemplateFields {
        index: 3,
        seed: Some(7),
        prompt: "A red fox",
        name: "cat",
        model: "gen-tools/deblur-v1",
        date: "2026-11-29",
        id: "",
        ext: "",
    };

    #[test]
    fn what_is_known_is_filled_in_first() {
        for (given, filled, path) in [
            ("fox-{seed}.{ext}", "fox-7.{ext}", "fox-7.jpg"),
            ("{name}.{ext}", "cat.{ext}", "cat.jpg"),
            ("{date}/{name}.png", "2026-11-29/cat.png", "2026-11-29/cat.png"),
            ("../a/{slug}/{index:03}.png", "../a/a-red-fox/003.png", "../a/a-red-fox/003.png"),
            (
                "/tmp/{model}-{id}",
                "/tmp/gen-tools-deblur-v1-{id}",
                "/tmp/gen-tools-deblur-v1-x-y-bd3c9047",
            ),
            ("{{{id}}}.png", "{{{id}}}.png", "{x-y-bd3c9047}.png"),
        ] {
            let pattern = Pattern::parse(given).unwrap().filled(&KNOWN).unwrap();
            assert_eq!(pattern.shown(), Path::new(filled));
            assert_eq!(pattern.path("x/y", Some(FileKind::Jpeg)), Path::new(path));
            let again = Pattern::parse(filled).unwrap().filled(&KNOWN).unwrap();
            assert_eq!(again.shown(), Path::new(filled), "the history can be read again");
        }
    }

    #[test]
    fn a_doubled_brace_is_a_brace() {
        let plain = |text| Pattern::parse(text).unwrap().plain();
        assert_eq!(plain("a/fox{{1}}.png"), Some(PathBuf::from("a/fox{1}.png")));
        assert_eq!(plain("a/fox{id}.png"), None);
    }
}
