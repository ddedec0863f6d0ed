//! The C structures of PMIx that are exchanged with the launcher's library, as its header
//! `pmix_common.h` defines them (the same in PMIx 4 and 5), and the constants for types, keys and
//! results used here.

use std::ffi::{c_char, c_int};

/// Size in bytes of a namespace, including the terminating zero.
pub(super) const NAMESPACE_BYTES: usize = 256;
/// Size in bytes of a key, including the terminating zero.
pub(super) const KEY_BYTES: usize = 512;

/// All ranks of the namespace (PMIX_RANK_WILDCARD).
pub(super) const ALL_RANKS: u32 = u32::MAX - 1;
/// Scope of a value that all processes may read (PMIX_GLOBAL).
pub(super) const GLOBAL: u8 = 3;

/// Type tags of a [`PmixValue`].
pub(super) mod kind {
    pub(in crate::client::pmix) const BOOL: u16 = 1;
    pub(in crate::client::pmix) const STRING: u16 = 3;
    pub(in crate::client::pmix) const SIZE: u16 = 4;
    pub(in crate::client::pmix) const PID: u16 = 5;
    pub(in crate::client::pmix) const INT: u16 = 6;
    pub(in crate::client::pmix) const INT8: u16 = 7;
    pub(in crate::client::pmix) const INT16: u16 = 8;
    pub(in crate::client::pmix) const INT32: u16 = 9;
    pub(in crate::client::pmix) const INT64: u16 = 10;
    pub(in crate::client::pmix) const UINT: u16 = 11;
    pub(in crate::client::pmix) const UINT8: u16 = 12;
    pub(in crate::client::pmix) const UINT16: u16 = 13;
    pub(in crate::client::pmix) const UINT32: u16 = 14;
    pub(in crate::client::pmix) const UINT64: u16 = 15;
    pub(in crate::client::pmix) const RANK: u16 = 40;
}

/// A process: namespace and rank (`pmix_proc_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Process {
    pub(super) namespace: [c_char; NAMESPACE_BYTES],
    pub(super) rank: u32,
}

/// A value (`pmix_value_t`): a type tag, and a payload of the size of the largest type (two
/// pointers and a byte) with the alignment of a pointer.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PmixValue {
    pub(super) kind: u16,
    pub(super) data: [u64; 3],
}

/// A directive of a request (`pmix_info_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Instruction {
    pub(super) key: [c_char; KEY_BYTES],
    pub(super) flags: u32,
    pub(super) value: PmixValue,
}

pub(super) type Init = unsafe extern "C" fn(*mut Process, *mut Instruction, usize) -> c_int;
pub(super) type Put = unsafe extern "C" fn(u8, *const c_char, *mut PmixValue) -> c_int;
pub(super) type Commit = unsafe extern "C" fn() -> c_int;
pub(super) type Fence =
    unsafe extern "C" fn(*const Process, usize, *const Instruction, usize) -> c_int;
pub(super) type Get = unsafe extern "C" fn(
    *const Process,
    *const c_char,
    *const Instruction,
    usize,
    *mut *mut PmixValue,
) -> c_int;
pub(super) type Finalize = unsafe extern "C" fn(*const Instruction, usize) -> c_int;
pub(super) type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut Process, usize) -> c_int;
pub(super) type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;

impl Process {
    pub(super) fn empty() -> Process {
        Process { namespace: [0; NAMESPACE_BYTES], rank: 0 }
    }

    /// Returns another process of the same namespace.
    pub(super) fn with_rank(self, rank: u32) -> Process {
        Process { rank, ..self }
    }
}

impl Instruction {
    /// Returns the directive `key = true`.
    pub(super) fn yes(key: &str) -> Instruction {
        let mut bytes = [0; KEY_BYTES];
        for (to, from) in bytes.iter_mut().zip(key.bytes().take(KEY_BYTES - 1)) {
            *to = from as c_char;
        }
        Instruction { key: bytes, flags: 0, value: PmixValue { kind: kind::BOOL, data: [1, 0, 0] } }
    }
}

/// Returns the integer in a value, whatever its width; `None` if the value is not an integer. The
/// tag gives the width, and servers use different widths for the same key.
pub(super) fn number(value: &PmixValue) -> Option<i64> {
    let bytes = value.data[0].to_ne_bytes();
    let [a, b, c, d, ..] = bytes;
    Some(match value.kind {
        kind::BOOL | kind::UINT8 => i64::from(a),
        kind::INT8 => i64::from(a as i8),
        kind::INT16 => i64::from(i16::from_ne_bytes([a, b])),
        kind::UINT16 => i64::from(u16::from_ne_bytes([a, b])),
        kind::INT | kind::INT32 | kind::PID => i64::from(i32::from_ne_bytes([a, b, c, d])),
        kind::UINT | kind::UINT32 | kind::RANK => i64::from(u32::from_ne_bytes([a, b, c, d])),
        kind::INT64 => i64::from_ne_bytes(bytes),
        kind::SIZE | kind::UINT64 => i64::try_from(u64::from_ne_bytes(bytes)).ok()?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{align_of, offset_of, size_of};

    /// The layout that a C compiler gives `pmix_common.h` on 64-bit Linux.
    #[test]
    fn structures_lie_as_the_header_says() {
        assert_eq!((size_of::<Process>(), offset_of!(Process, rank)), (260, 256));
        assert_eq!(
            (size_of::<PmixValue>(), offset_of!(PmixValue, data), align_of::<PmixValue>()),
            (32, 8, 8)
        );
        assert_eq!((size_of::<Instruction>(), offset_of!(Instruction, flags)), (552, 512));
        assert_eq!(offset_of!(Instruction, value), 520);
    }

    /// Checks the same against the header itself, if it and a C compiler are installed.
    #[test]
    fn the_installed_header_agrees() {
        let source = "#include <pmix.h>\n#include <stddef.h>\n#define S(what) _Static_assert(what, #what);\n\
            S(sizeof(pmix_proc_t) == 260) S(offsetof(pmix_proc_t, rank) == 256)\n\
            S(sizeof(pmix_value_t) == 32) S(offsetof(pmix_value_t, data) == 8) S(sizeof(pmix_data_type_t) == 2)\n\
            S(sizeof(pmix_info_t) == 552) S(offsetof(pmix_info_t, flags) == 512) S(offsetof(pmix_info_t, value) == 520)\n\
            S((PMIX_RANK_WILDCARD) == 0xfffffffeu) S(PMIX_GLOBAL == 3)\n\
            S(sizeof(pmix_scope_t) == 1) S(PMIX_BOOL == 1) S(PMIX_STRING == 3) S(PMIX_SIZE == 4) S(PMIX_PID == 5)\n\
            S(PMIX_INT == 6) S(PMIX_INT64 == 10) S(PMIX_UINT == 11) S(PMIX_UINT64 == 15) S(PMIX_PROC_RANK == 40)\n";
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("layout.c");
        let compile = |text: &str| {
            std::fs::write(&file, text).unwrap();
            std::process::Command::new("cc")
                .args(["-fsyntax-only", "-I/usr/lib/x86_64-linux-gnu/pmix2/include"])
                .arg(&file)
                .output()
        };
        if !compile("#include <pmix.h>\n").is_ok_and(|run| run.status.success()) {
            eprintln!("pmix.h or a C compiler is not installed: skipped");
            return;
        }
        let run = compile(source).unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }

    #[test]
    fn numbers_are_read_by_their_type() {
        let value = |kind, word: u64| number(&PmixValue { kind, data: [word, 0, 0] });
        assert_eq!(
            value(kind::UINT32, 0xdead_0000_0004),
            Some(4),
            "what lies behind a number does not count"
        );
        assert_eq!(value(kind::INT, u64::from(u32::MAX)), Some(-1));
        assert_eq!((value(kind::UINT16, 7), value(kind::RANK, 3)), (Some(7), Some(3)));
        assert_eq!((value(kind::STRING, 5), value(kind::SIZE, u64::MAX)), (None, None));
    }
}
