//! The binary interface of libfabric (symbol versions FABRIC_1.0 to 1.3, which all of 1.17 to 2.x
//! provide): the fields and functions in use, at the offsets of its headers. Tables are declared
//! only as far as they are needed; tables and structures grow only at their ends. A test compares
//! all offsets with the headers if these are installed.

use std::ffi::{c_char, c_int, c_void};

use libc::{size_t, ssize_t};

/// The requested version of the interface, 1.17: the major number is in the upper half.
pub(super) const VERSION: u32 = 1 << 16 | 17;

pub(super) mod cap {
    pub(crate) const MSG: u64 = 1 << 1;
    pub(crate) const RMA: u64 = 1 << 2;
    pub(crate) const READ: u64 = 1 << 8;
    pub(crate) const RECV: u64 = 1 << 10;
    pub(crate) const SEND: u64 = 1 << 11;
    pub(crate) const REMOTE_READ: u64 = 1 << 12;
}

/// What an application promises to a provider.
pub(super) mod mode {
    /// The context of every operation starts with memory that belongs to the provider until the
    /// operation completes.
    pub(crate) const CONTEXT: u64 = 1 << 59;
    pub(crate) const CONTEXT2: u64 = 1 << 52;
}

/// A provider's requirements on memory that it accesses.
pub(super) mod memory {
    use std::ffi::c_int;
    /// The memory of local operations must be registered too.
    pub(crate) const LOCAL: c_int = 1 << 2;
    /// Remote memory is named by its virtual address; otherwise by its offset in the region.
    pub(crate) const VIRTUAL_ADDRESS: c_int = 1 << 4;
    /// Registered memory must be backed by pages.
    pub(crate) const ALLOCATED: c_int = 1 << 5;
    /// The provider chooses the keys.
    pub(crate) const PROVIDER_KEY: c_int = 1 << 6;
    /// A region is bound to one endpoint.
    pub(crate) const ENDPOINT: c_int = 1 << 9;
}

pub(super) const ENDPOINT_RDM: c_int = 3;
pub(super) const THREAD_DOMAIN: c_int = 3;
pub(super) const PROGRESS_MANUAL: c_int = 2;
pub(super) const RESOURCES_MANAGED: c_int = 2;
pub(super) const ADDRESSES_TABLE: c_int = 2;
pub(super) const ORDER_SENDS: u64 = 1 << 8;
pub(super) const FORMAT_MSG: c_int = 2;
pub(super) const WAIT_NONE: c_int = 0;
pub(super) const WAIT_DESCRIPTOR: c_int = 3;
/// Commands of [`FidOps::control`].
pub(super) const GET_WAIT: c_int = 5;
pub(super) const ENABLE: c_int = 6;
/// Address formats: an IPv4 and an IPv6 socket address.
pub(super) const ADDRESS_IPV4: u32 = 2;
pub(super) const ADDRESS_IPV6: u32 = 3;
/// The wildcard address.
pub(super) const ANYBODY: u64 = u64::MAX;
/// Error numbers of libfabric beyond `errno`.
pub(super) const ERROR_AVAILABLE: ssize_t = -259;
pub(super) const AGAIN: ssize_t = -(libc::EAGAIN as ssize_t);
pub(super) const KEY_TAKEN: c_int = 266;

/// A function that is not used here.
pub(super) type Unused = *const c_void;

#[repr(C)]
pub(super) struct Info {
    pub(super) next: *mut Info,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) addr_format: u32,
    pub(super) src_addrlen: size_t,
    pub(super) dest_addrlen: size_t,
    pub(super) src_addr: *mut c_void,
    pub(super) dest_addr: *mut c_void,
    pub(super) handle: *mut c_void,
    pub(super) tx_attr: *mut TxAttr,
    pub(super) rx_attr: *mut RxAttr,
    pub(super) ep_attr: *mut EpAttr,
    pub(super) domain_attr: *mut DomainAttr,
    pub(super) fabric_attr: *mut FabricAttr,
}

#[repr(C)]
pub(super) struct TxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
}

#[repr(C)]
pub(super) struct RxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
}

#[repr(C)]
pub(super) struct EpAttr {
    pub(super) kind: c_int,
    pub(super) protocol: u32,
    pub(super) protocol_version: u32,
    pub(super) max_msg_size: size_t,
}

#[repr(C)]
pub(super) struct DomainAttr {
    pub(super) domain: *mut c_void,
    pub(super) name: *mut c_char,
    pub(super) threading: c_int,
    pub(super) control_progress: c_int,
    pub(super) data_progress: c_int,
    pub(super) resource_mgmt: c_int,
    pub(super) av_type: c_int,
    pub(super) mr_mode: c_int,
    pub(super) mr_key_size: size_t,
}

#[repr(C)]
pub(super) struct FabricAttr {
    pub(super) fabric: *mut c_void,
    pub(super) name: *mut c_char,
    pub(super) prov_name: *mut c_char,
}

/// The common header of all objects.
#[repr(C)]
pub(super) struct Fid {
    pub(super) class: size_t,
    pub(super) context: *mut c_void,
    pub(super) ops: *const FidOps,
}

#[repr(C)]
pub(super) struct FidOps {
    pub(super) size: size_t,
    pub(super) close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub(super) bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub(super) control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct Fabric {
    pub(super) fid: Fid,
    pub(super) ops: *const FabricOps,
}

#[repr(C)]
pub(super) struct FabricOps {
    pub(super) size: size_t,
    pub(super) domain:
        unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    pub(super) passive_ep: Unused,
    pub(super) eq_open: Unused,
    pub(super) wait_open: Unused,
    pub(super) trywait: unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int,
}

#[repr(C)]
pub(super) struct Domain {
    pub(super) fid: Fid,
    pub(super) ops: *const DomainOps,
    pub(super) mr: *const MemoryOps,
}

#[repr(C)]
pub(super) struct DomainOps {
    pub(super) size: size_t,
    pub(super) av_open:
        unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int,
    pub(super) cq_open:
        unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int,
    pub(super) endpoint:
        unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct MemoryOps {
    pub(super) size: size_t,
    pub(super) reg: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        size_t,
        u64,
        u64,
        u64,
        u64,
        *mut *mut RegisteredMemory,
        *mut c_void,
    ) -> c_int,
}

/// Registered memory.
#[repr(C)]
pub(super) struct RegisteredMemory {
    pub(super) fid: Fid,
    pub(super) mem_desc: *mut c_void,
    pub(super) key: u64,
}

#[repr(C)]
pub(super) struct AvAttr {
    pub(super) kind: c_int,
    pub(super) rx_ctx_bits: c_int,
    pub(super) count: size_t,
    pub(super) ep_per_node: size_t,
    pub(super) name: *const c_char,
    pub(super) map_addr: *mut c_void,
    pub(super) flags: u64,
}

#[repr(C)]
pub(super) struct Av {
    pub(super) fid: Fid,
    pub(super) ops: *const AvOps,
}

#[repr(C)]
pub(super) struct AvOps {
    pub(super) size: size_t,
    pub(super) insert:
        unsafe extern "C" fn(*mut Av, *const c_void, size_t, *mut u64, u64, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct CqAttr {
    pub(super) size: size_t,
    pub(super) flags: u64,
    pub(super) format: c_int,
    pub(super) wait_obj: c_int,
    pub(super) signaling_vector: c_int,
    pub(super) wait_cond: c_int,
    pub(super) wait_set: *mut c_void,
}

#[repr(C)]
pub(super) struct Cq {
    pub(super) fid: Fid,
    pub(super) ops: *const CqOps,
}

#[repr(C)]
pub(super) struct CqOps {
    pub(super) size: size_t,
    pub(super) read: unsafe extern "C" fn(*mut Cq, *mut c_void, size_t) -> ssize_t,
    pub(super) readfrom: Unused,
    pub(super) readerr: unsafe extern "C" fn(*mut Cq, *mut CqErrEntry, u64) -> ssize_t,
}

/// A completion.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CqEntry {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: size_t,
}

/// A failed completion, with room for fields of later versions.
#[repr(C)]
pub(super) struct CqErrEntry {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: size_t,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
    pub(super) olen: size_t,
    pub(super) err: c_int,
    pub(super) prov_errno: c_int,
    pub(super) err_data: *mut c_void,
    pub(super) err_data_size: size_t,
    pub(super) room: [u64; 16],
}

#[repr(C)]
pub(super) struct Ep {
    pub(super) fid: Fid,
    pub(super) ops: Unused,
    pub(super) cm: *const CmOps,
    pub(super) msg: *const MsgOps,
    pub(super) rma: *const RmaOps,
}

#[repr(C)]
pub(super) struct CmOps {
    pub(super) size: size_t,
    pub(super) setname: Unused,
    pub(super) getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut size_t) -> c_int,
}

#[repr(C)]
pub(super) struct MsgOps {
    pub(super) size: size_t,
    pub(super) recv: unsafe extern "C" fn(
        *mut Ep,
        *mut c_void,
        size_t,
        *mut c_void,
        u64,
        *mut c_void,
    ) -> ssize_t,
    pub(super) recvv: Unused,
    pub(super) recvmsg: Unused,
    pub(super) send: unsafe extern "C" fn(
        *mut Ep,
        *const c_void,
        size_t,
        *mut c_void,
        u64,
        *mut c_void,
    ) -> ssize_t,
}

#[repr(C)]
pub(super) struct RmaOps {
    pub(super) size: size_t,
    pub(super) read: unsafe extern "C" fn(
        *mut Ep,
        *mut c_void,
        size_t,
        *mut c_void,
        u64,
        u64,
        u64,
        *mut c_void,
    ) -> ssize_t,
}

pub(super) type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;
pub(super) type FreeInfo = unsafe extern "C" fn(*mut Info);
pub(super) type DuplicateInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
pub(super) type OpenFabric =
    unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int;
pub(super) type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;
pub(super) type GetVersion = unsafe extern "C" fn() -> u32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::process::Command;

    macro_rules! offsets {
        ($($theirs:literal $own:ident { $($field:ident = $name:literal),* })*) => {
            vec![$($((concat!("struct ", $theirs), $name, offset_of!($own, $field))),*),*]
        };
    }

    fn offsets() -> Vec<(&'static str, &'static str, usize)> {
        offsets! {
            "fi_info" Info { next = "next", caps = "caps", mode = "mode", addr_format = "addr_format",
                src_addrlen = "src_addrlen", dest_addrlen = "dest_addrlen", src_addr = "src_addr", dest_addr = "dest_addr",
                handle = "handle", tx_attr = "tx_attr", rx_attr = "rx_attr", ep_attr = "ep_attr",
                domain_attr = "domain_attr", fabric_attr = "fabric_attr" }
            "fi_tx_attr" TxAttr { caps = "caps", mode = "mode", op_flags = "op_flags", msg_order = "msg_order" }
            "fi_rx_attr" RxAttr { caps = "caps", mode = "mode", op_flags = "op_flags", msg_order = "msg_order" }
            "fi_ep_attr" EpAttr { kind = "type", protocol = "protocol", protocol_version = "protocol_version",
                max_msg_size = "max_msg_size" }
            "fi_domain_attr" DomainAttr { domain = "domain", name = "name", threading = "threading",
                control_progress = "control_progress", data_progress = "data_progress", resource_mgmt = "resource_mgmt",
                av_type = "av_type", mr_mode = "mr_mode", mr_key_size = "mr_key_size" }
            "fi_fabric_attr" FabricAttr { fabric = "fabric", name = "name", prov_name = "prov_name" }
            "fid" Fid { class = "fclass", context = "context", ops = "ops" }
            "fi_ops" FidOps { size = "size", close = "close", bind = "bind", control = "control" }
            "fid_fabric" Fabric { fid = "fid", ops = "ops" }
            "fi_ops_fabric" FabricOps { size = "size", domain = "domain", trywait = "trywait" }
            "fid_domain" Domain { fid = "fid", ops = "ops", mr = "mr" }
            "fi_ops_domain" DomainOps { size = "size", av_open = "av_open", cq_open = "cq_open", endpoint = "endpoint" }
            "fi_ops_mr" MemoryOps { size = "size", reg = "reg" }
            "fid_mr" RegisteredMemory { fid = "fid", mem_desc = "mem_desc", key = "key" }
            "fi_av_attr" AvAttr { kind = "type", rx_ctx_bits = "rx_ctx_bits", count = "count",
                ep_per_node = "ep_per_node", name = "name", map_addr = "map_addr", flags = "flags" }
            "fid_av" Av { fid = "fid", ops = "ops" }
            "fi_ops_av" AvOps { size = "size", insert = "insert" }
            "fi_cq_attr" CqAttr { size = "size", flags = "flags", format = "format", wait_obj = "wait_obj",
                signaling_vector = "signaling_vector", wait_cond = "wait_cond", wait_set = "wait_set" }
            "fid_cq" Cq { fid = "fid", ops = "ops" }
            "fi_ops_cq" CqOps { size = "size", read = "read", readerr = "readerr" }
            "fi_cq_msg_entry" CqEntry { op_context = "op_context", flags = "flags", len = "len" }
            "fi_cq_err_entry" CqErrEntry { op_context = "op_context", flags = "flags", len = "len", buf = "buf",
                data = "data", tag = "tag", olen = "olen", err = "err", prov_errno = "prov_errno", err_data = "err_data",
                err_data_size = "err_data_size" }
            "fid_ep" Ep { fid = "fid", ops = "ops", cm = "cm", msg = "msg", rma = "rma" }
            "fi_ops_cm" CmOps { size = "size", getname = "getname" }
            "fi_ops_msg" MsgOps { size = "size", recv = "recv", send = "send" }
            "fi_ops_rma" RmaOps { size = "size", read = "read" }
        }
    }

    fn numbers() -> Vec<(&'static str, u64)> {
        vec![
            ("FI_MSG", cap::MSG),
            ("FI_RMA", cap::RMA),
            ("FI_READ", cap::READ),
            ("FI_RECV", cap::RECV),
            ("FI_SEND", cap::SEND),
            ("FI_REMOTE_READ", cap::REMOTE_READ),
            ("FI_CONTEXT", mode::CONTEXT),
            ("FI_CONTEXT2", mode::CONTEXT2),
            ("FI_MR_LOCAL", memory::LOCAL as u64),
            ("FI_MR_VIRT_ADDR", memory::VIRTUAL_ADDRESS as u64),
            ("FI_MR_ALLOCATED", memory::ALLOCATED as u64),
            ("FI_MR_PROV_KEY", memory::PROVIDER_KEY as u64),
            ("FI_MR_ENDPOINT", memory::ENDPOINT as u64),
            ("FI_EP_RDM", ENDPOINT_RDM as u64),
            ("FI_THREAD_DOMAIN", THREAD_DOMAIN as u64),
            ("FI_PROGRESS_MANUAL", PROGRESS_MANUAL as u64),
            ("FI_RM_ENABLED", RESOURCES_MANAGED as u64),
            ("FI_AV_TABLE", ADDRESSES_TABLE as u64),
            ("FI_ORDER_SAS", ORDER_SENDS),
            ("FI_CQ_FORMAT_MSG", FORMAT_MSG as u64),
            ("FI_WAIT_NONE", WAIT_NONE as u64),
            ("FI_WAIT_FD", WAIT_DESCRIPTOR as u64),
            ("FI_GETWAIT", GET_WAIT as u64),
            ("FI_ENABLE", ENABLE as u64),
            ("FI_SOCKADDR_IN", u64::from(ADDRESS_IPV4)),
            ("FI_SOCKADDR_IN6", u64::from(ADDRESS_IPV6)),
            ("FI_ADDR_UNSPEC", ANYBODY),
            ("-FI_EAVAIL", ERROR_AVAILABLE as u64),
            ("FI_ENOKEY", KEY_TAKEN as u64),
            ("sizeof(struct fi_context2)", super::super::pool::SCRATCH_BYTES as u64),
            ("sizeof(struct fi_cq_msg_entry)", size_of::<CqEntry>() as u64),
        ]
    }

    #[test]
    fn the_declarations_are_those_of_the_headers() {
        if !std::path::Path::new("/usr/include/rdma/fi_rma.h").exists() {
            eprintln!(
                "not compared: libfabric's headers are not installed (on Debian: apt-get install \
                 libfabric-dev)"
            );
            return;
        }
        let mut program = String::from(
            "#include <rdma/fi_domain.h>\n#include <rdma/fi_endpoint.h>\n#include <rdma/fi_cm.h>\n#include <rdma/fi_rma.h>\n",
        );
        for (theirs, field, offset) in offsets() {
            program += &format!(
                "_Static_assert(offsetof({theirs}, {field}) == {offset}, \"{theirs} {field}\");\n"
            );
        }
        for (theirs, own) in numbers() {
            program +=
                &format!("_Static_assert((uint64_t)({theirs}) == {own}ull, \"{theirs}\");\n");
        }
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let file = std::env::temp_dir().join(format!("towpath-libfabric-{}.c", std::process::id()));
        std::fs::write(&file, program).unwrap();
        let compiled = Command::new(compiler).arg("-fsyntax-only").arg(&file).output().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
}
