//! The table of settings: every environment variable that Towpath reads, its default and what it does.
//!
//! Only this module reads the environment. `towpath info`, the documentation and the later tools interface print
//! the same table.

use std::ffi::OsString;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the environment variable.
    pub name: &'static str,
    /// Value when the variable is not set, as text; empty means "decided at start-up".
    pub default: &'static str,
    /// What it does, with unit.
    pub meaning: &'static str,
}

/// Every setting of the library. Launcher variables (PMI and the like) are read through [`environment`] too but are
/// not settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "TOWPATH_SPIN_MICROSECONDS",
        default: "",
        meaning: "how long a wait polls before it yields; 0 where ranks exceed cores",
    },
    Setting {
        name: "TOWPATH_EAGER_BYTES",
        default: "",
        meaning: "largest message that is sent without asking the receiver, in bytes",
    },
    Setting {
        name: "TOWPATH_RING_BYTES",
        default: "65536",
        meaning: "payload bytes of the ring of a hot pair of ranks; an eighth is the largest eager message",
    },
    Setting {
        name: "TOWPATH_HOT_SENDS",
        default: "4",
        meaning: "sends to one peer after which the pair gets a ring of its own",
    },
    Setting {
        name: "TOWPATH_UNEXPECTED_BYTES",
        default: "1048576",
        meaning: "eager bytes one sender may have under way to one receiver before it only announces messages",
    },
    Setting {
        name: "TOWPATH_COLLECTIVE",
        default: "",
        meaning: "algorithms to use whatever the sizes, as collective:algorithm pairs separated by commas",
    },
];

/// Reads an environment variable; `None` when it is unset or not valid UTF-8.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Every environment variable, for the launcher, which passes them on.
pub fn whole_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// The value of a setting of the table: the variable, else its default; `None` when both are empty.
///
/// # Panics
/// When `name` is not in [`SETTINGS`]: a setting that is not in the table does not exist.
pub fn setting(name: &str) -> Option<String> {
    let row =
        SETTINGS.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("setting {name} is not in the table"));
    environment(name)
        .filter(|value| !value.is_empty())
        .or_else(|| Some(row.default.to_owned()).filter(|d| !d.is_empty()))
}

/// A setting that is a number; a value that is not a number counts as the default, and a sentence says so.
pub fn number(name: &str) -> Option<u64> {
    let text = setting(name)?;
    text.trim().parse().ok().or_else(|| {
        eprintln!("towpath: {name}={text} is not a whole number; the default is used.");
        SETTINGS.iter().find(|row| row.name == name).and_then(|row| row.default.parse().ok())
    })
}
