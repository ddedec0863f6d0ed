//! How the ranks of one host come to share a segment under a PMI-1 server: the first of them makes it and publishes
//! where it lies; the others open it.
//!
//! Three ways, in this order: `/proc/PID/fd/N`; a descriptor handed over an abstract socket, which the maker serves
//! while it waits in the fence; a file with a name, made only when some rank said that it could not use the other two.

use std::fs::OpenOptions;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, recvmsg, sendmsg,
    socket_with, sockopt,
};

mod trial;

use super::Job;
use super::pmi::Connection;
use crate::error::Error;
use crate::segment;
use crate::wire::{escape, unescape};

pub use trial::{Trial, try_handover};

/// Gives every rank of this host the segment, and the job its nonce. Collective over the job.
pub(super) fn share_segment(connection: &mut Connection, job: &mut Job) -> Result<OwnedFd, Error> {
    if job.size == 1 {
        job.nonce = segment::new_nonce();
        return segment::make(job.nonce, 1);
    }
    let names = Names::of_host(job.node_of_rank[job.rank as usize]);
    let own = if job.local_rank == 0 { lead(connection, job, &names)? } else { follow(connection, job, &names)? };
    match own {
        Some(segment) if connection.get(&names.refused)?.is_none() => Ok(segment),
        _ => share_by_name(connection, job, &names),
    }
}

struct Names {
    place: String,
    refused: String,
    file: String,
}

impl Names {
    fn of_host(node: u32) -> Names {
        let name = |what: &str| format!("towpath-{what}-{node}");
        Names { place: name("segment"), refused: name("refused"), file: name("file") }
    }
}

fn abstract_address(nonce: u64) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(format!("towpath-{nonce:016x}").as_bytes())?)
}

fn local_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// The first rank of the host: makes the segment, serves it while the others attach.
fn lead(connection: &mut Connection, job: &mut Job, names: &Names) -> Result<Option<OwnedFd>, Error> {
    job.nonce = segment::new_nonce();
    let own = segment::make(job.nonce, job.local_ranks.len())?;
    let listener = offer(job.nonce);
    let place = format!("{}:{}:{:x}", std::process::id(), segment::number_of(&own), job.nonce);
    connection.put(&names.place, &place)?;
    connection.fence()?;
    match listener {
        Ok(listener) => connection.fence_serving(&listener, &mut || {
            let _ = serve_one(&listener, &own);
        })?,
        Err(_) => connection.fence()?,
    }
    Ok(Some(own))
}

/// A socket on which the other ranks may ask for the segment.
fn offer(nonce: u64) -> io::Result<OwnedFd> {
    let listener = local_socket()?;
    bind(&listener, &abstract_address(nonce)?)?;
    listen(&listener, 4096)?;
    Ok(listener)
}

/// How a rank that did not make the segment came by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Opened as `/proc/PID/fd/N`.
    Proc,
    /// Received over an abstract socket.
    Socket,
}

/// Opens the segment that another process of this host has made.
fn reach(pid: u32, number: i32, nonce: u64) -> Option<(OwnedFd, Reached)> {
    let right = |file: &OwnedFd| segment::belongs_to(file.as_fd(), nonce);
    let opened = segment::open_of_process(pid, number).ok().filter(right).map(|file| (file, Reached::Proc));
    opened.or_else(|| receive(nonce).ok().filter(right).map(|file| (file, Reached::Socket)))
}

/// Every other rank: opens the segment; `None` when neither way works, which it has then published.
fn follow(connection: &mut Connection, job: &mut Job, names: &Names) -> Result<Option<OwnedFd>, Error> {
    connection.fence()?;
    let place = connection.get(&names.place)?.unwrap_or_default();
    let (pid, number, nonce) = parse_place(&place).ok_or_else(|| unreachable_segment(&place))?;
    job.nonce = nonce;
    let own = reach(pid, number, nonce).map(|(file, _)| file);
    if own.is_none() {
        // Another rank may have put the key before: some servers refuse a second put, and one is enough.
        let _ = connection.put(&names.refused, "1");
    }
    connection.fence()?;
    Ok(own)
}

/// Last resort: the maker makes a file with a name and removes it when all have opened it.
fn share_by_name(connection: &mut Connection, job: &mut Job, names: &Names) -> Result<OwnedFd, Error> {
    let mut made = None;
    if job.local_rank == 0 {
        let (file, path) = segment::make_named(job.nonce, job.local_ranks.len())?;
        let put = connection.put(&names.file, &escape(path.as_os_str().as_bytes()));
        made = Some((file, path, put));
    }
    let met = connection.fence();
    let own = match &made {
        Some(_) => None,
        None => Some(open_named(connection, job.nonce, names)),
    };
    let left = connection.fence();
    if let Some((file, path, put)) = made {
        let _ = std::fs::remove_file(path);
        put.and(met).and(left)?;
        return Ok(file);
    }
    met.and(left)?;
    own.unwrap_or_else(|| Err(unreachable_segment("")))
}

fn open_named(connection: &mut Connection, nonce: u64, names: &Names) -> Result<OwnedFd, Error> {
    let text = connection.get(&names.file)?.unwrap_or_default();
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

fn parse_place(text: &str) -> Option<(u32, i32, u64)> {
    let mut parts = text.split(':');
    let place =
        (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, u64::from_str_radix(parts.next()?, 16).ok()?);
    parts.next().is_none().then_some(place)
}

/// Hands the segment to one process that has connected, if it runs under the same user.
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

/// Asks the maker for the segment.
fn receive(nonce: u64) -> io::Result<OwnedFd> {
    let socket = local_socket()?;
    connect(&socket, &abstract_address(nonce)?)?;
    let mut byte = [0u8; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
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
        assert_eq!(parse_place("12:7:ff"), Some((12, 7, 255)));
        for text in ["", "12:7", "12:7:ff:1", "x:7:ff"] {
            assert_eq!(parse_place(text), None, "{text}");
        }
    }
}
