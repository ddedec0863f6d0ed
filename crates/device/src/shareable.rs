//! Virtual memory (`cuMemCreate`, `cuMemMap`) that one process exports by a file descriptor and
//! another one maps.
//!
//! The other process duplicates the descriptor (`pidfd_getfd`), so that the exporting one need not
//! do anything at that time. Beside the descriptor there is a word with a random number, which is
//! cleared before the descriptor is closed. Who finds that number there after it has duplicated the
//! descriptor knows that this is the process, and that it was the descriptor that is meant.
//!
//! A descriptor keeps the physical memory, which therefore keeps its number as long as the
//! descriptor is open.

use std::ffi::c_void;
use std::hash::{BuildHasher as _, RandomState};
use std::io::ErrorKind;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use towpath_base::sync::{AtomicU64, Ordering};
use towpath_machine::memory::read_process;
use towpath_machine::process::descriptor_of;

use crate::abi::{
    ACCESS_READ_WRITE, AccessDescription, Address, Code, DeviceNumber, HANDLE_TYPE_DESCRIPTOR,
    LOCATION_TYPE_DEVICE, MemoryHandle, VirtualMemory, code,
};
use crate::driver::Driver;
use crate::pointer::{self, Mapping};

/// A descriptor of another process, as that process names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemoteDescriptor {
    number: i32,
    /// Size of the mapping in bytes.
    size: usize,
    /// Address and value of the word that is there while the descriptor is open.
    word: Address,
    key: u64,
}

/// Why memory of another process cannot be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nor any other memory of that process.
    Always,
    /// Perhaps later.
    Now,
}

impl Refusal {
    /// Why a call of the driver has failed; `None` if it has not.
    pub(crate) fn of(result: Code) -> Option<Refusal> {
        match result {
            code::SUCCESS => None,
            refused if code::REFUSE_TO_OPEN.contains(&refused) => Some(Refusal::Always),
            _ => Some(Refusal::Now),
        }
    }
}

impl RemoteDescriptor {
    pub(crate) fn encode(self) -> [u64; 8] {
        [self.number as u64, self.size as u64, self.word, self.key, 0, 0, 0, 0]
    }

    pub(crate) fn decode(words: [u64; 8]) -> RemoteDescriptor {
        let [number, size, word, key, ..] = words;
        RemoteDescriptor { number: number as i32, size: size as usize, word, key }
    }

    /// Maps the memory in this process. Its context must be current.
    pub(crate) fn open(self, driver: &Driver, pid: u32) -> Result<Address, Refusal> {
        let calls = driver.virtual_memory.ok_or(Refusal::Always)?;
        self.is_open(pid)?;
        let descriptor = descriptor_of(pid, self.number).map_err(|error| refusal(&error))?;
        self.is_open(pid)?;
        let number = descriptor.as_raw_fd() as usize as *mut c_void;
        let mut handle = 0;
        // SAFETY: the driver writes one handle, and checks the descriptor.
        told(unsafe { (calls.import_handle)(&raw mut handle, number, HANDLE_TYPE_DESCRIPTOR) })?;
        let mapped = map(driver, &calls, handle, self.size);
        // SAFETY: the handle is that of this import. The mapping keeps the memory.
        unsafe { (calls.release_handle)(handle) };
        mapped
    }

    /// Ends what [`RemoteDescriptor::open`] has made.
    ///
    /// # Safety
    /// `mapped` must be its result, and nothing may use the mapping any more.
    pub(crate) unsafe fn close(self, driver: &Driver, mapped: Address) {
        if let Some(calls) = &driver.virtual_memory {
            // SAFETY: the addresses have been reserved and mapped as one, and are not used any more
            // (this function's contract).
            unsafe {
                (calls.unmap)(mapped, self.size);
                (calls.free_addresses)(mapped, self.size);
            }
        }
    }

    /// Checks that the process is the one that is meant and has not closed the descriptor.
    fn is_open(self, pid: u32) -> Result<(), Refusal> {
        let mut word = [0; 8];
        read_process(pid, self.word, &mut word).map_err(|error| refusal(&error))?;
        if u64::from_ne_bytes(word) == self.key { Ok(()) } else { Err(Refusal::Now) }
    }
}

fn refusal(error: &std::io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::Unsupported => Refusal::Always,
        _ => Refusal::Now,
    }
}

fn told(result: Code) -> Result<(), Refusal> {
    Refusal::of(result).map_or(Ok(()), Err)
}

/// Maps all of an allocation at addresses of its own, for the current context's device.
fn map(
    driver: &Driver,
    calls: &VirtualMemory,
    handle: MemoryHandle,
    size: usize,
) -> Result<Address, Refusal> {
    let (mut device, mut start): (DeviceNumber, Address) = (0, 0);
    // SAFETY: the driver writes one number and one address.
    unsafe {
        told((driver.calls.device_of_context)(&raw mut device))?;
        told((calls.reserve_addresses)(&raw mut start, size, 0, 0, 0))?;
    }
    let access = AccessDescription { kind: LOCATION_TYPE_DEVICE, device, flags: ACCESS_READ_WRITE };
    // SAFETY: the addresses have been reserved here, nobody else knows them, and the driver checks
    // size and handle. What is undone has been done before.
    unsafe {
        let mut result = told((calls.map)(start, size, 0, handle, 0));
        if result.is_ok() {
            result = told((calls.set_access)(start, size, &raw const access, 1));
            if result.is_err() {
                (calls.unmap)(start, size);
            }
        }
        if result.is_err() {
            (calls.free_addresses)(start, size);
        }
        result.map(|()| start)
    }
}

/// A descriptor of virtual memory of this process, which others may duplicate until this is
/// dropped.
#[derive(Debug)]
pub(crate) struct ExportedDescriptor {
    descriptor: OwnedFd,
    /// Contains a random number while the descriptor is open.
    word: Box<AtomicU64>,
    mapping: Mapping,
}

impl ExportedDescriptor {
    /// `None` if the driver does not export the memory.
    pub(crate) fn new(driver: &Driver, mapping: Mapping) -> Option<ExportedDescriptor> {
        let calls = driver.virtual_memory?;
        let (mut handle, mut number): (MemoryHandle, i32) = (0, -1);
        let start = mapping.start as *mut c_void;
        // SAFETY: the driver checks the address. It writes one handle, which is released once, and
        // one descriptor, which is this function's.
        let descriptor = unsafe {
            if (calls.retain_handle)(&raw mut handle, start) != code::SUCCESS {
                return None;
            }
            let into = (&raw mut number).cast();
            let result = (calls.export_handle)(into, handle, HANDLE_TYPE_DESCRIPTOR, 0);
            (calls.release_handle)(handle);
            (result == code::SUCCESS && number >= 0).then(|| OwnedFd::from_raw_fd(number))
        }?;
        towpath_machine::process::close_on_exec(&descriptor);
        let key = RandomState::new().hash_one(number).max(1);
        Some(ExportedDescriptor { descriptor, word: Box::new(AtomicU64::new(key)), mapping })
    }

    /// True if this is the descriptor of that mapping.
    pub(crate) fn is_of(&self, mapping: Mapping) -> bool {
        self.mapping == mapping
    }

    /// True if the program has not ended the mapping.
    pub(crate) fn is_in_use(&self, driver: &Driver) -> bool {
        pointer::shareable_mapping(driver, self.mapping.start) == Some(self.mapping)
    }

    /// What it is to another process.
    pub(crate) fn name(&self) -> RemoteDescriptor {
        RemoteDescriptor {
            number: self.descriptor.as_raw_fd(),
            size: self.mapping.size,
            word: self.word.as_ptr() as Address,
            key: self.word.load(Ordering::Relaxed),
        }
    }
}

impl Drop for ExportedDescriptor {
    /// Clears the word before the descriptor is closed.
    fn drop(&mut self) {
        self.word.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported() -> ExportedDescriptor {
        let (descriptor, _) = std::io::pipe().unwrap();
        ExportedDescriptor {
            descriptor: descriptor.into(),
            word: Box::new(AtomicU64::new(77)),
            mapping: Mapping { start: 1 << 40, size: 2 << 20, physical: 5 },
        }
    }

    #[test]
    fn a_name_survives_its_words() {
        let name = exported().name();
        assert_eq!(RemoteDescriptor::decode(name.encode()), name);
    }

    #[test]
    fn a_descriptor_is_recognized_until_it_is_closed() {
        let (exported, own) = (exported(), std::process::id());
        let name = exported.name();
        assert_eq!(name.is_open(own), Ok(()));
        assert_eq!(RemoteDescriptor { key: 78, ..name }.is_open(own), Err(Refusal::Now));
        drop(exported);
        assert_eq!(name.is_open(own), Err(Refusal::Now));
    }

    #[test]
    fn what_the_kernel_forbids_is_not_tried_again() {
        let of = |number| refusal(&std::io::Error::from_raw_os_error(number));
        assert_eq!([libc::EPERM, libc::EACCES, libc::ENOSYS].map(of), [Refusal::Always; 3]);
        assert_eq!([libc::ESRCH, libc::EBADF, libc::EMFILE].map(of), [Refusal::Now; 3]);
    }
}
