//! The pages of a segment that waiting uses, for tests.

use towpath_base::control::{ControlPage, PAGE, SegmentHead};

use super::Sources;
use crate::pages::Pages;

/// The head of a segment with one control page, all zeros at first.
pub(super) struct TestPages(Pages);

impl TestPages {
    pub(super) fn new() -> TestPages {
        TestPages(Pages::new(2 * PAGE).expect("two pages"))
    }

    pub(super) fn head(&self) -> &SegmentHead {
        // SAFETY: the mapping is zeroed, page-aligned, two pages long, and lives as long as `self`.
        unsafe { &*self.0.pointer().cast() }
    }

    pub(super) fn own(&self) -> &ControlPage {
        // SAFETY: the second page of the mapping is zeroed, page-aligned, and lives as long as
        // `self`.
        unsafe { &*self.0.pointer().add(PAGE).cast() }
    }

    pub(super) fn sources(&self) -> Sources<'_> {
        Sources::SharedMemory { own: self.own(), head: self.head() }
    }
}
