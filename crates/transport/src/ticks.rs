//! The processor's time-stamp counter, which is cheap enough to time single copies.

/// Ticks of a monotonic clock; 0 on processors without a cheap one.
#[cfg(target_arch = "x86_64")]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has `rdtsc`, and it accesses no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Ticks of a monotonic clock; always 0 on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    0
}
