//! Declares topologies to the channel: which ranks send to this process, with what relative
//! weights.
//!
//! The wire divides the channel again for each declared topology (`towpath_shm`). A claim lives as
//! long as a communicator with the topology, including duplicates. Since the last reference may be
//! dropped anywhere, a dropped claim is only recorded, and withdrawn from the wire at the next
//! opportunity.

use std::sync::{Arc, LazyLock};

use towpath_base::config;
use towpath_neutral::error::Result;

use crate::chapters::{collectives, datatypes};
use crate::objects::claim::{ChannelClaim, new_key, take_ended};
use crate::objects::comm::Comm;
use crate::process;
use crate::progress;
use crate::progress::wait_target::WaitTarget;
use crate::progress::worker::Worker;

/// Withdraws ended claims from the wire.
pub(crate) fn forget_ended(worker: &Worker) {
    let keys = take_ended();
    if !keys.is_empty() {
        worker.with(|state| keys.into_iter().for_each(|key| state.engine.wire_mut().undeclare(key)));
    }
}

/// Declares the topology of a new communicator. Collective over `parent`, from which it was
/// created: on return, the grants of all processes have been sent, and this process has acted on
/// those it received.
pub(super) fn declare(parent: &Arc<Comm>, made: Option<Comm>) -> Result<Option<Comm>> {
    if parent.group.size() == 1 {
        return Ok(made);
    }
    let worker = progress::worker()?;
    forget_ended(worker);
    datatypes::prepare();
    let key = new_key();
    let made = made.map(|comm| {
        let sources = comm.topology.as_ref().map_or_else(Vec::new, |topology| topology.senders(comm.rank));
        let peer = |(rank, weight): (usize, u64)| (comm.group.peers[rank], weight);
        let sources: Vec<_> = sources.into_iter().map(peer).collect();
        worker.with(|state| state.engine.wire_mut().declare(key, &sources));
        comm.with_claim(Some(Arc::new(ChannelClaim::new(key))))
    });
    // The members that must act for this wait to end are in the same call, so no process waits for
    // one that computes.
    worker.wait_for(|_| WaitTarget::Other, |state| state.engine.wire().has_granted(key).then_some(()));
    collectives::wait_for_all(parent.handle())?;
    worker.poll_in_passing();
    show("a topology was declared");
    Ok(made)
}

/// Prints the layout of this process's channel, if TOWPATH_SHOW_CHANNEL is 1.
pub(crate) fn show(occasion: &str) {
    static WANTED: LazyLock<bool> = LazyLock::new(|| config::number("TOWPATH_SHOW_CHANNEL") == Some(1));
    if !*WANTED {
        return;
    }
    let Ok(worker) = progress::worker() else { return };
    let me = process::name_of(process::me());
    let mut lines = format!("towpath: channel of {me} ({occasion}):");
    let (sections, strict) = worker.with(|state| {
        let wires = state.engine.wire();
        (wires.sections(), wires.is_strict())
    });
    if sections.is_empty() {
        lines.push_str(" header slots only");
    }
    for section in sections {
        let why = match section.weight {
            Some(weight) => format!("declared with weight {weight}"),
            None if strict => "no neighbour".to_owned(),
            None => "observed".to_owned(),
        };
        let what = match section.bytes {
            bytes if strict => format!("section of {bytes} bytes"),
            0 => "header slot".to_owned(),
            bytes => format!("ring of {} KiB", bytes / 1024),
        };
        lines.push_str(&format!("\n  from {}: {what}, {why}", process::name_of(section.from)));
    }
    process::say_lines(&lines);
}
