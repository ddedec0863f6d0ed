//! What there is on this machine, for queries and `towpath info --device`. Creates no context.
//!
//! `towpath info` loads the library and calls its function `towpath_devices`, which returns
//! [`survey`]: one line per row, with the tab-separated cells key, label, value and reason.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt::Write as _;
use std::path::Path;

use towpath_machine::library::loader_error;

use crate::abi::{Code, DeviceNumber, Uuid, code, functions};
use crate::driver::{CudaDriver, LIBRARY};

/// Files that exist where NVIDIA's driver can work: of the kernel driver, of that of a Tegra chip,
/// and the library of Windows' subsystem for Linux.
const SIGNS: [&str; 3] = ["/dev/nvidiactl", "/dev/nvhost-gpu", "/usr/lib/wsl/lib/libcuda.so.1"];

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: Code = 100;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_MODE`, and the modes in which other processes are kept out.
const COMPUTE_MODE: c_int = 20;
const PROHIBITED: c_int = 2;
const EXCLUSIVE_PROCESS: c_int = 3;
/// `CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING`, which interprocess communication requires.
const UNIFIED_ADDRESSING: c_int = 41;
/// `CU_DEVICE_ATTRIBUTE_INTEGRATED`: the device shares the processor's memory.
const INTEGRATED: c_int = 18;

/// True if the program can pass CUDA memory as buffers: it has loaded a driver that has all the
/// functions in use, or this machine has one.
pub fn cuda_is_supported() -> bool {
    match CudaDriver::of_program() {
        Some(driver) => driver.is_ok(),
        None => SIGNS.iter().any(|sign| Path::new(sign).exists()),
    }
}

/// A row: key, label, value, reason.
type Row = [String; 4];

fn row(key: &str, label: &str, value: impl Into<String>, why: impl Into<String>) -> Row {
    [key.to_owned(), label.to_owned(), value.into(), why.into()]
}

/// The rows as text. Loads the CUDA driver if it is installed, and initializes it.
pub fn survey() -> String {
    let mut text = String::new();
    for row in rows() {
        let cells = row.map(|cell| cell.replace(char::is_control, " "));
        let _ = writeln!(text, "{}", cells.join("\t"));
    }
    text
}

fn rows() -> Vec<Row> {
    let found = Installed::load().and_then(|calls| Ok((calls.devices()?, calls)));
    let mut rows = match &found {
        Ok((devices, calls)) => {
            let version = calls.version();
            let name = LIBRARY.to_string_lossy();
            let mut rows =
                vec![row("driver", "CUDA driver", version, format!("{name}, which was loaded"))];
            rows.extend(devices.iter().enumerate().map(|(number, device)| device.row(number)));
            if devices.is_empty() {
                let why = "the driver shows no device; look at CUDA_VISIBLE_DEVICES and nvidia-smi";
                rows.push(row("device", "devices", "none", why));
            }
            rows
        }
        Err(why) => vec![row("driver", "CUDA driver", "none", why)],
    };
    let devices = found.as_ref().map_or(&[][..], |(devices, _)| devices);
    rows.extend(paths(devices));
    rows.push(row(
        "hip",
        "AMD GPUs (HIP)",
        "not supported",
        "copy HIP memory to host memory before a call",
    ));
    rows
}

/// The ways that messages in device memory take, and why.
fn paths(devices: &[Visible]) -> Vec<Row> {
    if devices.is_empty() {
        let why = "there is no CUDA device, so every buffer is in host memory, at no cost";
        return vec![row("path", "device memory", "not used", why)];
    }
    let refusal = devices.iter().find_map(|device| device.refusal());
    let within = match refusal {
        None => row(
            "path within host",
            "between ranks of a host",
            "by one kernel",
            "from the layout of the one to that of the other, in memory that is opened by CUDA \
             IPC; where the driver refuses IPC when it is tried, through pinned host memory",
        ),
        Some(why) => {
            row("path within host", "between ranks of a host", "through pinned host memory", why)
        }
    };
    let between = row(
        "path between hosts",
        "between hosts",
        "through pinned host memory",
        "the device packs into it, and the network sends from there",
    );
    let reduced = row(
        "path of reductions",
        "reductions",
        "on copies in host memory",
        "the processor combines the elements",
    );
    vec![within, between, reduced]
}

/// A device that this process sees.
struct Visible {
    name: String,
    uuid: Uuid,
    bytes: usize,
    compute_mode: c_int,
    unified: bool,
    integrated: bool,
}

impl Visible {
    fn row(&self, number: usize) -> Row {
        let value = format!("{}, {} MiB", self.name, self.bytes >> 20);
        let remark = match self.refusal() {
            None => "other processes can open its memory, as far as can be told without a context",
            Some(why) => why,
        };
        let why = format!("{}; {remark}", uuid_in_words(&self.uuid));
        row(&format!("device {number}"), &format!("device {number}"), value, why)
    }

    /// Why memory cannot be shared between processes; `None` if nothing is known against it.
    fn refusal(&self) -> Option<&'static str> {
        match self.compute_mode {
            PROHIBITED => Some("it is in compute mode 'prohibited' and serves no process"),
            EXCLUSIVE_PROCESS => {
                Some("it is in compute mode 'exclusive process', so that two ranks cannot use it")
            }
            _ if !self.unified => Some("it has no unified addresses, which CUDA IPC needs"),
            _ if self.integrated => {
                Some("it shares the processor's memory, for which CUDA IPC is not always there")
            }
            _ => None,
        }
    }
}

/// The UUID as `nvidia-smi -L` prints it.
fn uuid_in_words(Uuid(bytes): &Uuid) -> String {
    let mut text = "GPU".to_owned();
    for (place, byte) in bytes.iter().enumerate() {
        let dash = if [0, 4, 6, 8, 10].contains(&place) { "-" } else { "" };
        let _ = write!(text, "{dash}{byte:02x}");
    }
    text
}

functions! {
    /// The functions of the driver that is installed on this machine.
    Installed;
    initialize = c"cuInit" (c_uint);
    error_text = c"cuGetErrorString" (Code, *mut *const c_char);
    driver_version = c"cuDriverGetVersion" (*mut c_int);
    device_count = c"cuDeviceGetCount" (*mut c_int);
    device = c"cuDeviceGet" (*mut DeviceNumber, c_int);
    device_name = c"cuDeviceGetName" (*mut c_char, c_int, DeviceNumber);
    device_uuid = c"cuDeviceGetUuid" (*mut Uuid, DeviceNumber);
    device_memory = c"cuDeviceTotalMem_v2" (*mut usize, DeviceNumber);
    device_attribute = c"cuDeviceGetAttribute" (*mut c_int, c_int, DeviceNumber);
}

impl Installed {
    /// Loads the driver.
    fn load() -> Result<Installed, String> {
        // SAFETY: the name is a C string. The library's initializers run in the process that
        // `towpath info` starts for this.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return Err(format!(
                "{}; with an NVIDIA GPU, install NVIDIA's driver, or show it to this container",
                loader_error()
            ));
        }
        // SAFETY: `library` is loaded, and the reference to it is never given back.
        unsafe { Installed::of(library) }
            .map_err(|why| format!("{}: {why}; install a newer driver", LIBRARY.to_string_lossy()))
    }

    fn check(&self, what: &str, result: Code) -> Result<(), String> {
        if result == code::SUCCESS {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver writes one pointer, to a static C string, or fails.
        let reason = unsafe {
            match (self.error_text)(result, &raw mut text) == code::SUCCESS && !text.is_null() {
                true => CStr::from_ptr(text).to_string_lossy().into_owned(),
                false => format!("error {result}"),
            }
        };
        Err(format!("the CUDA driver is installed, but failed to {what}: {reason}"))
    }

    /// The newest CUDA version that the driver supports.
    fn version(&self) -> String {
        let mut version = 0;
        // SAFETY: `version` is a local variable.
        let result = unsafe { (self.driver_version)(&raw mut version) };
        match result {
            code::SUCCESS => format!("for CUDA {}.{}", version / 1000, version % 1000 / 10),
            _ => "of an unknown version".to_owned(),
        }
    }

    /// Initializes the driver, and lists the devices that it shows to this process.
    fn devices(&self) -> Result<Vec<Visible>, String> {
        let mut count = 0;
        // SAFETY: `count` is a local variable.
        unsafe {
            let started = (self.initialize)(0);
            if started == NO_DEVICE {
                return Ok(Vec::new());
            }
            self.check("start", started)?;
            self.check("count the devices", (self.device_count)(&raw mut count))?;
        }
        (0..count).map(|number| self.visible(number)).collect()
    }

    fn visible(&self, number: c_int) -> Result<Visible, String> {
        let mut device: DeviceNumber = 0;
        let (mut name, mut uuid, mut bytes) = ([0u8; 128], Uuid([0; 16]), 0);
        // SAFETY: every pointer is to a local variable of the type that the function writes, and
        // the length of the name is passed.
        unsafe {
            self.check("name a device", (self.device)(&raw mut device, number))?;
            let named =
                (self.device_name)(name.as_mut_ptr().cast(), name.len() as c_int - 1, device);
            self.check("name a device", named)?;
            self.check("name a device", (self.device_uuid)(&raw mut uuid, device))?;
            self.check("tell its memory", (self.device_memory)(&raw mut bytes, device))?;
        }
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: `value` is a local variable.
            let result = unsafe { (self.device_attribute)(&raw mut value, attribute, device) };
            self.check("tell an attribute of a device", result).map(|()| value)
        };
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(Visible {
            name: name.to_string_lossy().into_owned(),
            uuid,
            bytes,
            compute_mode: attribute(COMPUTE_MODE)?,
            unified: attribute(UNIFIED_ADDRESSING)? != 0,
            integrated: attribute(INTEGRATED)? != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(compute_mode: c_int) -> Visible {
        let uuid = Uuid(std::array::from_fn(|place| place as _));
        let name = "Test".to_owned();
        Visible { name, uuid, bytes: 5 << 30, compute_mode, unified: true, integrated: false }
    }

    #[test]
    fn a_device_is_named_as_by_nvidia_smi() {
        let [_, _, value, why] = device(0).row(3);
        assert_eq!(value, "Test, 5120 MiB");
        assert!(why.starts_with("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f; other"), "{why}");
    }

    #[test]
    fn the_path_follows_from_the_devices() {
        let path = |devices: &[Visible]| paths(devices)[0].clone();
        assert_eq!(path(&[])[2], "not used");
        assert_eq!(path(&[device(0)])[2], "by one kernel");
        let refused = path(&[device(0), device(EXCLUSIVE_PROCESS)]);
        assert_eq!(refused[2], "through pinned host memory");
        assert!(refused[3].contains("exclusive process"), "{}", refused[3]);
        let plain = Visible { unified: false, ..device(0) };
        assert!(path(&[plain])[3].contains("unified addresses"));
    }

    #[test]
    fn every_row_has_four_cells() {
        for line in survey().lines() {
            assert_eq!(line.split('\t').count(), 4, "{line}");
        }
    }
}
