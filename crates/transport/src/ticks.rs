//! The processor's own clock, for copies that are timed where they are used.

/// Ticks of a steady clock; 0 where the processor has none that is cheap to read.
#[cfg(target_arch = "x86_64")]
pub fn ticks() -> u64 {
    // SAFETY: every processor of this architecture counts.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    0
}
