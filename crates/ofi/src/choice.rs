//! Selects the libfabric provider that carries the messages between hosts, if any.
//!
//! Only a real fabric is selected automatically: Slingshot (cxi), EFA, InfiniBand and RoCE (verbs),
//! or a device that psm3 drives through verbs. Providers over sockets or shared memory are for
//! tests and must be named.

use towpath_base::config;

use super::library::{Libfabric, Offer};
use towpath_machine::network::Network;
use towpath_transport::error::Error;

/// The setting that names the library to load.
pub(super) const LIBRARY: &str = "TOWPATH_LIBFABRIC";
/// The setting that names the provider to use.
const PROVIDER: &str = "TOWPATH_OFI_PROVIDER";

/// Where the system lists the devices of real fabrics.
pub(super) const DEVICES: [&str; 3] =
    ["/sys/class/infiniband", "/sys/class/cxi", "/sys/class/hfi1"];

/// An offer that can carry the messages of this process.
pub struct ProviderChoice {
    pub(super) offer: Offer,
}

/// A description of the selected provider, for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDescription {
    /// Version of libfabric: major and minor number.
    pub version: (u32, u32),
    /// The provider, for example `verbs;ofi_rxm`.
    pub provider: String,
    /// The fabric's name.
    pub fabric: String,
    /// The domain's name: usually that of a device.
    pub domain: String,
}

impl ProviderChoice {
    /// Describes the selected provider.
    pub fn description(&self) -> ProviderDescription {
        let offer = &self.offer;
        ProviderDescription {
            version: offer.library.version(),
            provider: offer.provider(),
            fabric: offer.fabric(),
            domain: offer.domain(),
        }
    }
}

/// The position of a provider in the order of preference of those that are selected automatically;
/// `None` if it is not one of them.
pub(super) fn merit(provider: &str, fabric: &str) -> Option<usize> {
    let core = provider.split(';').next().unwrap_or_default();
    match core {
        "cxi" => Some(0),
        "efa" => Some(1),
        // Over rxd (datagrams) instead of rxm, it would be slow.
        "verbs" if !provider.contains("rxd") => Some(2),
        // The name of its fabric over sockets starts with `TCP`.
        "psm3" if !fabric.starts_with("TCP") => Some(3),
        _ => None,
    }
}

/// Selects a provider by the settings `TOWPATH_LIBFABRIC` and `TOWPATH_OFI_PROVIDER`. If it is
/// available on several networks, the first one in `networks` is used. `None` if nothing was
/// requested and there is no real fabric.
///
/// # Errors
/// [`Error::Fabric`] if what the settings request is not available.
pub fn choose(networks: &[Network]) -> Result<Option<ProviderChoice>, Error> {
    choose_from(config::setting(LIBRARY).as_deref(), config::setting(PROVIDER).as_deref(), networks)
}

/// Like [`choose`], with the values of the settings.
///
/// # Errors
/// [`Error::Fabric`] if what the values request is not available.
pub fn choose_from(
    library: Option<&str>,
    provider: Option<&str>,
    networks: &[Network],
) -> Result<Option<ProviderChoice>, Error> {
    let has_device = || {
        DEVICES.iter().any(|path| std::fs::read_dir(path).is_ok_and(|mut all| all.next().is_some()))
    };
    if provider.is_none() && !has_device() {
        return Ok(None);
    }
    let opened = match Libfabric::open(library) {
        Ok(opened) => opened,
        Err(_) if provider.is_none() && library.is_none() => return Ok(None),
        Err(reason) => return Err(Error::Fabric(format!("libfabric cannot be opened ({reason})"))),
    };
    let offers = opened
        .offers(provider)
        .map_err(|reason| Error::Fabric(format!("libfabric fails: {reason}")))?;
    let offer = match provider {
        Some(_) => best(offers, |_| Some(0), networks),
        None => best(offers, |offer| merit(&offer.provider(), &offer.fabric()), networks),
    };
    match (offer, provider) {
        (None, Some(name)) => {
            let (major, minor) = opened.version();
            let what = "reliable datagrams with remote reads on this host";
            Err(Error::Fabric(format!(
                "libfabric {major}.{minor} has no provider {name} that offers {what}"
            )))
        }
        (offer, _) => Ok(offer.map(|offer| ProviderChoice { offer })),
    }
}

/// The offer with the best merit; among equals, the one on the first network; among equals again,
/// the first one in the library's order.
fn best(
    offers: Vec<Offer>,
    merit: impl Fn(&Offer) -> Option<usize>,
    networks: &[Network],
) -> Option<Offer> {
    let network = |offer: &Offer| {
        let address = offer.address();
        networks.iter().position(|network| Some(network.address) == address).unwrap_or(usize::MAX)
    };
    let ranked =
        offers.into_iter().filter_map(|offer| Some((merit(&offer)?, network(&offer), offer)));
    ranked.min_by_key(|(merit, network, _)| (*merit, *network)).map(|(_, _, offer)| offer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_fabrics_are_chosen_by_themselves() {
        let all = [
            ("tcp", "192.0.2.0/24"),
            ("tcp;ofi_rxm", "192.0.2.0/24"),
            ("shm", "shm"),
            ("sockets", "192.0.2.0/24"),
            ("udp;ofi_rxd", "192.0.2.0/24"),
            ("psm3", "TCP-192.0.2.0/24"),
            ("verbs;ofi_rxd", "IB-0xfe80000000000000"),
        ];
        assert!(all.iter().all(|(provider, fabric)| merit(provider, fabric).is_none()));
        let real = [
            ("cxi", "cxi"),
            ("efa", "efa"),
            ("verbs;ofi_rxm", "IB-0xfe80"),
            ("psm3", "RoCE-192.0.2.0/24"),
        ];
        let merits: Vec<Option<usize>> =
            real.iter().map(|(provider, fabric)| merit(provider, fabric)).collect();
        assert_eq!(merits, [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn what_was_asked_for_and_is_not_there_is_a_sentence() {
        let missing =
            choose_from(Some("/nowhere/libfabric.so"), Some("tcp"), &[]).err().unwrap().to_string();
        assert!(
            missing.starts_with("The fabric cannot be used: libfabric cannot be opened (/nowhere/"),
            "{missing}"
        );
        if Libfabric::open(None).is_ok() {
            let unknown = choose_from(None, Some("imaginary"), &[]).err().unwrap().to_string();
            assert!(
                unknown.contains(" has no provider imaginary that offers reliable datagrams"),
                "{unknown}"
            );
        }
    }
}
