//! See `towpath_launch::fuzz::pmi_lines`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_launch::fuzz::pmi_lines(bytes));
