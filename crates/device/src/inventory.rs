//! What there is on this machine, for queries and `towpath info --device`. Creates no context.
//!
//! `towpath info` loads the library and calls its function `towpath_devices`, which returns
//! [`survey`]: one line per row, with the tab-separated cells key, label, value and reason.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt::Write as _;
use std::path::Path;

use towpath_machine::library::loader_error;

use crate::abi::{Code, DeviceNumber, Uuid, code, functions};
use crate::api::Api;
use crate::driver::Driver;
use crate::paths::{AllowedPaths, DevicePath};

/// The compute modes in which other processes are kept out.
const PROHIBITED: c_int = 2;
const EXCLUSIVE_PROCESS: c_int = 3;

/// True if the program can pass memory of this API's devices as buffers: it has loaded a driver
/// that has all the functions in use, or this machine has one.
pub fn is_supported(api: Api) -> bool {
    match Driver::of_program(api) {
        Some(driver) => driver.is_ok(),
        None => may_work(api),
    }
}

/// True if a driver of this API can work on this machine.
pub(crate) fn may_work(api: Api) -> bool {
    api.signs().iter().any(|sign| Path::new(sign).exists())
}

/// A row: key, label, value, reason.
type Row = [String; 4];

fn row(key: &str, label: &str, value: impl Into<String>, why: impl Into<String>) -> Row {
    [key.to_owned(), label.to_owned(), value.into(), why.into()]
}

/// The rows as text. Loads the drivers that are installed, and initializes them.
pub fn survey() -> String {
    let mut text = String::new();
    for row in rows() {
        let cells = row.map(|cell| cell.replace(char::is_control, " "));
        let _ = writeln!(text, "{}", cells.join("\t"));
    }
    text
}

fn rows() -> Vec<Row> {
    let (mut rows, mut devices) = (Vec::new(), Vec::new());
    for api in [Api::Cuda, Api::Hip] {
        let (of_driver, visible) = rows_of(api);
        rows.extend(of_driver);
        devices.extend(visible);
    }
    rows.extend(paths(&devices, AllowedPaths::of_setting(|_| ())));
    rows
}

/// The rows of a driver, and its devices.
fn rows_of(api: Api) -> (Vec<Row>, Vec<Visible>) {
    let (key, label) = api.choose(("driver", "CUDA driver"), ("hip", "HIP, for AMD GPUs"));
    let found = Installed::load(api).and_then(|calls| Ok((calls.devices()?, calls)));
    let (devices, calls) = match found {
        Ok(found) => found,
        Err(why) => return (vec![row(key, label, "none", why)], Vec::new()),
    };
    let name = calls.name.to_string_lossy().into_owned();
    let mut rows = vec![row(key, label, calls.version(), format!("{name}, which was loaded"))];
    let prefix = api.choose("", "hip ");
    rows.extend(devices.iter().enumerate().map(|(number, device)| device.row(prefix, number)));
    if devices.is_empty() {
        let tools = api.choose(
            "CUDA_VISIBLE_DEVICES and nvidia-smi",
            "ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and rocminfo",
        );
        let why = format!("the driver shows no device; look at {tools}");
        rows.push(row(&format!("{key} device"), "devices", "none", why));
    }
    (rows, devices)
}

/// The ways that messages in device memory take, and why.
fn paths(devices: &[Visible], allowed: AllowedPaths) -> Vec<Row> {
    if devices.is_empty() {
        let why = "there is no device, so every buffer is in host memory, at no cost";
        return vec![row("path", "device memory", "not used", why)];
    }
    let refusal = devices.iter().find_map(|device| device.refusal());
    let (path, why) = match (allowed.forced(), refusal) {
        (Some(path), _) => (path.in_words(), "TOWPATH_DEVICE_PATH is set"),
        (None, Some(why)) => (DevicePath::Pinned.in_words(), why),
        (None, None) => (
            DevicePath::Ipc.in_words(),
            "from the layout of the one to that of the other, in memory that is opened by IPC, or \
             by descriptors if it is virtual; what cannot be opened goes through slots on the \
             device or in pinned host memory",
        ),
    };
    let within = row("path within host", "between ranks of a host", path, why);
    let between = row(
        "path between hosts",
        "between hosts",
        "through pinned host memory",
        "the device packs into it, and the network sends from there",
    );
    let reduced = row(
        "path of reductions",
        "reductions",
        "on the device or on copies in host memory",
        "blocking ones of 1 MiB and more within a host stay, the processor combines others",
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
    fn row(&self, prefix: &str, number: usize) -> Row {
        let value = format!("{}, {} MiB", self.name, self.bytes >> 20);
        let remark = match self.refusal() {
            None => "other processes can open its memory, as far as can be told without a context",
            Some(why) => why,
        };
        let why = format!("{}; {remark}", uuid_in_words(&self.uuid));
        let name = format!("{prefix}device {number}");
        row(&name, &name, value, why)
    }

    /// Why memory cannot be shared between processes; `None` if nothing is known against it.
    fn refusal(&self) -> Option<&'static str> {
        match self.compute_mode {
            PROHIBITED => Some("it is in compute mode 'prohibited' and serves no process"),
            EXCLUSIVE_PROCESS => {
                Some("it is in compute mode 'exclusive process', so that two ranks cannot use it")
            }
            _ if !self.unified => Some("it has no unified addresses, which IPC needs"),
            _ if self.integrated => {
                Some("it shares the processor's memory, for which IPC is not always there")
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
    initialize = c"cuInit", c"hipInit"
        (c_uint);
    error_text = c"cuGetErrorString", c"hipDrvGetErrorString"
        (Code, *mut *const c_char);
    driver_version = c"cuDriverGetVersion", c"hipDriverGetVersion"
        (*mut c_int);
    device_count = c"cuDeviceGetCount", c"hipGetDeviceCount"
        (*mut c_int);
    device = c"cuDeviceGet", c"hipDeviceGet"
        (*mut DeviceNumber, c_int);
    device_name = c"cuDeviceGetName", c"hipDeviceGetName"
        (*mut c_char, c_int, DeviceNumber);
    device_uuid = c"cuDeviceGetUuid", c"hipDeviceGetUuid"
        (*mut Uuid, DeviceNumber);
    device_memory = c"cuDeviceTotalMem_v2", c"hipDeviceTotalMem"
        (*mut usize, DeviceNumber);
    device_attribute = c"cuDeviceGetAttribute", c"hipDeviceGetAttribute"
        (*mut c_int, c_int, DeviceNumber);
}

impl Installed {
    /// Loads the driver of an API.
    fn load(api: Api) -> Result<LoadedDriver, String> {
        // SAFETY: the name is a C string. The library's initializers run in the process that
        // `towpath info` starts for this.
        let open = |name: &CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        let opened = api.libraries().iter().map(|&name| (name, open(name)));
        let Some((name, library)) = opened.into_iter().find(|(_, library)| !library.is_null())
        else {
            let what = api.choose(
                "an NVIDIA GPU, install NVIDIA's driver",
                "an AMD GPU, install ROCm 6 or newer",
            );
            let reason = loader_error();
            return Err(format!("{reason}; with {what}, or show it to this container"));
        };
        // SAFETY: `library` is loaded, and the reference to it is never given back.
        let calls = unsafe { Installed::of(library, api) };
        let old = |why| format!("{}: {why}; install a newer driver", name.to_string_lossy());
        Ok(LoadedDriver { api, name, calls: calls.map_err(old)? })
    }
}

/// A driver that has been loaded to be asked.
struct LoadedDriver {
    api: Api,
    name: &'static CStr,
    calls: Installed,
}

impl LoadedDriver {
    fn check(&self, what: &str, result: Code) -> Result<(), String> {
        if result == code::SUCCESS {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver writes one pointer, to a static C string, or fails.
        let reason = unsafe {
            match (self.calls.error_text)(result, &raw mut text) == code::SUCCESS && !text.is_null()
            {
                true => CStr::from_ptr(text).to_string_lossy().into_owned(),
                false => format!("error {result}"),
            }
        };
        let api = self.api.name();
        Err(format!("the {api} driver is installed, but failed to {what}: {reason}"))
    }

    /// The newest version of the API that the driver supports.
    fn version(&self) -> String {
        let mut version = 0;
        // SAFETY: `version` is a local variable.
        let result = unsafe { (self.calls.driver_version)(&raw mut version) };
        match result {
            code::SUCCESS => {
                let (major, minor) = self.api.choose(
                    (version / 1000, version % 1000 / 10),
                    (version / 10_000_000, version / 100_000 % 100),
                );
                format!("for {} {major}.{minor}", self.api.name())
            }
            _ => "of an unknown version".to_owned(),
        }
    }

    /// Initializes the driver, and lists the devices that it shows to this process.
    fn devices(&self) -> Result<Vec<Visible>, String> {
        let mut count = 0;
        // SAFETY: `count` is a local variable.
        unsafe {
            let started = (self.calls.initialize)(0);
            if started == code::NO_DEVICE {
                return Ok(Vec::new());
            }
            self.check("start", started)?;
            self.check("count the devices", (self.calls.device_count)(&raw mut count))?;
        }
        (0..count).map(|number| self.visible(number)).collect()
    }

    fn visible(&self, number: c_int) -> Result<Visible, String> {
        let mut device: DeviceNumber = 0;
        let (mut name, mut uuid, mut bytes) = ([0u8; 128], Uuid([0; 16]), 0);
        // SAFETY: every pointer is to a local variable of the type that the function writes, and
        // the length of the name is passed.
        unsafe {
            self.check("name a device", (self.calls.device)(&raw mut device, number))?;
            let named =
                (self.calls.device_name)(name.as_mut_ptr().cast(), name.len() as c_int - 1, device);
            self.check("name a device", named)?;
            self.check("name a device", (self.calls.device_uuid)(&raw mut uuid, device))?;
            self.check("tell its memory", (self.calls.device_memory)(&raw mut bytes, device))?;
        }
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: `value` is a local variable.
            let result =
                unsafe { (self.calls.device_attribute)(&raw mut value, attribute, device) };
            self.check("tell an attribute of a device", result).map(|()| value)
        };
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        let of = self.api.attributes();
        Ok(Visible {
            name: name.to_string_lossy().into_owned(),
            uuid,
            bytes,
            compute_mode: attribute(of.compute_mode)?,
            unified: attribute(of.unified_addressing)? != 0,
            integrated: attribute(of.integrated)? != 0,
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
        let [_, _, value, why] = device(0).row("", 3);
        assert_eq!(value, "Test, 5120 MiB");
        assert!(why.starts_with("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f; other"), "{why}");
    }

    #[test]
    fn the_path_follows_from_the_devices() {
        let path = |devices: &[Visible]| paths(devices, AllowedPaths::default())[0].clone();
        assert_eq!(path(&[])[2], "not used");
        assert_eq!(path(&[device(0)])[2], "by one kernel");
        let refused = path(&[device(0), device(EXCLUSIVE_PROCESS)]);
        assert_eq!(refused[2], "through slots in pinned host memory");
        assert!(refused[3].contains("exclusive process"), "{}", refused[3]);
        let plain = Visible { unified: false, ..device(0) };
        assert!(path(&[plain])[3].contains("unified addresses"));
        let forced = paths(&[device(0)], AllowedPaths::only(DevicePath::Ring))[0].clone();
        assert_eq!(
            forced[2..],
            ["through slots on the sender's device", "TOWPATH_DEVICE_PATH is set"]
        );
    }

    #[test]
    fn every_row_has_four_cells() {
        for line in survey().lines() {
            assert_eq!(line.split('\t').count(), 4, "{line}");
        }
    }
}
