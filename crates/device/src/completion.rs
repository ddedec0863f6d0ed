//! How the processor learns that a device has finished. A kernel writes to a word in pinned host
//! memory, its flag. To poll that costs nothing, while a question to the driver takes 1.5 us; the
//! driver is asked only now and then, because a kernel that failed writes nothing. A copy by the
//! driver is followed by an event: a write to the flag would come later.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use towpath_base::sync::{AtomicU32, Ordering};

use crate::abi::{
    Address, EVENT_DISABLE_TIMING, EventHandle, HOST_ALLOC_FLAGS, StreamHandle, code,
};
use crate::context::DeviceContext;
use crate::driver::{DeviceError, Driver, Result};
use crate::kernel::KernelEnd;
use crate::launch_queue::Launch;

/// Completions that are allocated together.
const TOGETHER: usize = 32;
/// Distance between two flags, so that no two share a cache line.
const FLAG_BYTES: usize = 64;
/// Polls between two questions to the driver.
const POLLS: u32 = 1 << 14;

/// The end of one transfer at a time.
#[derive(Debug)]
pub(crate) struct TransferCompletion {
    /// In pinned host memory, which is never freed.
    flag: *const AtomicU32,
    /// Address of a word in device memory.
    count: Address,
    /// What the flag will be.
    value: u32,
    polls: u32,
    stream: StreamHandle,
    event: EventHandle,
    /// What ends the transfer.
    sign: Sign,
}

/// What ends a transfer.
#[derive(Debug)]
enum Sign {
    /// The flag, once this launch has been made.
    Launch(Arc<Launch>),
    Flag,
    Event,
    /// The end has been seen.
    Seen,
}

// SAFETY: the flag is an atomic word that is never freed.
unsafe impl Send for TransferCompletion {}

impl TransferCompletion {
    /// New completions. The context must be current, and `stream` one of the library's: to use the
    /// default stream would invalidate captures.
    pub(crate) fn allocate(
        driver: &Driver,
        stream: StreamHandle,
    ) -> Result<Vec<TransferCompletion>> {
        let (mut flags, mut counts): (*mut c_void, Address) = (ptr::null_mut(), 0);
        let zeros = [0u32; TOGETHER];
        // SAFETY: the driver writes one address each time. The flags are zeroed before they become
        // atomic words, and `synchronize_stream` waits for the copy.
        unsafe {
            let bytes = TOGETHER * FLAG_BYTES;
            let made = (driver.calls.allocate_host)(&raw mut flags, bytes, HOST_ALLOC_FLAGS);
            driver.check("allocate pinned memory", made)?;
            flags.write_bytes(0, bytes);
            let bytes = size_of_val(&zeros);
            driver.check("allocate memory", (driver.calls.allocate)(&raw mut counts, bytes))?;
            let from = zeros.as_ptr() as Address;
            driver.copy("clear memory", (counts, from), bytes, stream)?;
            driver.check("clear memory", (driver.calls.synchronize_stream)(stream))?;
        }
        let one = |index: usize| {
            let mut event = EventHandle(ptr::null_mut());
            // SAFETY: the driver writes one handle.
            let made = unsafe { (driver.calls.create_event)(&raw mut event, EVENT_DISABLE_TIMING) };
            driver.check("create an event", made)?;
            Ok(TransferCompletion {
                flag: flags.wrapping_byte_add(index * FLAG_BYTES).cast_const().cast(),
                count: counts + (index * size_of::<u32>()) as Address,
                value: 0,
                polls: 0,
                stream,
                event,
                sign: Sign::Seen,
            })
        };
        (0..TOGETHER).map(one).collect()
    }

    /// Begins a transfer by a kernel in `stream`. What the kernel must announce.
    pub(crate) fn begin_kernel(&mut self, stream: StreamHandle) -> KernelEnd {
        (self.stream, self.polls, self.sign) = (stream, 0, Sign::Flag);
        self.value = self.value.wrapping_add(1);
        self.end()
    }

    /// What the kernel announces.
    fn end(&self) -> KernelEnd {
        KernelEnd { flag: self.flag as Address, count: self.count, value: self.value, unused: 0 }
    }

    /// The kernel that has begun is part of this launch, which comes later.
    pub(crate) fn follow(&mut self, launch: Arc<Launch>) {
        self.sign = Sign::Launch(launch);
    }

    /// Ends the copies that have been started in `stream`. The context must be current.
    pub(crate) fn end_copy(&mut self, driver: &Driver, stream: StreamHandle) -> Result<()> {
        (self.stream, self.sign) = (stream, Sign::Event);
        // SAFETY: event and stream are of the current context, and never destroyed.
        let recorded = unsafe { (driver.calls.record_event)(self.event, stream) };
        driver.check("record an event", recorded)
    }

    fn is_set(&self) -> bool {
        // SAFETY: the flag is never freed.
        unsafe { (*self.flag).load(Ordering::Acquire) == self.value }
    }

    /// True once the transfer is done.
    pub(crate) fn has_happened(&mut self, context: &DeviceContext) -> Result<bool> {
        let happened = match self.sign {
            Sign::Seen => true,
            Sign::Launch(_) => self.is_launched(context)? && self.is_set(),
            Sign::Flag if self.is_set() => true,
            Sign::Flag => self.is_due() && self.asks_stream(context)?,
            Sign::Event => self.asks_event(context)?,
        };
        if happened {
            self.sign = Sign::Seen;
        }
        Ok(happened)
    }

    /// True once the launch that the transfer waits for has been made. The first question follows
    /// at once on the start, when other transfers may be about to become ready; the second one
    /// makes the launch.
    fn is_launched(&mut self, context: &DeviceContext) -> Result<bool> {
        let Sign::Launch(launch) = &self.sign else { return Ok(true) };
        if let Some((stream, launched)) = launch.outcome() {
            launched.clone()?;
            (self.stream, self.sign) = (*stream, Sign::Flag);
            return Ok(true);
        }
        self.polls += 1;
        if self.polls > 1 {
            context.launch_queued();
        }
        Ok(false)
    }

    /// True at each time at which the driver must be asked.
    fn is_due(&mut self) -> bool {
        self.polls += 1;
        self.polls.is_multiple_of(POLLS)
    }

    fn asks_event(&self, context: &DeviceContext) -> Result<bool> {
        let _entered = context.enter()?;
        // SAFETY: the event is one of the context's.
        match unsafe { (context.driver.calls.query_event)(self.event) } {
            code::NOT_READY | code::DEINITIALIZED => Ok(false),
            result => context.driver.check("finish a copy", result).map(|()| true),
        }
    }

    fn asks_stream(&self, context: &DeviceContext) -> Result<bool> {
        let _entered = context.enter()?;
        // SAFETY: the stream is one of the context's, which are never destroyed.
        match unsafe { (context.driver.calls.query_stream)(self.stream) } {
            code::NOT_READY | code::DEINITIALIZED => Ok(false),
            result => {
                context.driver.check("finish a transfer", result)?;
                // The flag may have been written meanwhile.
                let api = context.driver.api.name();
                let complaint =
                    || format!("the {api} driver says that a kernel has ended, which it has not");
                if self.is_set() { Ok(true) } else { Err(DeviceError(complaint())) }
            }
        }
    }

    /// Waits for the transfer, whose memory is about to become invalid. One that has not been
    /// launched never will be. Errors do not matter then.
    pub(crate) fn wait(&self, context: &DeviceContext) {
        let stream = match &self.sign {
            Sign::Seen => None,
            Sign::Flag | Sign::Event => Some(self.stream),
            Sign::Launch(launch) => context.forget(launch, self.end()),
        };
        if let Some(stream) = stream
            && let Ok(_entered) = context.enter()
        {
            // SAFETY: the stream is one of the context's, which are never destroyed.
            unsafe { (context.driver.calls.synchronize_stream)(stream) };
        }
    }
}
