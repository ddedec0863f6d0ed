//! What stands behind the choice of a provider, for people who ask why their fabric is not used:
//! devices, the library, its providers, and which of them would carry this wire. Nothing is chosen
//! here.

use std::path::Path;

use towpath_base::config;

use super::choice::{DEVICES, LIBRARY, merit};
use super::library::{Library, Offer};

/// What was found on this host.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Devices of real fabrics, each with the state of its ports where the system tells it: `mlx5_0
    /// (port 1: ACTIVE, InfiniBand)`.
    pub devices: Vec<String>,
    /// The library, or why there is none, in the loader's words.
    pub library: Result<Found, String>,
}

/// A library that can be opened.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its version.
    pub version: (u32, u32),
    /// Where it was loaded from, if the loader knows.
    pub path: Option<String>,
    /// Its providers, in its own order of preference, or its words for why it tells none.
    pub providers: Result<Vec<Offered>, String>,
}

/// A provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Its name, as `verbs;ofi_rxm`.
    pub name: String,
    /// Its domains: mostly devices, or interfaces.
    pub domains: Vec<String>,
    /// What it is used for.
    pub usage: Use,
}

/// What a provider is used for, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It drives a real fabric, and is chosen without being named.
    ByItself,
    /// It must be named.
    IfNamed,
    /// It offers no reliable datagrams with remote reads here.
    Never,
}

/// Looks at this host, with the library that the setting `TOWPATH_LIBFABRIC` names, else the one
/// that the loader finds. Providers are asked for all that they have, which may take a second, and
/// may print: to be called for people alone.
pub fn survey() -> Survey {
    let library = Library::open(config::setting(LIBRARY).as_deref()).map(|library| Found {
        version: library.version(),
        path: library.path(),
        providers: providers(&library),
    });
    Survey { devices: DEVICES.iter().flat_map(|folder| devices(Path::new(folder))).collect(), library }
}

fn providers(library: &Library) -> Result<Vec<Offered>, String> {
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

/// Adds an offer to its provider, whose best use counts.
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

/// The devices in a folder of the system, in the order of their names.
fn devices(folder: &Path) -> Vec<String> {
    names(folder).iter().map(|name| device(name, &folder.join(name).join("ports"))).collect()
}

fn device(name: &str, ports: &Path) -> String {
    let port = |number: &String| {
        let said = |what: &str| std::fs::read_to_string(ports.join(number).join(what)).unwrap_or_default();
        // As in "4: ACTIVE".
        let state = said("state").trim().rsplit(' ').next().unwrap_or_default().to_owned();
        let words: Vec<String> =
            [state, said("link_layer").trim().to_owned()].into_iter().filter(|w| !w.is_empty()).collect();
        (!words.is_empty()).then(|| format!("port {number}: {}", words.join(", ")))
    };
    let ports: Vec<String> = names(ports).iter().filter_map(port).collect();
    if ports.is_empty() { name.to_owned() } else { format!("{name} ({})", ports.join("; ")) }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_with_the_state_of_their_ports() {
        let folder = std::env::temp_dir().join(format!("towpath-devices-{}", std::process::id()));
        let files = [
            ("mlx5_1/ports/1/state", "1: DOWN\n"),
            ("mlx5_0/ports/1/state", "4: ACTIVE\n"),
            ("mlx5_0/ports/1/link_layer", "InfiniBand\n"),
            ("cxi0/something", ""),
        ];
        for (file, text) in files {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = devices(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["cxi0", "mlx5_0 (port 1: ACTIVE, InfiniBand)", "mlx5_1 (port 1: DOWN)"]);
        assert!(devices(&folder).is_empty());
    }

    #[test]
    fn providers_that_need_no_hardware_must_be_named() {
        let found = survey();
        let Ok(library) = found.library else { return eprintln!("not tested: there is no libfabric") };
        assert!(library.version >= (1, 17) && library.path.is_some(), "{library:?}");
        let providers = library.providers.unwrap();
        let by_tcp = |provider: &&Offered| provider.name.starts_with("tcp") && provider.usage == Use::IfNamed;
        assert!(providers.iter().filter(by_tcp).any(|provider| !provider.domains.is_empty()), "{providers:?}");
    }
}
