//! See `towpath_transport::ofi::fuzz::card`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_transport::ofi::fuzz::card(bytes));
