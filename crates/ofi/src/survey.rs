//! Diagnostics for users who wonder why their fabric is not used: devices, the library, its
//! providers, and which of them could carry this wire. Nothing is selected here.

use std::path::Path;

use towpath_base::config;

use super::choice::{DEVICES, LIBRARY, merit};
use super::library::{Libfabric, Offer};

/// What was found on this host.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Devices of real fabrics, each with the state of its ports if the system reports it: `mlx5_0
    /// (port 1: ACTIVE, InfiniBand)`.
    pub devices: Vec<String>,
    /// The library, or the dynamic loader's message if there is none.
    pub library: Result<FoundLibrary, String>,
}

/// A library that can be loaded.
#[derive(Clone, Debug)]
pub struct FoundLibrary {
    /// Its version: major and minor number.
    pub version: (u32, u32),
    /// The file that it was loaded from, if the loader knows.
    pub path: Option<String>,
    /// Its providers, in its own order of preference, or its error message.
    pub providers: Result<Vec<Offered>, String>,
}

/// A provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Its name, for example `verbs;ofi_rxm`.
    pub name: String,
    /// Its domains: usually devices or interfaces.
    pub domains: Vec<String>,
    /// When it is used.
    pub usage: Use,
}

/// When a provider is used, the best case first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It drives a real fabric and is selected automatically.
    ByItself,
    /// It must be named.
    IfNamed,
    /// It offers no reliable datagrams with remote reads on this host.
    Never,
}

/// Surveys this host, with the library that the setting `TOWPATH_LIBFABRIC` names, or else the one
/// that the dynamic loader finds. It makes the providers list everything, which may take a second
/// and may print messages, so it is for diagnostics only.
pub fn survey() -> Survey {
    let library =
        Libfabric::open(config::setting(LIBRARY).as_deref()).map(|library| FoundLibrary {
            version: library.version(),
            path: library.path(),
            providers: providers(&library),
        });
    Survey {
        devices: DEVICES.iter().flat_map(|directory| devices(Path::new(directory))).collect(),
        library,
    }
}

fn providers(library: &Libfabric) -> Result<Vec<Offered>, String> {
    let mut all: Vec<Offered> = Vec::new();
    for offer in library.offers(None)? {
        let by_itself = merit(&offer.provider(), &offer.fabric()).is_some();
        enter(&mut all, &offer, if by_itself { Use::ByItself } else { Use::IfNamed });
    }
    for offer in library.everything()? {
        enter(&mut all, &offer, Use::Never);
    }
    Ok(all)
}

/// Adds an offer to its provider; the best use counts.
fn enter(all: &mut Vec<Offered>, offer: &Offer, usage: Use) {
    let (name, domain) = (offer.provider(), offer.domain());
    match all.iter_mut().find(|known| known.name == name) {
        Some(known) => {
            known.usage = known.usage.min(usage);
            if !known.domains.contains(&domain) {
                known.domains.push(domain);
            }
        }
        None => all.push(Offered { name, domains: vec![domain], usage }),
    }
}

/// The devices in a sysfs directory, sorted by name.
fn devices(directory: &Path) -> Vec<String> {
    names(directory).iter().map(|name| device(name, &directory.join(name).join("ports"))).collect()
}

fn device(name: &str, ports: &Path) -> String {
    let port = |number: &String| {
        let said =
            |what: &str| std::fs::read_to_string(ports.join(number).join(what)).unwrap_or_default();
        // For example "4: ACTIVE".
        let state = said("state").trim().rsplit(' ').next().unwrap_or_default().to_owned();
        let words: Vec<String> = [state, said("link_layer").trim().to_owned()]
            .into_iter()
            .filter(|w| !w.is_empty())
            .collect();
        (!words.is_empty()).then(|| format!("port {number}: {}", words.join(", ")))
    };
    let ports: Vec<String> = names(ports).iter().filter_map(port).collect();
    if ports.is_empty() { name.to_owned() } else { format!("{name} ({})", ports.join("; ")) }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_with_the_state_of_their_ports() {
        let directory =
            std::env::temp_dir().join(format!("towpath-devices-{}", std::process::id()));
        let files = [
            ("mlx5_1/ports/1/state", "1: DOWN\n"),
            ("mlx5_0/ports/1/state", "4: ACTIVE\n"),
            ("mlx5_0/ports/1/link_layer", "InfiniBand\n"),
            ("cxi0/something", ""),
        ];
        for (file, text) in files {
            let path = directory.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = devices(&directory);
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, ["cxi0", "mlx5_0 (port 1: ACTIVE, InfiniBand)", "mlx5_1 (port 1: DOWN)"]);
        assert!(devices(&directory).is_empty());
    }

    #[test]
    fn providers_that_need_no_hardware_must_be_named() {
        let found = survey();
        let Ok(library) = found.library else {
            return eprintln!("not tested: there is no libfabric");
        };
        assert!(library.version >= (1, 17) && library.path.is_some(), "{library:?}");
        let providers = library.providers.unwrap();
        let by_tcp = |provider: &&Offered| {
            provider.name.starts_with("tcp") && provider.usage == Use::IfNamed
        };
        assert!(
            providers.iter().filter(by_tcp).any(|provider| !provider.domains.is_empty()),
            "{providers:?}"
        );
    }
}
