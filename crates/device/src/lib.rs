//! Device memory: NVIDIA and AMD GPUs through the CUDA driver or the HIP runtime that the program
//! has loaded.
//!
//! The library neither links nor loads the driver. It looks for it when a buffer is used after new
//! libraries have been loaded ([`Gpus::may_be_present`]), and without it costs a few instructions.
//! It creates no context: it uses that of the memory, or the active primary context of its device
//! for memory that belongs to none.
//!
//! [`Gpus`] makes the packers of `towpath_datatype::device`. Between processes of a host that can
//! open each other's memory, the device copies from layout to layout by one kernel (`transfer`,
//! `ipc`); otherwise it packs into pinned host memory (`packer`, `unpacker`).
//!
//! Work on a send buffer must be complete before the call, because the library's streams do not
//! wait for the program's. Received data is visible to every stream once the receive is complete.

mod abi;
mod api;
mod completion;
mod context;
mod driver;
mod failure;
mod free_blocks;
mod grid;
mod hiprtc;
mod host;
mod inventory;
mod ipc;
mod kernel;
mod kernel_names;
mod launch;
mod launch_queue;
pub mod memory_kinds;
mod moves;
mod packer;
mod paths;
mod pipeline;
mod pointer;
mod presence;
mod ptx;
mod reduction;
mod runs;
mod scratch;
mod shareable;
mod tables;
mod transfer;
mod unpacker;

use std::sync::{Arc, Mutex, OnceLock};

use towpath_base::transfer::{Drain, Fill};
use towpath_datatype::device::{Device, DeviceLayout, DeviceMemory, DeviceWork};
use towpath_datatype::reduce::Operation;
use towpath_datatype::{Basic, Datatype};

use abi::{Address, ContextHandle};
use context::DeviceContext;
use driver::{DeviceError, Driver, Result};
use failure::{FailedTransfer, Reporter};
use host::BrkHeap;
use kernel_names::Kernel;
use pointer::DeviceAllocation;
use presence::Libraries;
use reduction::{Reduction, StartedReduction};
use scratch::ScratchMemory;
use tables::Tables;
use transfer::{SharedState, Side, SideMemory};

pub use api::Api;
pub use failure::DeviceFailures;
pub use host::set_own_heap;
pub use inventory::{is_supported, survey};

/// What there is once the program has loaded the driver.
#[derive(Debug)]
struct Present {
    driver: Driver,
    heap: BrkHeap,
}

/// The devices that a driver shows to this process.
#[derive(Debug)]
pub struct Gpus {
    api: Api,
    libraries: Libraries,
    present: OnceLock<Present>,
    contexts: Mutex<Vec<Arc<DeviceContext>>>,
    tables: OnceLock<Tables>,
    shared: OnceLock<Arc<SharedState>>,
    /// Set once the user has been told that the driver cannot be used.
    complained: OnceLock<()>,
    /// True if the driver can work on this machine, once that has been asked.
    may_work: OnceLock<bool>,
    reporter: Reporter,
}

impl Gpus {
    /// No driver has been looked for yet. `report` is told by a sentence when a device or its
    /// driver fails. What it was to move or compute has undefined content then.
    pub const fn new(api: Api, report: fn(&str)) -> Gpus {
        Gpus {
            api,
            libraries: Libraries::new(),
            present: OnceLock::new(),
            contexts: Mutex::new(Vec::new()),
            tables: OnceLock::new(),
            shared: OnceLock::new(),
            complained: OnceLock::new(),
            may_work: OnceLock::new(),
            reporter: Reporter(report),
        }
    }

    /// False if the program has no driver, at the cost of a few instructions.
    #[inline(always)]
    pub fn may_be_present(&self) -> bool {
        self.libraries.have_grown()
    }

    /// True if the program has loaded the driver.
    pub fn is_present(&self) -> bool {
        self.present().is_some()
    }

    /// What there is, if the program has loaded the driver. A search opens files, so there is none
    /// unless it has loaded new libraries.
    fn present(&self) -> Option<&Present> {
        let look = || if self.may_be_present() { self.look() } else { None };
        self.present.get().or_else(look)
    }

    /// True if programs on this host may use the driver. Opens no file unless the program has
    /// loaded new libraries.
    pub fn may_be_on_host(&self) -> bool {
        self.is_present() || *self.may_work.get_or_init(|| inventory::may_work(self.api))
    }

    /// True if `address` is in the memory of a device that the processor cannot access. Pinned and
    /// managed memory is host memory.
    #[cold]
    pub fn holds(&self, address: *const u8) -> bool {
        let Some(Present { driver, heap }) = self.present() else { return false };
        // If the driver does not tell, the processor had better not access the memory.
        !host::is_host(heap, address as usize)
            && self.reporter.ok(pointer::is_on_device(driver, address as Address)).unwrap_or(true)
    }

    /// True if elements of `datatype` at `buffer` are in device memory, some of them at least. The
    /// first byte decides, except with `MPI_BOTTOM`: displacements from a buffer lead to the memory
    /// that it is in, while absolute addresses may lead anywhere.
    #[cold]
    pub fn has_elements(&self, datatype: &Datatype, buffer: *const u8) -> bool {
        self.device_address(datatype, buffer).is_some()
    }

    /// An address of the elements that is in device memory.
    fn device_address(&self, datatype: &Datatype, buffer: *const u8) -> Option<Address> {
        let first = buffer.wrapping_offset(datatype.true_lb() as isize);
        if self.holds(first) {
            return Some(first as Address);
        }
        if !buffer.is_null() || self.present.get().is_none() {
            return None;
        }
        let found = absolute_blocks(datatype).into_iter().find(|&at| self.holds(at as *const u8));
        found.map(|at| at as Address)
    }

    /// True if elements at `buffer`, of which some are in device memory, are in host memory too.
    fn has_host_blocks(&self, datatype: &Datatype, buffer: *const u8) -> bool {
        let blocks = || absolute_blocks(datatype).into_iter();
        buffer.is_null() && blocks().any(|at| !self.holds(at as *const u8))
    }

    /// Launches the kernels of transfers that wait to be launched together. Failures are those of
    /// the transfers.
    #[cold]
    pub fn launch(&self) {
        if self.present.get().is_some() {
            let contexts = self.contexts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            contexts.iter().for_each(|context| context.launch_queued());
        }
    }

    /// Looks for the driver.
    fn look(&self) -> Option<&Present> {
        let end = self.libraries.end();
        let driver = match Driver::of_program(self.api) {
            Some(Ok(driver)) => driver,
            without => {
                self.libraries.remember(end);
                if let Some(Err(why)) = without {
                    self.complain(&why);
                }
                return None;
            }
        };
        let present = self.present.get_or_init(|| Present { driver, heap: BrkHeap::new() });
        self.libraries.stop();
        Some(present)
    }

    /// Tells once that the driver cannot be used.
    fn complain(&self, why: &str) {
        if self.complained.set(()).is_ok() {
            let api = self.api.name();
            eprintln!(
                "towpath: the {api} driver is too old, {why}; device memory is taken for host \
                 memory"
            );
        }
    }

    /// The elements as one side of a message.
    fn side(&self, datatype: &Datatype, pointer: *const u8, count: i64) -> Result<Side> {
        let api = self.api.name();
        let absent = || DeviceError(format!("there is no {api} driver in this process"));
        let driver = &self.present.get().ok_or_else(absent)?.driver;
        let unknown = || {
            DeviceError(format!(
                "the {api} driver does not know address {pointer:p}, which was device memory when \
                 the call began; do not free a buffer before its operation is complete"
            ))
        };
        let mut first = pointer.wrapping_offset(datatype.true_lb() as isize) as Address;
        let mut allocation = pointer::allocation(driver, first)?;
        if allocation.is_none() {
            first = self.device_address(datatype, pointer).ok_or_else(unknown)?;
            allocation = pointer::allocation(driver, first)?;
        }
        let allocation = allocation.ok_or_else(unknown)?;
        let context = self.context_of(driver, &allocation, first)?;
        let tables = self.tables.get_or_init(Tables::default);
        let placed = tables.place(&context, datatype, pointer as Address, count)?;
        let (low, high) = reach(datatype, pointer as Address, count);
        let memory = match allocation.contains(low, high) {
            true => SideMemory::One(allocation),
            false if self.has_host_blocks(datatype, pointer) => SideMemory::Mixed,
            false => SideMemory::Several,
        };
        Ok(Side::new(self.shared(), context, memory, placed))
    }

    /// The context of an allocation, which is used at an address.
    fn context_of(
        &self,
        driver: &Driver,
        allocation: &DeviceAllocation,
        address: Address,
    ) -> Result<Arc<DeviceContext>> {
        let context = self.context(driver, allocation.context)?;
        if self.shared().is_new(allocation.buffer) {
            driver.synchronize_copies(address);
        }
        Ok(context)
    }

    /// The context of `bytes` bytes of device memory; `None` if they are not in one allocation.
    fn context_of_vector(
        &self,
        driver: &Driver,
        address: Address,
        bytes: u64,
    ) -> Result<Option<Arc<DeviceContext>>> {
        if !self.holds(address as *const u8) {
            return Ok(None);
        }
        let allocation = pointer::allocation(driver, address)?;
        let end = address.wrapping_add(bytes);
        let whole = allocation.filter(|allocation| allocation.contains(address, end));
        whole.map(|allocation| self.context_of(driver, &allocation, address)).transpose()
    }

    /// Starts a reduction; see [`Device::reduce`].
    ///
    /// # Safety
    /// See [`Device::reduce`].
    unsafe fn start_reduction(
        &self,
        kernel: Kernel,
        basic: Basic,
        reduction: Reduction,
    ) -> Result<Option<StartedReduction>> {
        let Reduction { input, inout, count, .. } = reduction;
        match self.reducing_context(kernel, basic, &[(input, count), (inout, count)])? {
            // SAFETY: both vectors are memory of the context and aligned; they are valid until the
            // result is dropped, and do not overlap (this function's contract).
            Some(context) => unsafe {
                StartedReduction::start(&context, kernel, reduction, self.reporter)
            },
            None => Ok(None),
        }
    }

    /// The context whose device reduces these vectors, given by address and number of elements;
    /// `None` if there is none.
    fn reducing_context(
        &self,
        kernel: Kernel,
        basic: Basic,
        vectors: &[(Address, u64)],
    ) -> Result<Option<Arc<DeviceContext>>> {
        let Some(Present { driver, .. }) = self.present() else { return Ok(None) };
        let mut common: Option<Arc<DeviceContext>> = None;
        for &(vector, count) in vectors {
            let bytes = count.saturating_mul(basic.extent() as u64);
            let context = self.context_of_vector(driver, vector, bytes)?;
            let Some(context) = context else { return Ok(None) };
            let is_aligned = vector.is_multiple_of(basic.alignment() as u64);
            let is_other = common.as_ref().is_some_and(|known| !Arc::ptr_eq(known, &context));
            if is_other || !is_aligned {
                return Ok(None);
            }
            common = Some(context);
        }
        let Some(context) = common else { return Ok(None) };
        let entered = context.enter()?;
        let is_known = context.kernel(kernel)?.is_some();
        drop(entered);
        Ok(is_known.then_some(context))
    }

    fn context(&self, driver: &Driver, handle: ContextHandle) -> Result<Arc<DeviceContext>> {
        let mut contexts = self.contexts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = contexts.iter().find(|context| context.handle == handle) {
            return Ok(known.clone());
        }
        let context = Arc::new(DeviceContext::new(*driver, handle)?);
        contexts.push(context.clone());
        Ok(context)
    }

    fn shared(&self) -> Arc<SharedState> {
        let make = || Arc::new(SharedState::new(self.reporter));
        self.shared.get_or_init(make).clone()
    }
}

/// Blocks at absolute addresses of which each is looked at; others are like one of them.
const MOST_BLOCKS: usize = 4096;

/// The addresses of the blocks of a datatype whose displacements are addresses.
fn absolute_blocks(datatype: &Datatype) -> Vec<i64> {
    DeviceLayout::of(datatype, 1).block_offsets().take(MOST_BLOCKS).collect()
}

/// The lowest and the end address of elements.
fn reach(datatype: &Datatype, pointer: Address, count: i64) -> (Address, Address) {
    let last = datatype.extent().wrapping_mul(count.max(1) - 1);
    let (low, high) = (datatype.true_lb() + last.min(0), datatype.true_ub() + last.max(0));
    (pointer.wrapping_add_signed(low), pointer.wrapping_add_signed(high))
}

impl Device for Gpus {
    unsafe fn packer(&self, datatype: &Datatype, pointer: *const u8, count: i64) -> Box<dyn Fill> {
        let length = datatype.bytes(count.max(0)) as usize;
        match self.reporter.ok(self.side(datatype, pointer, count)) {
            Some(side) => Box::new(packer::Packer::new(side, length)),
            None => Box::new(FailedTransfer::new(length)),
        }
    }

    unsafe fn unpacker(&self, datatype: &Datatype, pointer: *mut u8, count: i64) -> Box<dyn Drain> {
        let length = datatype.bytes(count.max(0)) as usize;
        match self.reporter.ok(self.side(datatype, pointer, count)) {
            Some(side) => Box::new(unpacker::Unpacker::new(side, length)),
            None => Box::new(FailedTransfer::new(length)),
        }
    }

    unsafe fn reduce(
        &self,
        operation: Operation,
        basic: Basic,
        (input, inout): (*const u8, *mut u8),
        count: i64,
    ) -> Option<Box<dyn DeviceWork>> {
        let reduction = Reduction::new(input as Address, inout as Address, count.max(0) as u64);
        // SAFETY: this function's contract.
        let started =
            unsafe { self.start_reduction(Kernel::Reduce(operation, basic), basic, reduction) };
        self.reporter.ok(started)?.map(|work| Box::new(work) as Box<dyn DeviceWork>)
    }

    fn reducing(
        &self,
        operation: Operation,
        basic: Basic,
        vectors: &[(*const u8, i64)],
    ) -> Option<u64> {
        let part = |&(at, count): &(*const u8, i64)| (at as Address, count.max(0) as u64);
        let vectors: Vec<(Address, u64)> = vectors.iter().map(part).collect();
        let kernel = Kernel::Reduce(operation, basic);
        let context = self.reducing_context(kernel, basic, &vectors);
        self.reporter.ok(context)?.map(|context| context.uuid.number())
    }

    fn allocate(&self, like: usize, bytes: usize) -> Option<Box<dyn DeviceMemory>> {
        let driver = &self.present.get()?.driver;
        let context = self.context_of_vector(driver, like as Address, 1);
        let context = self.reporter.ok(context)??;
        let memory = self.reporter.ok(ScratchMemory::take(&context, bytes))??;
        Some(Box::new(memory))
    }
}
