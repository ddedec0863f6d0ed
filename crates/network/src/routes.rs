//! Publishes the routes of a process in its control page, for `towpath info --routes`.

use towpath_base::sync::Ordering;
use towpath_launch::client::Job;
use towpath_shm::Segment;

use super::host_of;

/// Writes lines to the control page, truncated to its size.
pub(super) fn show(segment: &Segment, lines: &[String]) {
    let place = &segment.own_control().routes;
    let text = lines.join("\n");
    let room = place.len() - 1;
    for (cell, byte) in place.iter().zip(text.bytes().take(room).chain([0])) {
        cell.store(byte, Ordering::Relaxed);
    }
}

/// The lines of a job that reaches all hosts by the same transport.
pub(super) fn all(job: &Job, way: &str) -> Vec<String> {
    let own = host_of(job, job.rank);
    let hosts = (0..job.hosts() as u32).filter(|host| *host != own);
    hosts.map(|host| format!("host {host} (rank {}): {way}", job.first_of(host))).collect()
}
