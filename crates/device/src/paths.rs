//! The ways between the device memory of two processes of a host, and which of them the user
//! allows.

use towpath_base::config;

/// The ways, the preferred one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DevicePath {
    /// One process opens the other one's memory, and copies.
    Ipc,
    /// The receiver opens slots on the sender's device.
    Ring,
    /// Both pin slots in shared host memory.
    Pinned,
    /// The processors copy between pinned memory and a bounce buffer.
    Bounce,
}

impl DevicePath {
    /// What happens to a message.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            DevicePath::Ipc => "by one kernel",
            DevicePath::Ring => "through slots on the sender's device",
            DevicePath::Pinned => "through slots in pinned host memory",
            DevicePath::Bounce => "through pinned host memory and a bounce buffer",
        }
    }
}

/// Their names in the setting.
const NAMES: [(&str, DevicePath); 4] = [
    ("ipc", DevicePath::Ipc),
    ("ring", DevicePath::Ring),
    ("pinned", DevicePath::Pinned),
    ("bounce", DevicePath::Bounce),
];

const SETTING: &str = "TOWPATH_DEVICE_PATH";

/// The paths that may be tried. A bounce buffer is always the last resort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllowedPaths(Option<DevicePath>);

impl AllowedPaths {
    /// The path that the setting forces, or all. `report` is told if it names none.
    pub(crate) fn of_setting(report: fn(&str)) -> AllowedPaths {
        let Some(text) = config::setting(SETTING) else { return AllowedPaths(None) };
        let forced = NAMES.iter().find(|(name, _)| *name == text).map(|(_, path)| *path);
        if forced.is_none() {
            let names = NAMES.map(|(name, _)| name).join(", ");
            report(&format!("{SETTING} is {text}, but must be one of {names}; unset it"));
        }
        AllowedPaths(forced)
    }

    #[cfg(test)]
    pub(crate) fn only(path: DevicePath) -> AllowedPaths {
        AllowedPaths(Some(path))
    }

    /// The only one that is allowed, if the user has chosen one.
    pub(crate) fn forced(self) -> Option<DevicePath> {
        self.0
    }

    pub(crate) fn allow(self, path: DevicePath) -> bool {
        self.0.is_none_or(|forced| forced == path)
    }

    /// True if there is another path than a bounce buffer.
    pub(crate) fn allow_any(self) -> bool {
        self.0 != Some(DevicePath::Bounce)
    }
}
