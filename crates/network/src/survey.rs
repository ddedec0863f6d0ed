//! Diagnostics: which transports lead from this host to others, and why, as chosen by the functions
//! that a job uses at startup.
//!
//! `towpath info` loads the library and calls its function `towpath_networks`, which returns this
//! text: one line per row, with the tab-separated cells key, label, value and reason.

use towpath_base::config;
use towpath_clic::rails::MOST_RAILS;
use towpath_clic_wire::port::{Interface, Port, RawSide, interfaces, super_frames};
use towpath_ofi::{self as ofi, FoundLibrary, Offered, ProviderDescription, Survey, Use};
use towpath_transport::error::Error;

use crate::choice::{SETTING, TransportChoice};
use crate::error::{Error as StartError, Result as Started};
use crate::ineligibility::MOST_RANKS;
use crate::{INTERFACES, own_networks};

/// A row: key, label, value, reason.
type Row = [String; 4];

/// The rows as text. Loads libfabric if it is installed, and opens sockets on all interfaces, which
/// it closes again.
pub fn survey() -> String {
    let found = ofi::survey();
    let mut rows = vec![choice(&found), devices(&found)];
    rows.extend(libfabric(&found));
    rows.extend(ports());
    rows.iter()
        .map(|row| row.each_ref().map(|cell| cell.replace(char::is_control, " ")).join("\t") + "\n")
        .collect()
}

fn row(
    key: impl Into<String>,
    label: impl Into<String>,
    value: impl Into<String>,
    why: impl Into<String>,
) -> Row {
    [key.into(), label.into(), value.into(), why.into()]
}

/// What a job on several hosts would use.
fn choice(found: &Survey) -> Row {
    let (value, why) = match chosen(found) {
        Ok(told) => told,
        Err(error) => ("none".to_owned(), format!("MPI cannot start: {error}.")),
    };
    row("choice", "to other hosts", value, why)
}

fn chosen(found: &Survey) -> Started<(String, String)> {
    let (choice, own) = (TransportChoice::of_settings()?, own_networks()?);
    let asked = format!("As {SETTING}={} says.", choice.name());
    if !choice.fabric() {
        let frames = "Frames where both hosts can; below IP where the rows of interfaces say so, else by UDP.";
        let why = if choice.frames() { format!("{asked} {frames}") } else { asked };
        return Ok((choice.name().to_owned(), why));
    }
    let fabric = ofi::choose(&own).map_err(StartError::new)?;
    Ok(match fabric.map(|fabric| fabric.description()) {
        Some(ProviderDescription { provider, fabric, domain, .. }) => {
            let or_else = if choice == TransportChoice::Best { "; else clic or tcp" } else { "" };
            let why = format!(
                "Fabric {fabric}, domain {domain}: used where all processes of a job are on it{or_else}."
            );
            (format!("libfabric, {provider}"), why)
        }
        None if choice == TransportChoice::Best => {
            let frames = "Frames below IP to a host in one network with this one, where a trial at the start shows that they arrive";
            let ranks = format!(
                "each of both has {MOST_RANKS} ranks of the job at most, with a processor each"
            );
            (
                "clic or tcp".to_owned(),
                format!("{} {frames} and {ranks}; else tcp.", why_no_fabric(found)),
            )
        }
        None => ("none".to_owned(), format!("{asked} {}", why_no_fabric(found))),
    })
}

/// Why no fabric is used.
fn why_no_fabric(found: &Survey) -> &'static str {
    match &found.library {
        _ if found.devices.is_empty() => "No fabric: the system shows no device of one.",
        Err(_) => "No fabric: there are devices, but libfabric cannot be opened.",
        Ok(FoundLibrary { providers: Err(_), .. }) => "No fabric: libfabric fails.",
        Ok(_) => "No fabric: libfabric has no provider that drives the devices here.",
    }
}

fn devices(found: &Survey) -> Row {
    let why = "As in /sys/class/infiniband, cxi and hfi1. Without any, libfabric is used only where TOWPATH_OFI_PROVIDER names a provider.";
    let value = if found.devices.is_empty() { "none".to_owned() } else { found.devices.join(", ") };
    row("fabric_devices", "fabric devices", value, why)
}

/// The library, and a row for each provider.
fn libfabric(found: &Survey) -> Vec<Row> {
    let library = match &found.library {
        Ok(library) => library,
        Err(reason) => {
            let why = format!("{reason}. TOWPATH_LIBFABRIC names one that lies elsewhere.");
            return vec![row("libfabric", "libfabric", "none", why)];
        }
    };
    let (major, minor) = library.version;
    let path = library.path.as_deref().unwrap_or("somewhere");
    let (why, providers) = match &library.providers {
        Ok(all) => (path.to_owned(), all.as_slice()),
        Err(reason) if (major, minor) < (1, 17) => {
            (format!("{path}: too old, 1.17 is needed ({reason})."), [].as_slice())
        }
        Err(reason) => (format!("{path}: it fails ({reason})."), [].as_slice()),
    };
    let first = row("libfabric", "libfabric", format!("{major}.{minor}"), why);
    [first].into_iter().chain(providers.iter().map(provider)).collect()
}

fn provider(offered: &Offered) -> Row {
    let (value, why) = match offered.usage {
        Use::ByItself => ("by itself", "drives a fabric"),
        Use::IfNamed => ("if named", "used where TOWPATH_OFI_PROVIDER names it"),
        Use::Never => ("not used", "offers no reliable datagrams with remote reads here"),
    };
    let Offered { name, domains, .. } = offered;
    row(
        format!("provider {name}"),
        format!("  {name}"),
        value,
        format!("{why}; on {}", domains.join(", ")),
    )
}

/// A row for each interface that frames may use, and one for the kernel.
fn ports() -> Vec<Row> {
    let found = interfaces(config::setting(INTERFACES).as_deref());
    let mut rows: Vec<Row> =
        found.iter().enumerate().map(|(number, interface)| port(number, interface)).collect();
    let value = match super_frames() {
        (true, true) => "sent, received",
        (true, false) => "sent",
        (false, true) => "received",
        (false, false) => "none",
    };
    let why = "UDP datagrams that the kernel or an interface cuts and joins (UDP_SEGMENT, UDP_GRO): large messages by frames.";
    rows.push(row("super_frames", "super-frames", value, why));
    rows
}

fn port(number: usize, interface: &Interface) -> Row {
    let Interface { name, network, mtu, speed, .. } = interface;
    let speed = if *speed > 0 { format!(", {speed} Mbit/s") } else { String::new() };
    let about =
        format!("{}/{}, packets of up to {mtu} bytes{speed}", network.address, network.prefix);
    let (value, why) = match Port::open(interface, None, RawSide::Small) {
        _ if number >= MOST_RAILS => {
            ("not used", format!("{about}; frames use the fastest {MOST_RAILS} interfaces"))
        }
        Err(error) => ("none", format!("{about}; {error}")),
        Ok(port) => match port.without_raw() {
            None => ("frames, UDP", about),
            Some(_) if interface.hardware.is_none() => {
                ("UDP", format!("{about}; no Ethernet, so no frames below IP"))
            }
            Some(Error::Network { action, detail }) => {
                let why = format!(
                    "no frames below IP, which need CAP_NET_RAW: the system refuses to {action} ({detail})"
                );
                ("UDP", format!("{about}; {why}"))
            }
            Some(error) => ("UDP", format!("{about}; {error}")),
        },
    };
    row(format!("interface {name}"), name, value, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(devices: &[&str], library: Result<FoundLibrary, String>) -> Survey {
        Survey { devices: devices.iter().map(|name| (*name).to_owned()).collect(), library }
    }

    fn library(
        version: (u32, u32),
        providers: Result<Vec<Offered>, String>,
    ) -> Result<FoundLibrary, String> {
        Ok(FoundLibrary { version, path: Some("/lib/libfabric.so.1".to_owned()), providers })
    }

    #[test]
    fn every_reason_why_there_is_no_fabric_is_told() {
        let missing = || Err("libfabric.so.1: cannot open shared object file".to_owned());
        assert!(why_no_fabric(&found(&[], missing())).contains("no device"));
        assert!(why_no_fabric(&found(&["mlx5_0"], missing())).contains("cannot be opened"));
        assert!(
            why_no_fabric(&found(&["mlx5_0"], library((1, 16), Err("too old".to_owned()))))
                .contains("fails")
        );
        assert!(
            why_no_fabric(&found(&["mlx5_0"], library((2, 0), Ok(Vec::new()))))
                .contains("no provider")
        );
        let rows = libfabric(&found(&[], missing()));
        assert!(
            rows.len() == 1 && rows[0][2] == "none" && rows[0][3].contains("cannot open"),
            "{rows:?}"
        );
        let rows =
            libfabric(&found(&[], library((1, 16), Err("Function not implemented".to_owned()))));
        assert!(
            rows.len() == 1 && rows[0][3].contains("1.17 is needed (Function not implemented)"),
            "{rows:?}"
        );
    }

    #[test]
    fn providers_are_told_with_what_they_are_used_for() {
        let offered = |name: &str, usage| Offered {
            name: name.to_owned(),
            domains: vec!["mlx5_0".to_owned()],
            usage,
        };
        let all = vec![
            offered("verbs;ofi_rxm", Use::ByItself),
            offered("tcp", Use::IfNamed),
            offered("udp", Use::Never),
        ];
        let rows = libfabric(&found(&["mlx5_0"], library((2, 1), Ok(all))));
        let values: Vec<&str> = rows.iter().map(|row| row[2].as_str()).collect();
        assert_eq!(values, ["2.1", "by itself", "if named", "not used"]);
        assert_eq!(rows[1][0], "provider verbs;ofi_rxm");
        assert_eq!(devices(&found(&["mlx5_0", "cxi0"], Err(String::new())))[2], "mlx5_0, cxi0");
    }

    #[test]
    fn the_text_has_four_cells_a_line_and_tells_of_every_interface() {
        let text = survey();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert!(
            rows.iter().all(|row| row.len() == 4 && row.iter().all(|cell| !cell.is_empty())),
            "{text}"
        );
        let keys: Vec<&str> = rows.iter().map(|row| row[0]).collect();
        assert!(
            ["choice", "fabric_devices", "libfabric", "super_frames"]
                .iter()
                .all(|key| keys.contains(key)),
            "{text}"
        );
        for interface in interfaces(None) {
            assert!(keys.contains(&format!("interface {}", interface.name).as_str()), "{text}");
        }
    }
}
