//! The drivers that are known. HIP's functions have other names than those of CUDA's driver API,
//! the same types, and the same numbers but for what is here.

use std::ffi::{CStr, c_int};

/// The driver's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// NVIDIA's driver.
    Cuda,
    /// AMD's runtime library, ROCm 6 or newer: older ones number the kinds of memory otherwise.
    Hip,
}

/// Attributes of devices, of which each API has its own numbers (`CUdevice_attribute`,
/// `hipDeviceAttribute_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceAttributes {
    pub(crate) multiprocessors: c_int,
    pub(crate) compute_mode: c_int,
    pub(crate) unified_addressing: c_int,
    /// The device shares the processor's memory.
    pub(crate) integrated: c_int,
}

impl Api {
    /// Its name in sentences.
    pub(crate) fn name(self) -> &'static str {
        self.choose("CUDA", "HIP")
    }

    /// The one of both that is for this API.
    pub(crate) fn choose<T>(self, cuda: T, hip: T) -> T {
        match self {
            Api::Cuda => cuda,
            Api::Hip => hip,
        }
    }

    /// The names under which programs load it.
    pub(crate) fn libraries(self) -> &'static [&'static CStr] {
        self.choose(&[c"libcuda.so.1"], &[c"libamdhip64.so.7", c"libamdhip64.so.6"])
    }

    /// Files that exist where the driver can work: of NVIDIA's kernel driver, of that of a Tegra
    /// chip, and the library of Windows' subsystem for Linux; of AMD's kernel driver.
    pub(crate) fn signs(self) -> &'static [&'static str] {
        self.choose(
            &["/dev/nvidiactl", "/dev/nvhost-gpu", "/usr/lib/wsl/lib/libcuda.so.1"],
            &["/dev/kfd"],
        )
    }

    pub(crate) fn attributes(self) -> DeviceAttributes {
        self.choose(
            DeviceAttributes {
                multiprocessors: 16,
                compute_mode: 20,
                unified_addressing: 41,
                integrated: 18,
            },
            DeviceAttributes {
                multiprocessors: 63,
                compute_mode: 6,
                unified_addressing: 85,
                integrated: 16,
            },
        )
    }
}
