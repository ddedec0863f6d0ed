//! Hosts on one machine: network namespaces of the test's thread, joined by veth pairs. They cease
//! to exist with the thread and its sockets. A test that does not run as root runs again in a child
//! that is root in a user namespace.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

use towpath_base::config;
use towpath_clic_wire::port::{Interface, Port, RawSide, interfaces};

const INSIDE: &str = "TOWPATH_TEST_INSIDE";

/// Host n has the device `eth` and the address 10.77.0.(n + 1).
pub(crate) struct Hosts {
    /// Namespaces of the hosts, and of the switch between them.
    namespaces: Vec<File>,
}

/// Runs a test that needs hosts, or prints why it cannot. `name` is the name of the test.
pub(crate) fn with_hosts(name: &str, count: usize, mtu: usize, test: impl FnOnce(&Hosts)) {
    match new_namespace() {
        Ok(_) => test(&Hosts::new(count, mtu).unwrap()),
        Err(reason) if config::environment(INSIDE).is_some() => println!("skipped: {reason}"),
        Err(_) => again_inside(name),
    }
}

fn again_inside(name: &str) {
    let itself = std::env::current_exe().unwrap();
    let outcome = Command::new("unshare")
        .args(["--user", "--map-root-user"])
        .arg(itself)
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .output();
    match outcome {
        Ok(outcome) => {
            let text =
                String::from_utf8_lossy(&outcome.stdout) + String::from_utf8_lossy(&outcome.stderr);
            println!("{text}");
            assert!(
                outcome.status.success() || text.contains("unshare failed"),
                "{name} failed inside"
            );
        }
        Err(reason) => println!("skipped: unshare cannot be run ({reason})"),
    }
}

/// Creates a network namespace and moves this thread into it.
fn new_namespace() -> Result<File, String> {
    // SAFETY: unsharing the network namespace affects this thread alone, and no memory.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(format!("no network namespaces here ({})", std::io::Error::last_os_error()));
    }
    ip("link set lo up")?;
    File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())
}

/// Runs `ip` in the namespace of this thread.
pub(crate) fn ip(words: &str) -> Result<(), String> {
    tool("ip", words)
}

/// Runs a tool in the namespace of this thread.
pub(crate) fn tool(name: &str, words: &str) -> Result<(), String> {
    let outcome = Command::new(name)
        .args(words.split_whitespace())
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    if outcome.status.success() { Ok(()) } else { Err(format!("{name} {words}: {said}")) }
}

impl Hosts {
    fn new(count: usize, mtu: usize) -> Result<Hosts, String> {
        let namespaces: Vec<File> =
            (0..=count).map(|_| new_namespace()).collect::<Result<_, _>>()?;
        let hosts = Hosts { namespaces };
        let path = |host: usize| {
            format!("/proc/{}/fd/{}", std::process::id(), hosts.namespaces[host].as_raw_fd())
        };
        if count == 2 {
            hosts.enter(0);
            ip(&format!(
                "link add eth mtu {mtu} type veth peer name eth mtu {mtu} netns {}",
                path(1)
            ))?;
        } else {
            hosts.enter(count);
            ip(&format!("link add switch mtu {mtu} type bridge"))?;
            ip("link set switch up")?;
            for host in 0..count {
                ip(&format!(
                    "link add port{host} mtu {mtu} type veth peer name eth mtu {mtu} netns {}",
                    path(host)
                ))?;
                ip(&format!("link set port{host} master switch up"))?;
            }
        }
        for host in 0..count {
            hosts.enter(host);
            ip(&format!("address add 10.77.0.{}/24 dev eth", host + 1))?;
            ip("link set eth up")?;
        }
        for host in 0..count {
            hosts.wait_for_link(host)?;
        }
        Ok(hosts)
    }

    /// Waits until frames can pass.
    pub(crate) fn wait_for_link(&self, host: usize) -> Result<(), String> {
        self.enter(host);
        for _ in 0..500 {
            let shown = Command::new("ip").args(["-o", "link", "show", "dev", "eth"]).output();
            let shown = shown.map_err(|error| error.to_string())?.stdout;
            if String::from_utf8_lossy(&shown).contains("state UP") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("the link between the hosts did not come up".to_owned())
    }

    /// Moves this thread into the namespace of a host.
    pub(crate) fn enter(&self, host: usize) {
        // SAFETY: entering a network namespace affects this thread alone, and no memory.
        let outcome = unsafe { libc::setns(self.namespaces[host].as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
    }

    /// The interface of a host.
    pub(crate) fn interface(&self, host: usize) -> Interface {
        self.enter(host);
        interfaces(None).into_iter().next().unwrap()
    }

    /// Opens a port on a host.
    pub(crate) fn port(&self, host: usize) -> Port {
        let interface = self.interface(host);
        assert_eq!(interface.name, "eth");
        Port::open(&interface, None, RawSide::Whole).unwrap()
    }
}
