//! The placements of datatypes in device memory. Lists of blocks are uploaded once for each
//! datatype.

use std::sync::{Arc, Mutex};

use towpath_datatype::Datatype;
use towpath_datatype::device::{DeviceBlocks, DeviceLayout};

use crate::abi::{Address, StreamHandle};
use crate::context::DeviceContext;
use crate::driver::Result;
use crate::kernel::DevicePlacement;

/// Datatypes with lists that are kept.
const KEPT: usize = 32;

/// Lists in device memory: offsets, and packed positions if blocks are unequal.
#[derive(Debug)]
pub(crate) struct Lists {
    context: Arc<DeviceContext>,
    pub(crate) memory: Address,
    /// The same in host memory.
    pub(crate) words: Vec<u64>,
}

impl Drop for Lists {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: the memory is an allocation of `upload`, and no transfer uses it any more:
            // each holds a reference to the lists.
            unsafe { (self.context.driver.calls.free)(self.memory) };
        }
    }
}

/// Where elements are, relative to their buffer, with the lists that the placement names.
#[derive(Clone, Debug)]
pub(crate) struct PlacedElements {
    pub(crate) placement: DevicePlacement,
    pub(crate) lists: Option<Arc<Lists>>,
}

impl PlacedElements {
    /// `length` contiguous bytes.
    pub(crate) fn contiguous(base: Address, length: usize) -> PlacedElements {
        PlacedElements { placement: DevicePlacement::contiguous(base, length), lists: None }
    }

    /// Packed bytes `position..position + length` of a message, at `slot`.
    pub(crate) fn packed(slot: Address, (position, length): (usize, usize)) -> PlacedElements {
        // Packed position p is at `base + p`.
        let base = slot.wrapping_sub(position as Address);
        PlacedElements::contiguous(base, position + length)
    }
}

struct CachedElements {
    datatype: Datatype,
    count: i64,
    context: Arc<DeviceContext>,
    placed: PlacedElements,
}

/// The placements with lists that were used last.
#[derive(Default)]
pub(crate) struct Tables {
    entries: Mutex<Vec<CachedElements>>,
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Tables")
    }
}

impl Tables {
    /// The placement of `count` elements at `pointer`.
    pub(crate) fn place(
        &self,
        context: &Arc<DeviceContext>,
        datatype: &Datatype,
        pointer: Address,
        count: i64,
    ) -> Result<PlacedElements> {
        let mut placed = match self.find(context, datatype, count) {
            Some(placed) => placed,
            None => self.make(context, datatype, count)?,
        };
        placed.placement.base = placed.placement.base.wrapping_add(pointer);
        Ok(placed)
    }

    fn find(
        &self,
        context: &Arc<DeviceContext>,
        datatype: &Datatype,
        count: i64,
    ) -> Option<PlacedElements> {
        let mut entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = entries.iter().position(|entry| {
            entry.count == count
                && entry.datatype.same(datatype)
                && Arc::ptr_eq(&entry.context, context)
        })?;
        // The last entry is the one used last.
        entries[found..].rotate_left(1);
        entries.last().map(|entry| entry.placed.clone())
    }

    fn make(
        &self,
        context: &Arc<DeviceContext>,
        datatype: &Datatype,
        count: i64,
    ) -> Result<PlacedElements> {
        let layout = DeviceLayout::of(datatype, count);
        let mut placement = DevicePlacement {
            base: layout.offset as Address,
            block: layout.blocks.bytes(),
            depth: layout.loops.len(),
            ..DevicePlacement::default()
        };
        placement.loops[..layout.loops.len()].copy_from_slice(&layout.loops);
        let words: Vec<u64> = match layout.blocks {
            DeviceBlocks::One(_) => return Ok(PlacedElements { placement, lists: None }),
            DeviceBlocks::Equal { length, offsets } => {
                (placement.block, placement.entries) = (length, offsets.len());
                offsets.into_iter().map(|offset| offset as u64).collect()
            }
            DeviceBlocks::Unequal { offsets, starts, .. } => {
                placement.entries = offsets.len();
                offsets.into_iter().map(|offset| offset as u64).chain(starts).collect()
            }
        };
        placement.alignment = words.iter().fold(0, |all, word| all | word);
        let lists = Arc::new(upload(context, words)?);
        placement.offsets = lists.memory;
        if lists.words.len() > placement.entries {
            placement.starts = lists.memory + 8 * placement.entries as Address;
        }
        let placed = PlacedElements { placement, lists: Some(lists) };
        let entry = CachedElements {
            datatype: datatype.clone(),
            count,
            context: context.clone(),
            placed: placed.clone(),
        };
        let mut entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if entries.len() == KEPT {
            entries.remove(0);
        }
        entries.push(entry);
        Ok(placed)
    }
}

/// Copies words to new device memory. Waits for the copy, which depends on nothing else.
fn upload(context: &Arc<DeviceContext>, words: Vec<u64>) -> Result<Lists> {
    let _entered = context.enter()?;
    let driver = &context.driver;
    let bytes = size_of_val(&words[..]);
    let stream: StreamHandle = context.stream();
    let mut memory: Address = 0;
    // SAFETY: the driver writes one address; the memory there has room for all words, which stay
    // readable until the stream is idle.
    unsafe {
        let allocated = (driver.calls.allocate)(&raw mut memory, bytes);
        driver.check("allocate memory for a list of blocks", allocated)?;
        let lists = Lists { context: context.clone(), memory, words };
        let from = lists.words.as_ptr() as Address;
        driver.copy("copy a list of blocks", (memory, from), bytes, stream)?;
        driver.check("copy a list of blocks", (driver.calls.synchronize_stream)(stream))?;
        Ok(lists)
    }
}
