//! The kernel-side packet filter of a packet socket: a classic BPF program, attached and locked
//! before the socket is bound. It sees the packet from CLIC's header on.
//!
//! It accepts CLIC's version, for this endpoint (or for all endpoints, except bulk), addressed to
//! this host or to a group, and not sent by this host. Every socket of the ethertype on a host runs
//! its filter on every frame, at about 20 ns each.

use std::io;
use std::os::fd::OwnedFd;

use super::system::set;
use towpath_clic::endpoint::EVERYBODY;
use towpath_clic::frame::{HEADER_BYTES, Kind, VERSION};

/// The frames that a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilterShare {
    /// All but bulk.
    Small,
    /// Bulk.
    Bulk,
}

const ENDPOINT: u32 = 12;
const VERSION_AND_KIND: u32 = 16;
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
const ALL: u32 = u32::MAX;

/// An instruction of the program; jumps give the number of instructions to skip.
fn step(code: u32, value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: then, jf: otherwise, k: value }
}

fn load(width: u32, from: u32) -> libc::sock_filter {
    step(libc::BPF_LD | width | libc::BPF_ABS, from, 0, 0)
}

/// The value that the kernel loads for two bytes of a little-endian header.
fn swapped(number: u16) -> u32 {
    u32::from(number.swap_bytes())
}

/// Assembles the program.
pub(super) fn program(endpoint: u16, share: FilterShare) -> Vec<libc::sock_filter> {
    use libc::{
        BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_LEN,
        BPF_RET, BPF_W,
    };
    let jump = BPF_JMP | BPF_K;
    let drop = step(BPF_RET | BPF_K, 0, 0, 0);
    let mut program = vec![
        step(BPF_LD | BPF_W | BPF_LEN, 0, 0, 0),
        step(jump | BPF_JGE, HEADER_BYTES as u32, 1, 0),
        drop,
        // Reject packets that this host sees only by chance (promiscuous mode), and its own.
        load(BPF_B, PACKET_TYPE),
        step(jump | BPF_JGT, u32::from(libc::PACKET_MULTICAST), 0, 1),
        drop,
    ];
    let bulk = u32::from(VERSION << 4 | Kind::Data as u8);
    program.push(load(BPF_B, VERSION_AND_KIND));
    match share {
        FilterShare::Bulk => program.extend([step(jump | BPF_JEQ, bulk, 1, 0), drop]),
        FilterShare::Small => program.extend([
            step(jump | BPF_JEQ, bulk, 0, 1),
            drop,
            step(BPF_ALU | BPF_AND | BPF_K, 0xf0, 0, 0),
            step(jump | BPF_JEQ, u32::from(VERSION << 4), 1, 0),
            drop,
        ]),
    }
    program.push(load(BPF_H, ENDPOINT));
    if share == FilterShare::Small {
        program.extend([
            step(jump | BPF_JEQ, swapped(EVERYBODY), 0, 1),
            step(BPF_RET | BPF_K, ALL, 0, 0),
        ]);
    }
    program.extend([
        step(jump | BPF_JEQ, swapped(endpoint), 1, 0),
        drop,
        step(BPF_RET | BPF_K, ALL, 0, 0),
    ]);
    program
}

/// Attaches the program and locks it.
pub(super) fn attach(socket: &OwnedFd, endpoint: u16, share: FilterShare) -> io::Result<()> {
    let mut steps = program(endpoint, share);
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: SO_ATTACH_FILTER takes a `sock_fprog`, which points to `len` instructions in `steps`;
    // SO_LOCK_FILTER takes an `i32`.
    unsafe {
        set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        set(socket, libc::SOL_SOCKET, libc::SO_LOCK_FILTER, &1i32)
    }
}
