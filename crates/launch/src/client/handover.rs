//! Sets up what other launchers do not provide: an identifier and a secret for the whole job,
//! chosen by rank 0, and a segment for each host, created by the host's first rank. That rank
//! publishes where the segment is, and the others open it.
//!
//! Three ways to open it, in this order: `/proc/PID/fd/N`; a descriptor passed over an abstract
//! socket (SCM_RIGHTS), which the creator serves while it waits in the fence; a named file, created
//! only if some rank has reported that the first two failed.

use std::fs::OpenOptions;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, recvmsg, sendmsg, socket_with, sockopt,
};

mod topology_file;
mod trial;

use towpath_base::ids::JobId;

use super::Job;
use super::store::Store;
use crate::error::Error;
use crate::key::JobKey;
use crate::segment;
use crate::topology::{self, JobTopology, TopologyChoice};
use crate::wire::{escape, unescape};

pub use trial::{Trial, try_handover};

/// What the processes of a job share.
pub(super) struct HandedOver {
    /// The segment of this host.
    pub(super) segment: OwnedFd,
    /// The secret of the job.
    pub(super) key: JobKey,
    /// `None` without a topology file, and in a job of one process.
    pub(super) topology: Option<JobTopology>,
}

/// Provides the identifier and the secret of the job, the segment of this host, and the topology of
/// the job if the choice of rank 0 is a file. Collective over the job.
pub(super) fn share(
    store: &mut dyn Store,
    job: &mut Job,
    choice: &TopologyChoice,
) -> Result<HandedOver, Error> {
    let (key, has_topology) = agree(store, job, choice)?;
    let nonce = segment::nonce_of_host(job.id, job.node_of_rank[job.rank as usize]);
    if job.size == 1 {
        return Ok(HandedOver { segment: segment::make(nonce, 1)?, key, topology: None });
    }
    let topology = if has_topology { topology_file::collect(store, job)? } else { None };
    let names = HandoverNames::of_host(job.node_of_rank[job.rank as usize]);
    let own = if job.local_rank == 0 {
        lead(store, job, nonce, &names)?
    } else {
        follow(store, job, nonce, &names)?
    };
    // A failure of one rank on any host makes all hosts use the third way, because a fence is
    // collective over the whole job.
    let segment = match own {
        Some(segment) if store.get(None, REFUSED)?.is_none() => segment,
        _ => share_by_name(store, job, nonce, &names)?,
    };
    Ok(HandedOver { segment, key, topology })
}

/// Rank 0 chooses and publishes the job's identifier and secret, and whether there is a topology
/// file; the other ranks read them.
fn agree(
    store: &mut dyn Store,
    job: &mut Job,
    choice: &TopologyChoice,
) -> Result<(JobKey, bool), Error> {
    if job.rank == 0 {
        job.id = segment::new_job();
        let key = JobKey::random()
            .map_err(|error| Error::Segment { action: "created", detail: error.to_string() })?;
        let mut has_topology = false;
        if job.size > 1 {
            let topology = topology_file::to_publish(choice, job);
            has_topology = topology.is_some();
            store.put(JOB, &format!("{:x}:{}", job.id.0, key.to_text_with(has_topology)))?;
            if let Some(topology) = topology {
                store.put(topology::KEY, &topology)?;
            }
            store.fence()?;
        }
        return Ok((key, has_topology));
    }
    store.fence()?;
    let text = store.get(Some(0), JOB)?.unwrap_or_default();
    let (id, key, has_topology) = parse_job(&text).ok_or_else(|| Error::Protocol {
        launcher: store.launcher().to_owned(),
        detail: "what rank 0 has published did not arrive".to_owned(),
    })?;
    job.id = id;
    Ok((key, has_topology))
}

fn parse_job(text: &str) -> Option<(JobId, JobKey, bool)> {
    let (id, rest) = text.split_once(':')?;
    let (key, has_topology) = JobKey::parse_with(rest)?;
    Some((JobId(u128::from_str_radix(id, 16).ok()?), key, has_topology))
}

/// Key under which rank 0 publishes the identifier and the secret, and whether there is a topology.
const JOB: &str = "towpath-job";
/// Key that a rank puts if it cannot open its host's segment.
const REFUSED: &str = "towpath-refused";

struct HandoverNames {
    place: String,
    file: String,
}

impl HandoverNames {
    fn of_host(node: u32) -> HandoverNames {
        let name = |what: &str| format!("towpath-{what}-{node}");
        HandoverNames { place: name("segment"), file: name("file") }
    }
}

fn abstract_address(nonce: u64) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(format!("towpath-{nonce:016x}").as_bytes())?)
}

fn local_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// On the first rank of the host: creates the segment and serves it while the others open it.
fn lead(
    store: &mut dyn Store,
    job: &Job,
    nonce: u64,
    names: &HandoverNames,
) -> Result<Option<OwnedFd>, Error> {
    let own = segment::make(nonce, job.local_ranks.len())?;
    let listener = offer(nonce);
    store.put(&names.place, &format!("{}:{}", std::process::id(), segment::number_of(&own)))?;
    store.fence()?;
    match listener {
        Ok(listener) => store.fence_serving(&listener, &mut || {
            let _ = serve_one(&listener, &own);
        })?,
        Err(_) => store.fence()?,
    }
    Ok(Some(own))
}

/// Creates the socket on which the other ranks may request the segment.
fn offer(nonce: u64) -> io::Result<OwnedFd> {
    let listener = local_socket()?;
    bind(&listener, &abstract_address(nonce)?)?;
    listen(&listener, 4096)?;
    Ok(listener)
}

/// How a rank that did not create the segment opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Opened as `/proc/PID/fd/N`.
    Proc,
    /// Received over an abstract socket.
    Socket,
}

/// Opens the segment that another process of this host has created.
fn reach(pid: u32, number: i32, nonce: u64) -> Option<(OwnedFd, Reached)> {
    let right = |file: &OwnedFd| segment::belongs_to(file.as_fd(), nonce);
    let opened =
        segment::open_of_process(pid, number).ok().filter(right).map(|file| (file, Reached::Proc));
    opened.or_else(|| receive(nonce).ok().filter(right).map(|file| (file, Reached::Socket)))
}

/// On every other rank: opens the segment. Returns `None` if both ways fail, after publishing that
/// fact.
fn follow(
    store: &mut dyn Store,
    job: &Job,
    nonce: u64,
    names: &HandoverNames,
) -> Result<Option<OwnedFd>, Error> {
    store.fence()?;
    let place = store.get(Some(job.local_ranks[0]), &names.place)?.unwrap_or_default();
    let (pid, number) = parse_place(&place).ok_or_else(|| unreachable_segment(&place))?;
    let own = reach(pid, number, nonce).map(|(file, _)| file);
    if own.is_none() {
        // Another rank may have put the key already. Some servers refuse a second put, and one is
        // enough.
        let _ = store.put(REFUSED, "1");
    }
    store.fence()?;
    Ok(own)
}

/// The last resort: the creator makes a named file and removes it once all ranks have opened it.
fn share_by_name(
    store: &mut dyn Store,
    job: &Job,
    nonce: u64,
    names: &HandoverNames,
) -> Result<OwnedFd, Error> {
    let mut made = None;
    if job.local_rank == 0 {
        let (file, path) = segment::make_named(nonce, job.local_ranks.len())?;
        let put = store.put(&names.file, &escape(path.as_os_str().as_bytes()));
        made = Some((file, path, put));
    }
    let met = store.fence();
    let own = match &made {
        Some(_) => None,
        None => Some(open_named(store, job, nonce, names)),
    };
    let left = store.fence();
    if let Some((file, path, put)) = made {
        let _ = std::fs::remove_file(path);
        put.and(met).and(left)?;
        return Ok(file);
    }
    met.and(left)?;
    own.unwrap_or_else(|| Err(unreachable_segment("")))
}

fn open_named(
    store: &mut dyn Store,
    job: &Job,
    nonce: u64,
    names: &HandoverNames,
) -> Result<OwnedFd, Error> {
    let text = store.get(Some(job.local_ranks[0]), &names.file)?.unwrap_or_default();
    let path = std::ffi::OsString::from_vec(unescape(&text));
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .ok()
        .map(OwnedFd::from)
        .filter(|file| segment::belongs_to(file.as_fd(), nonce))
        .ok_or_else(|| unreachable_segment(&path.to_string_lossy()))
}

fn unreachable_segment(place: &str) -> Error {
    Error::Segment {
        action: "reached",
        detail: format!(
            "the first rank of this host made it ({place}), but this process can open it neither through /proc, nor \
             over a socket, nor as a file in /dev/shm or TMPDIR; start all ranks of a host in one container"
        ),
    }
}

fn parse_place(text: &str) -> Option<(u32, i32)> {
    let (pid, number) = text.split_once(':')?;
    Some((pid.parse().ok()?, number.parse().ok()?))
}

/// Sends the segment's descriptor to one process that has connected, if it runs as the same user or
/// as root.
fn serve_one(listener: &OwnedFd, segment: &OwnedFd) -> io::Result<()> {
    let peer = accept_with(listener, SocketFlags::CLOEXEC)?;
    let credentials = sockopt::socket_peercred(&peer)?;
    if credentials.uid != rustix::process::geteuid() && !credentials.uid.is_root() {
        return Ok(());
    }
    let descriptors = [segment.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(&peer, &[IoSlice::new(b"s")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Requests the segment's descriptor from its creator.
fn receive(nonce: u64) -> io::Result<OwnedFd> {
    let socket = local_socket()?;
    let address = abstract_address(nonce)?;
    retry_on_intr(|| connect(&socket, &address))?;
    let mut byte = [0u8; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    retry_on_intr(|| {
        recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    ancillary
        .drain()
        .find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        })
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_crosses_the_abstract_socket() {
        let nonce = segment::new_nonce();
        let own = segment::make(nonce, 2).unwrap();
        let listener = offer(nonce).unwrap();
        let other = std::thread::spawn(move || receive(nonce).unwrap());
        serve_one(&listener, &own).unwrap();
        assert!(segment::belongs_to(other.join().unwrap().as_fd(), nonce));
    }

    #[test]
    fn places_are_read_strictly() {
        assert_eq!(parse_place("12:7"), Some((12, 7)));
        for text in ["", "12", "12:7:ff", "x:7"] {
            assert_eq!(parse_place(text), None, "{text}");
        }
        let key = JobKey::random().unwrap();
        for (flag, has_topology) in [("0", false), ("1", true)] {
            let text = format!("ff:{}:{flag}", key.to_text());
            assert_eq!(parse_job(&text), Some((JobId(255), key.clone(), has_topology)));
        }
        for text in ["ff:", "ff::1", &format!("ff:{}:2", key.to_text())] {
            assert_eq!(parse_job(text), None, "{text}");
        }
    }
}
