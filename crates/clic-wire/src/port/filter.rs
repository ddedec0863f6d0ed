//! What the kernel lets through to a packet socket: a program of the classic Berkeley filter,
//! attached before the socket is bound and locked. It sees the packet from CLIC's header on.
//!
//! Passes: CLIC's version, for this endpoint (or for everybody, but never bulk), addressed to this
//! host or to a group, not sent by it. Every socket of the ethertype on a host runs its filter over
//! every frame: some 20 ns each.

use std::io;
use std::os::fd::OwnedFd;

use super::system::set;
use towpath_clic::endpoint::EVERYBODY;
use towpath_clic::frame::{HEADER_BYTES, Kind, VERSION};

/// Which frames a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// All but bulk.
    Small,
    /// Bulk.
    Bulk,
}

const ENDPOINT: u32 = 12;
const VERSION_AND_KIND: u32 = 16;
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
const ALL: u32 = u32::MAX;

/// A step of the program; jumps name the number of steps to skip.
fn step(code: u32, value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: then, jf: otherwise, k: value }
}

fn load(width: u32, from: u32) -> libc::sock_filter {
    step(libc::BPF_LD | width | libc::BPF_ABS, from, 0, 0)
}

/// As the kernel reads two bytes of a little-endian header.
fn swapped(number: u16) -> u32 {
    u32::from(number.swap_bytes())
}

/// The program.
pub(super) fn program(endpoint: u16, share: Share) -> Vec<libc::sock_filter> {
    use libc::{
        BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_LEN, BPF_RET, BPF_W,
    };
    let jump = BPF_JMP | BPF_K;
    let drop = step(BPF_RET | BPF_K, 0, 0, 0);
    let mut program = vec![
        step(BPF_LD | BPF_W | BPF_LEN, 0, 0, 0),
        step(jump | BPF_JGE, HEADER_BYTES as u32, 1, 0),
        drop,
        // Not what others get and this host sees by chance, not what it sends itself.
        load(BPF_B, PACKET_TYPE),
        step(jump | BPF_JGT, u32::from(libc::PACKET_MULTICAST), 0, 1),
        drop,
    ];
    let bulk = u32::from(VERSION << 4 | Kind::Data as u8);
    program.push(load(BPF_B, VERSION_AND_KIND));
    match share {
        Share::Bulk => program.extend([step(jump | BPF_JEQ, bulk, 1, 0), drop]),
        Share::Small => program.extend([
            step(jump | BPF_JEQ, bulk, 0, 1),
            drop,
            step(BPF_ALU | BPF_AND | BPF_K, 0xf0, 0, 0),
            step(jump | BPF_JEQ, u32::from(VERSION << 4), 1, 0),
            drop,
        ]),
    }
    program.push(load(BPF_H, ENDPOINT));
    if share == Share::Small {
        program.extend([step(jump | BPF_JEQ, swapped(EVERYBODY), 0, 1), step(BPF_RET | BPF_K, ALL, 0, 0)]);
    }
    program.extend([step(jump | BPF_JEQ, swapped(endpoint), 1, 0), drop, step(BPF_RET | BPF_K, ALL, 0, 0)]);
    program
}

/// Attaches the program, for good.
pub(super) fn attach(socket: &OwnedFd, endpoint: u16, share: Share) -> io::Result<()> {
    let mut steps = program(endpoint, share);
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the option takes such a value, which leads to so many steps.
    unsafe {
        set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        set(socket, libc::SOL_SOCKET, libc::SO_LOCK_FILTER, &1i32)
    }
}
