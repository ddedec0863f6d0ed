//! Which channel the processes of a host use.

use towpath_base::config;
use towpath_transport::error::Error;

/// How messages move between the processes of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// This library's own: [`towpath_shm`].
    Shared,
    /// That of the Single-Chip Cloud Computer, which only a library with the feature `strict`
    /// contains.
    Strict,
}

/// The channel that the environment selects.
///
/// # Errors
/// [`Error::Setting`] if there is no such channel.
pub(super) fn chosen() -> Result<Channel, Error> {
    channel_of(config::setting("TOWPATH_CHANNEL").as_deref())
}

fn channel_of(setting: Option<&str>) -> Result<Channel, Error> {
    match setting.map(str::trim) {
        None | Some("shared") => Ok(Channel::Shared),
        Some("strict") => Ok(Channel::Strict),
        Some(other) => Err(Error::Setting(format!(
            "TOWPATH_CHANNEL={other} is not a channel; use shared or strict."
        ))),
    }
}

/// The strict channel is selected, but is not in this library.
#[cfg(not(feature = "strict"))]
pub(super) fn absent() -> Error {
    Error::Setting(
        "TOWPATH_CHANNEL=strict asks for the strict channel, but this library is built without it; \
         start the program with Towpath's mpiexec, or put Towpath's directory lib/strict first in \
         LD_LIBRARY_PATH (a program that loads the library by its path needs the path of the one \
         in lib/strict)."
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_one_of_two_names() {
        assert_eq!(channel_of(None).unwrap(), Channel::Shared);
        assert_eq!(channel_of(Some("shared")).unwrap(), Channel::Shared);
        assert_eq!(channel_of(Some(" strict ")).unwrap(), Channel::Strict);
        assert!(
            channel_of(Some("loose"))
                .unwrap_err()
                .to_string()
                .contains("TOWPATH_CHANNEL=loose is not a channel")
        );
    }
}
