//! Shared mappings of this process as others know them, and further views of them.

use std::ffi::c_void;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustix::mm::{MprotectFlags, MremapFlags};

use crate::{fault, process};

/// A shared mapping of this process, which may have been made by any library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMapping {
    begin: usize,
    length: usize,
    /// Where in its file it begins.
    offset: u64,
    device: u64,
    inode: u64,
}

impl SharedMapping {
    /// The shared mapping in which an address is; `None` if that is private memory.
    pub fn of(address: *const u8) -> Option<SharedMapping> {
        find(&fs::read_to_string("/proc/self/maps").ok()?, address as usize)
    }

    /// A number that all processes which map the same file have in common, and no other ones; never
    /// 0. `None` if the kernel does not tell itself from others.
    pub fn identity(&self) -> Option<u64> {
        let boot = process::boot_id()?;
        let mut hasher = DefaultHasher::new();
        (boot, self.device, self.inode).hash(&mut hasher);
        Some(hasher.finish().max(1))
    }

    /// Where in the file a range of memory is; `None` if it is not all in this mapping.
    pub fn offset_of(&self, memory: &[u8]) -> Option<u64> {
        place(self.begin, self.length, memory).map(|at| self.offset + at)
    }
}

/// The mapping that contains an address, in the text of `/proc/self/maps`.
fn find(maps: &str, address: usize) -> Option<SharedMapping> {
    let mut found: Option<SharedMapping> = None;
    for mapping in maps.lines().filter_map(parse) {
        match &mut found {
            // The kernel divides a mapping whose parts have different properties.
            Some(first) if first.continues_at(&mapping) => first.length += mapping.length,
            Some(first) if first.contains(address) => break,
            _ => found = Some(mapping),
        }
    }
    found.filter(|mapping| mapping.contains(address))
}

/// A line of `/proc/self/maps`; `None` unless it is about a shared mapping of a file.
fn parse(line: &str) -> Option<SharedMapping> {
    let mut words = line.split_ascii_whitespace();
    let (begin, end) = words.next()?.split_once('-')?;
    let is_shared = words.next()?.ends_with('s');
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let (major, minor) = words.next()?.split_once(':')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let device = number(major)? << 32 | number(minor)?;
    let inode = words.next()?.parse().ok()?;
    let begin = usize::from_str_radix(begin, 16).ok()?;
    let length = usize::from_str_radix(end, 16).ok()?.checked_sub(begin)?;
    is_shared.then_some(SharedMapping { begin, length, offset, device, inode })
}

impl SharedMapping {
    /// Whether this address is in the mapping.
    pub fn contains(&self, address: usize) -> bool {
        (self.begin..self.begin + self.length).contains(&address)
    }

    fn continues_at(&self, next: &SharedMapping) -> bool {
        (self.device, self.inode) == (next.device, next.inode)
            && self.begin + self.length == next.begin
            && self.offset + self.length as u64 == next.offset
    }
}

/// Where a range of memory begins in a mapping, if all of it is there.
fn place(begin: usize, length: usize, memory: &[u8]) -> Option<u64> {
    let at = (memory.as_ptr() as usize).checked_sub(begin)?;
    (at < length && memory.len() <= length - at).then_some(at as u64)
}

/// A second mapping of the same memory.
#[derive(Debug)]
pub struct SharedView {
    pointer: *mut c_void,
    mapping: SharedMapping,
    is_writable: bool,
}

impl SharedView {
    /// Maps the memory once more, so that this process cannot write to it there. A write is
    /// explained before the process ends ([`crate::fault`]).
    ///
    /// # Errors
    /// The kernel's error: there is not enough address space.
    pub fn read_only(mapping: SharedMapping) -> std::io::Result<SharedView> {
        let mut view = SharedView::writable(mapping)?;
        // SAFETY: the new mapping is this view's own, and nobody has its address yet.
        unsafe { rustix::mm::mprotect(view.pointer, mapping.length, MprotectFlags::READ) }?;
        fault::watch(view.pointer as usize, mapping.length);
        view.is_writable = false;
        Ok(view)
    }

    /// Maps the memory once more, with the rights that the mapping has.
    ///
    /// # Errors
    /// The kernel's error: there is not enough address space.
    pub fn writable(mapping: SharedMapping) -> std::io::Result<SharedView> {
        let begin = std::ptr::with_exposed_provenance_mut(mapping.begin);
        // SAFETY: with an old length of 0 the mapping, which is shared, stays as it is, and the
        // kernel chooses another address for the new one.
        let pointer =
            unsafe { rustix::mm::mremap(begin, 0, mapping.length, MremapFlags::MAYMOVE) }?;
        Ok(SharedView { pointer, mapping, is_writable: true })
    }

    /// The memory at a place in the file; `None` if it is not all in the mapping.
    pub fn at(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let at = offset.checked_sub(self.mapping.offset)?;
        let length = self.mapping.length as u64;
        let is_inside = at < length && bytes <= length - at;
        is_inside.then(|| self.pointer.cast::<u8>().wrapping_add(at as usize))
    }

    /// Where in the file a range of memory is that this view shows; `None` if it shows another one.
    pub fn offset_of(&self, memory: &[u8]) -> Option<u64> {
        let at = place(self.pointer as usize, self.mapping.length, memory)?;
        Some(self.mapping.offset + at)
    }
}

impl Drop for SharedView {
    fn drop(&mut self) {
        if !self.is_writable {
            fault::unwatch(self.pointer as usize);
        }
        // SAFETY: the mapping is this view's own, and lasts as long as it: nobody has its addresses
        // any more. An error would leave it mapped, which harms nobody.
        let _ = unsafe { rustix::mm::munmap(self.pointer, self.mapping.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Mapping, create_file};

    #[test]
    fn a_view_shows_what_is_written_to_the_mapping() {
        let file = create_file("view").unwrap();
        let mapped = Mapping::part(&file, 1 << 20, 1 << 16).unwrap();
        let again = Mapping::new(&file, 2 << 20).unwrap();
        let shared = SharedMapping::of(mapped.pointer()).unwrap();
        let same = SharedMapping::of(again.pointer()).unwrap();
        assert!(shared.identity().is_some());
        assert_eq!(shared.identity(), same.identity());
        // SAFETY: these bytes are in the mapping, and nothing refers to them.
        let memory = unsafe {
            mapped.pointer().add(100).write(7);
            std::slice::from_raw_parts(mapped.pointer().add(100), 50)
        };
        let offset = shared.offset_of(memory).unwrap();
        assert_eq!(offset, (1 << 20) + 100);
        let view = SharedView::read_only(same).unwrap();
        let seen = view.at(offset, 50).unwrap();
        // SAFETY: the view shows so many bytes there.
        let seen = unsafe { std::slice::from_raw_parts(seen, 50) };
        assert_eq!(seen[0], 7);
        assert_eq!(view.offset_of(seen), Some(offset));
        assert_eq!((view.offset_of(memory), shared.offset_of(seen)), (None, None));
        assert_eq!((view.at(2 << 20, 1), view.at((2 << 20) - 1, 2)), (None, None));
    }

    #[test]
    fn what_is_written_to_a_writable_view_is_in_the_mapping() {
        let file = create_file("writable view").unwrap();
        let mapped = Mapping::new(&file, 1 << 16).unwrap();
        let shared = SharedMapping::of(mapped.pointer()).unwrap();
        let view = SharedView::writable(shared).unwrap();
        let place = view.at(5000, 1).unwrap();
        // SAFETY: these bytes are in the mappings, and nothing refers to them.
        let written = unsafe {
            place.write(9);
            mapped.pointer().add(5000).read()
        };
        assert_eq!(written, 9);
    }

    #[test]
    fn private_memory_is_in_no_shared_mapping() {
        assert_eq!(SharedMapping::of(vec![1_u8; 100].as_ptr()), None);
    }

    #[test]
    fn other_files_are_other_memory() {
        let (one, other) = (create_file("one").unwrap(), create_file("other").unwrap());
        let (one, other) = (Mapping::new(one, 4096).unwrap(), Mapping::new(other, 4096).unwrap());
        let identity = |mapping: &Mapping| SharedMapping::of(mapping.pointer()).unwrap().identity();
        assert_ne!(identity(&one), identity(&other));
    }

    #[test]
    fn a_mapping_that_the_kernel_has_divided_is_one() {
        let maps = "1000-3000 rw-s 00001000 00:01 77 /memfd:x (deleted)\n\
                    3000-4000 r--s 00003000 00:01 77 /memfd:x (deleted)\n\
                    4000-5000 rw-s 00000000 00:01 78 /memfd:y (deleted)\n\
                    5000-6000 rw-p 00000000 00:00 0 [heap]\n";
        let found = find(maps, 0x3500).unwrap();
        assert_eq!((found.begin, found.length, found.offset), (0x1000, 0x3000, 0x1000));
        assert_eq!(find(maps, 0x4100).unwrap().length, 0x1000);
        assert_eq!(find(maps, 0x5100), None);
    }
}
