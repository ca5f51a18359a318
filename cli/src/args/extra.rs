//! Fields that the contract does not list: `--extra NAME=VALUE`, `--extra-image NAME=IMAGE`.

use std::ffi::{OsStr, OsString};

use clap::{
    Arg, ArgAction, Command,
    builder::TypedValueParser,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::completers;

/// The name of a field and the text it is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: OsString,
}

impl Setting {
    fn parse(text: &OsStr) -> Option<Self> {
        let bytes = text.as_encoded_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=')?;
        let name = std::str::from_utf8(bytes.get(..at)?).ok()?.to_owned();
        // A path need not be valid Unicode, so the value is cut from the bytes.
        let value = match text.to_str() {
            Some(text) => text.get(at + 1..)?.into(),
            None => rest_of_path(bytes, at + 1)?,
        };
        (!name.is_empty()).then_some(Self { name, value })
    }
}

#[cfg(unix)]
fn rest_of_path(bytes: &[u8], from: usize) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;

    Some(OsString::from_vec(bytes.get(from..)?.to_vec()))
}

#[cfg(not(unix))]
fn rest_of_path(_: &[u8], _: usize) -> Option<OsString> {
    None
}

/// The two options.
pub fn args() -> [Arg; 2] {
    let option = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::Append)
            .value_parser(SettingParser)
            .help_heading("Other fields")
            .hide_short_help(true)
    };
    [
        option("extra").value_name("NAME=VALUE").help(
            "Send a field that the contract does not list, or an explicit null; sent as JSON if it \
             parses as JSON, otherwise as text",
        ),
        option("extra-image")
            .value_name("NAME=IMAGE")
            .add(completers::image_of_field())
            .help("Send an image field that the contract does not list"),
    ]
}

#[derive(Clone)]
struct SettingParser;

impl TypedValueParser for SettingParser {
    type Value = Setting;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Setting, clap::Error> {
        Setting::parse(value).ok_or_else(|| {
            let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
            let arg = arg.map(Arg::to_string).unwrap_or_default();
            error.insert(ContextKind::InvalidArg, ContextValue::String(arg));
            error.insert(
                ContextKind::InvalidValue,
                ContextValue::String(value.to_string_lossy().into_owned()),
            );
            let tip = "use NAME=VALUE, such as `guidance=3`, or `image=cat.png` for an image";
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_split_at_the_first_equals_sign() {
        let setting = |text: &str| Setting::parse(OsStr::new(text)).map(|s| (s.name, s.value));
        assert_eq!(setting("a=b=c"), Some(("a".into(), "b=c".into())));
        assert_eq!(setting("a="), Some(("a".into(), "".into())));
        assert_eq!(setting("=b"), None);
        assert_eq!(setting("a"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_need_not_be_unicode() {
        use std::os::unix::ffi::OsStrExt;

        let text = OsStr::from_bytes(b"image=\xff.png");
        assert_eq!(Setting::parse(text).unwrap().value, OsStr::from_bytes(b"\xff.png"));
    }
}
