//! Device memory of other processes of the host (CUDA interprocess communication, and descriptors
//! of virtual memory).
//!
//! A process describes its elements by the words of an [`Export`]. Another one opens the allocation
//! and addresses the elements there. Opened allocations are kept, because opening one takes 80 us.
//!
//! Memory that is freed while another process has it open stays in use. So a process that finds
//! that exported memory has been freed begins a new era, and who sees that closes all that it has
//! open of that process.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use towpath_base::transfer::{EXPORT_WORDS, Export};
use towpath_datatype::device::MAX_LOOPS;

use crate::abi::{Address, ContextHandle, IPC_LAZY_ENABLE_PEER_ACCESS, IpcHandle, code};
use crate::context::DeviceContext;
use crate::driver::Driver;
use crate::kernel::DevicePlacement;
use crate::pointer::{self, DeviceAllocation};
use crate::shareable::{ExportedDescriptor, Refusal, RemoteDescriptor};
use crate::tables::PlacedElements;

/// Allocations of other processes that are kept open, and own ones that may be open elsewhere.
const KEPT: usize = 64;
/// Own allocations that the driver is asked for at each export. An answer takes 200 ns.
const ASKED: usize = 1;

/// Words of an [`Export`].
const PROCESS: usize = 0;
const PID: usize = 1;
const DEVICE: usize = 2;
const ELEMENTS: usize = 4;
const LISTS: usize = ELEMENTS + ALLOCATION_WORDS;
const PLACEMENT: usize = LISTS + ALLOCATION_WORDS;
const LOOPS: usize = PLACEMENT + 7;
const ERA: usize = LOOPS + 2 * MAX_LOOPS;
/// 1 if the words describe memory.
const IS_OPENABLE: usize = ERA + 1;
const _: () = assert!(IS_OPENABLE < EXPORT_WORDS);

/// Words that describe an allocation: its first address in its process, its buffer number, the kind
/// of its handle, and its handle.
const ALLOCATION_WORDS: usize = 11;

/// An allocation of another process, as that process names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RemoteAllocation {
    /// First address in its process.
    start: Address,
    /// Differs from that of every other allocation of its process.
    buffer: u64,
    handle: RemoteHandle,
}

/// How an allocation of another process is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RemoteHandle {
    Ipc(IpcHandle),
    Descriptor(RemoteDescriptor),
}

/// The kinds of handles, as words.
const BY_IPC: u64 = 0;
const BY_DESCRIPTOR: u64 = 1;

impl RemoteHandle {
    /// Its kind and its words.
    fn encode(self) -> (u64, [u64; 8]) {
        match self {
            RemoteHandle::Ipc(IpcHandle(words)) => (BY_IPC, words),
            RemoteHandle::Descriptor(descriptor) => (BY_DESCRIPTOR, descriptor.encode()),
        }
    }
}

impl RemoteAllocation {
    fn encode(&self, words: &mut [u64]) {
        let (kind, handle) = self.handle.encode();
        words[..3].copy_from_slice(&[self.start, self.buffer, kind]);
        words[3..ALLOCATION_WORDS].copy_from_slice(&handle);
    }

    fn decode(words: &[u64]) -> RemoteAllocation {
        let handle = std::array::from_fn(|word| words[3 + word]);
        let handle = match words[2] {
            BY_DESCRIPTOR => RemoteHandle::Descriptor(RemoteDescriptor::decode(handle)),
            _ => RemoteHandle::Ipc(IpcHandle(handle)),
        };
        RemoteAllocation { start: words[0], buffer: words[1], handle }
    }
}

/// An allocation of another process that is mapped here until this is dropped.
#[derive(Debug)]
pub(crate) struct Opened {
    context: Arc<DeviceContext>,
    process: u64,
    allocation: RemoteAllocation,
    /// Address in this process.
    mapped: Address,
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            let driver = &self.context.driver;
            // SAFETY: the mapping has been made from this handle, and no copy uses it any more:
            // each holds a reference to `self`.
            unsafe {
                match self.allocation.handle {
                    RemoteHandle::Ipc(_) => {
                        (driver.calls.close_memory)(self.mapped);
                    }
                    RemoteHandle::Descriptor(descriptor) => descriptor.close(driver, self.mapped),
                }
            }
        }
    }
}

/// An allocation of this process that others may have opened.
#[derive(Debug)]
struct ExportedAllocation {
    start: Address,
    buffer: u64,
    /// Set if others open it by a descriptor.
    descriptor: Option<ExportedDescriptor>,
}

impl ExportedAllocation {
    /// True if it is the allocation that the driver has found.
    fn is(&self, found: &DeviceAllocation) -> bool {
        match (&self.descriptor, found.shareable) {
            (Some(descriptor), Some(mapping)) => descriptor.is_of(mapping),
            (None, None) => self.buffer == found.buffer,
            _ => false,
        }
    }

    /// True if the program has not freed it.
    fn exists(&self, driver: &Driver) -> bool {
        match &self.descriptor {
            Some(descriptor) => descriptor.is_in_use(driver),
            None => pointer::buffer(driver, self.start) == Some(self.buffer),
        }
    }
}

/// This process's allocations that others may have opened.
#[derive(Debug, Default)]
struct Exported {
    /// No two begin at one address. The one exported last is the last.
    allocations: Vec<ExportedAllocation>,
    /// The next allocation to ask for.
    next: usize,
    /// Grows when allocations are found to be freed.
    era: u64,
}

impl Exported {
    /// Adds an allocation, and returns what it is to other processes, and the era. Without an IPC
    /// handle it is exported by a descriptor; `None` if the driver refuses that.
    fn add(
        &mut self,
        driver: &Driver,
        found: &DeviceAllocation,
        ipc: Option<IpcHandle>,
    ) -> Option<(RemoteAllocation, u64)> {
        let (start, buffer) = (found.start, found.buffer);
        let known = self.take(found);
        let new = || ExportedDescriptor::new(driver, found.shareable?);
        let (handle, descriptor) = match ipc {
            Some(handle) => (RemoteHandle::Ipc(handle), None),
            None => {
                let descriptor = known.or_else(new)?;
                (RemoteHandle::Descriptor(descriptor.name()), Some(descriptor))
            }
        };
        if self.allocations.len() == KEPT {
            self.allocations.remove(0);
        }
        self.allocations.push(ExportedAllocation { start, buffer, descriptor });
        for _ in 1..self.allocations.len().min(ASKED + 1) {
            self.ask(driver, start);
        }
        Some((RemoteAllocation { start, buffer, handle }, self.era))
    }

    /// Removes what is known at the start of an allocation, and returns the descriptor if that is
    /// of this allocation.
    fn take(&mut self, found: &DeviceAllocation) -> Option<ExportedDescriptor> {
        let known = self.allocations.iter().position(|known| known.start == found.start)?;
        let known = self.allocations.remove(known);
        if known.is(found) {
            return known.descriptor;
        }
        // The one that was there has been freed.
        self.era += 1;
        None
    }

    /// Asks the driver whether the next allocation, other than the one at `current`, still exists.
    /// If not, asks for all, because programs free many at a time.
    fn ask(&mut self, driver: &Driver, current: Address) {
        self.next = (self.next + 1) % self.allocations.len();
        if self.allocations[self.next].start == current {
            self.next = (self.next + 1) % self.allocations.len();
        }
        let next = &self.allocations[self.next];
        if next.start != current && !next.exists(driver) {
            self.allocations.retain(|known| known.start == current || known.exists(driver));
            self.era += 1;
        }
    }
}

/// Memory of other processes that is open here.
#[derive(Debug, Default)]
struct OpenedMemory {
    /// The one used last is the last.
    allocations: Vec<Arc<Opened>>,
    /// The era of each process that is known.
    eras: Vec<(u64, u64)>,
}

impl OpenedMemory {
    /// Closes what is open of a process if that has begun a new era.
    fn enter_era(&mut self, process: u64, era: u64) {
        match self.eras.iter_mut().find(|(known, _)| *known == process) {
            // A message that was sent earlier may be read later.
            Some((_, known)) if *known >= era => {}
            Some((_, known)) => {
                *known = era;
                self.allocations.retain(|opened| opened.process != process);
            }
            None => self.eras.push((process, era)),
        }
    }
}

/// This process's name to others, and the memory of others that it has opened.
#[derive(Debug)]
pub(crate) struct Processes {
    /// A random number that no other process has.
    own: u64,
    exported: Mutex<Exported>,
    opened: Mutex<OpenedMemory>,
    /// Processes whose memory cannot be opened in a context, with the kind of handle.
    refused: Mutex<Vec<(u64, ContextHandle, u64)>>,
    /// Set once the driver has said that it exports no memory by IPC.
    exports_nothing: OnceLock<()>,
}

impl Processes {
    pub(crate) fn new() -> Processes {
        let own = RandomState::new().hash_one(std::process::id());
        Processes {
            own,
            exported: Mutex::default(),
            opened: Mutex::default(),
            refused: Mutex::default(),
            exports_nothing: OnceLock::new(),
        }
    }

    /// Names this process and the device, but no memory.
    pub(crate) fn name(&self, context: &DeviceContext) -> Export {
        let mut words = [0; EXPORT_WORDS];
        words[PROCESS] = self.own;
        words[PID] = std::process::id().into();
        words[DEVICE..DEVICE + 2].copy_from_slice(&context.uuid.words());
        Export(words)
    }

    /// True if memory of the process that has made `theirs` may be opened by IPC in a context.
    /// Within a process nothing is opened.
    pub(crate) fn may_open(&self, context: &DeviceContext, theirs: &Export) -> bool {
        let process = theirs.0[PROCESS];
        let is_refused = self.refused().contains(&(process, context.handle, BY_IPC));
        process != self.own && self.exports_any() && !is_refused
    }

    /// False if the driver exports no memory by IPC.
    pub(crate) fn exports_any(&self) -> bool {
        self.exports_nothing.get().is_none()
    }

    /// Describes an allocation of this process; `None` if it cannot be opened elsewhere. Returns
    /// the era as well.
    fn describe(
        &self,
        driver: &Driver,
        found: &DeviceAllocation,
    ) -> Option<(RemoteAllocation, u64)> {
        let ipc = match found.shareable {
            Some(_) => None,
            None => Some(self.ipc_handle(driver, found)?),
        };
        self.exported().add(driver, found, ipc)
    }

    /// The IPC handle of an allocation of this process; `None` if it has none.
    fn ipc_handle(&self, driver: &Driver, found: &DeviceAllocation) -> Option<IpcHandle> {
        if !self.exports_any() {
            return None;
        }
        let mut handle = IpcHandle([0; 8]);
        // SAFETY: the driver writes one handle, and checks the address.
        match unsafe { (driver.calls.export_memory)(&raw mut handle, found.start) } {
            code::SUCCESS => Some(handle),
            code::NOT_SUPPORTED => {
                self.exports_nothing.get_or_init(|| ());
                None
            }
            _ => None,
        }
    }

    /// Describes elements for other processes. The context must be current.
    pub(crate) fn export(
        &self,
        context: &DeviceContext,
        allocation: &DeviceAllocation,
        placed: &PlacedElements,
    ) -> Option<Export> {
        let placement = &placed.placement;
        let Export(mut words) = self.name(context);
        words[IS_OPENABLE] = 1;
        let driver = &context.driver;
        let (elements, era) = self.describe(driver, allocation)?;
        elements.encode(&mut words[ELEMENTS..]);
        words[ERA] = era;
        if let Some(lists) = &placed.lists {
            let lists = pointer::allocation(driver, lists.memory).ok()??;
            let (lists, era) = self.describe(driver, &lists)?;
            lists.encode(&mut words[LISTS..]);
            words[ERA] = era;
        }
        words[PLACEMENT..LOOPS].copy_from_slice(&[
            placement.base,
            placement.block as u64,
            placement.offsets,
            placement.starts,
            placement.entries as u64,
            placement.alignment,
            placement.depth as u64,
        ]);
        for (words, (count, stride)) in words[LOOPS..].chunks_exact_mut(2).zip(placement.loops) {
            words.copy_from_slice(&[count as u64, stride as u64]);
        }
        Some(Export(words))
    }

    /// True if the process that has made `theirs` should copy, rather than this one.
    ///
    /// Two processes that use a device in turns make it switch between their contexts, which takes
    /// 136 us on an H200. So one of each pair makes all copies of both: the one with the lower
    /// process number, which is the lower rank where ranks are started in order. A process whose
    /// memory cannot be opened must copy in any case.
    pub(crate) fn prefers(&self, context: &DeviceContext, theirs: &Export) -> bool {
        let words = &theirs.0;
        let is_first = words[DEVICE..DEVICE + 2] == context.uuid.words()
            && words[PID] < u64::from(std::process::id());
        words[PROCESS] != self.own && (is_first || words[IS_OPENABLE] == 0)
    }

    /// Opens the memory that another process has described, and returns where its elements are in
    /// this process. The context must be current.
    pub(crate) fn open(
        &self,
        context: &Arc<DeviceContext>,
        export: &Export,
    ) -> Option<(PlacedElements, Vec<Arc<Opened>>)> {
        let words = &export.0;
        if words[IS_OPENABLE] == 0 {
            return None;
        }
        let mut placement = DevicePlacement {
            base: words[PLACEMENT],
            block: words[PLACEMENT + 1] as usize,
            offsets: words[PLACEMENT + 2],
            starts: words[PLACEMENT + 3],
            entries: words[PLACEMENT + 4] as usize,
            alignment: words[PLACEMENT + 5],
            depth: (words[PLACEMENT + 6] as usize).min(MAX_LOOPS),
            loops: std::array::from_fn(|level| {
                (words[LOOPS + 2 * level] as usize, words[LOOPS + 2 * level + 1] as i64)
            }),
        };
        let process = words[PROCESS];
        let mut opened = Vec::new();
        if process == self.own {
            return Some((PlacedElements { placement, lists: None }, opened));
        }
        self.opened().enter_era(process, words[ERA]);
        let elements = RemoteAllocation::decode(&words[ELEMENTS..]);
        let process = (process, words[PID] as u32);
        opened.push(self.mapping(context, process, elements)?);
        placement.base = moved(placement.base, &opened[0]);
        if placement.offsets != 0 {
            let lists = RemoteAllocation::decode(&words[LISTS..]);
            let lists = self.mapping(context, process, lists)?;
            placement.offsets = moved(placement.offsets, &lists);
            if placement.starts != 0 {
                placement.starts = moved(placement.starts, &lists);
            }
            opened.push(lists);
        }
        Some((PlacedElements { placement, lists: None }, opened))
    }

    fn exported(&self) -> MutexGuard<'_, Exported> {
        self.exported.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn refused(&self) -> MutexGuard<'_, Vec<(u64, ContextHandle, u64)>> {
        self.refused.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn opened(&self) -> MutexGuard<'_, OpenedMemory> {
        self.opened.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The mapping of an allocation in this process.
    fn mapping(
        &self,
        context: &Arc<DeviceContext>,
        (process, pid): (u64, u32),
        allocation: RemoteAllocation,
    ) -> Option<Arc<Opened>> {
        let mut opened = self.opened();
        let opened = &mut opened.allocations;
        let found = opened.iter().position(|opened| {
            opened.process == process
                && opened.allocation.start == allocation.start
                && Arc::ptr_eq(&opened.context, context)
        });
        if let Some(found) = found {
            let entry = opened.remove(found);
            // Otherwise the process has freed the allocation, and has another one at its address.
            if entry.allocation == allocation {
                opened.push(entry.clone());
                return Some(entry);
            }
        }
        let mapped = self.open_allocation(context, (process, pid), allocation.handle)?;
        let entry = Arc::new(Opened { context: context.clone(), process, allocation, mapped });
        if opened.len() == KEPT {
            opened.remove(0);
        }
        opened.push(entry.clone());
        Some(entry)
    }

    fn open_allocation(
        &self,
        context: &DeviceContext,
        (process, pid): (u64, u32),
        handle: RemoteHandle,
    ) -> Option<Address> {
        let mut refused = self.refused();
        let (kind, _) = handle.encode();
        if refused.contains(&(process, context.handle, kind)) {
            return None;
        }
        let mapped = match handle {
            RemoteHandle::Ipc(handle) => open_by_ipc(&context.driver, handle),
            RemoteHandle::Descriptor(descriptor) => descriptor.open(&context.driver, pid),
        };
        if mapped == Err(Refusal::Always) {
            refused.push((process, context.handle, kind));
        }
        mapped.ok()
    }
}

fn open_by_ipc(driver: &Driver, handle: IpcHandle) -> Result<Address, Refusal> {
    let (mut mapped, flags) = (0, IPC_LAZY_ENABLE_PEER_ACCESS);
    // SAFETY: the driver writes one address, and checks the handle.
    let result = unsafe { (driver.calls.open_memory)(&raw mut mapped, handle, flags) };
    Refusal::of(result).map_or(Ok(mapped), Err)
}

/// An address of another process's allocation, in this process.
fn moved(address: Address, opened: &Opened) -> Address {
    address.wrapping_sub(opened.allocation.start).wrapping_add(opened.mapped)
}
