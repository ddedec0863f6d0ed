//! What is installed beside this program: the libraries under all their names, the programs, and
//! whether they fit.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use towpath_base::config;

use super::super::report::{Row, Section, Value};

/// Names of the libraries and what asks for them.
const LIBRARIES: &[(&str, &str)] = &[
    ("libmpi.so.12", "MPICH ABI: mpi4py's wheel, programs of MPICH, Intel MPI, MVAPICH"),
    ("libmpich.so.12", "MPICH ABI: programs of Debian's MPICH"),
    ("libmpicxx.so.12", "MPICH ABI: C++ programs"),
    ("libmpichcxx.so.12", "MPICH ABI: C++ programs of Debian's MPICH"),
    ("libmpi_abi.so.1", "standard ABI of MPI 5"),
    ("libmpi_abi.so.0", "standard ABI: programs of its early stubs"),
];

/// Longest text of MPI_Get_library_version in either interface.
const LONGEST_VERSION: usize = 8192;

/// The section.
pub(super) fn section() -> Section {
    let program = std::env::current_exe().unwrap_or_default();
    let bin = program.parent().unwrap_or(Path::new(".")).to_owned();
    let prefix = bin.parent().unwrap_or(Path::new("."));
    let mut rows = vec![
        Row::new("towpath", "towpath", Value::text(format!("Towpath {}", env!("CARGO_PKG_VERSION"))), "this program")
            .with("path", Value::text(program.to_string_lossy())),
    ];
    rows.extend(LIBRARIES.iter().map(|(name, purpose)| library(&prefix.join("lib"), name, purpose)));
    rows.push(mpiexec(&bin));
    Section { key: "installed", title: format!("Installed in {}", prefix.display()), headings: &[], rows }
}

fn library(folder: &Path, name: &str, purpose: &str) -> Row {
    let path = folder.join(name);
    let (value, remark) = if !path.exists() {
        (Value::Nothing("missing"), format!("{purpose}; not in {}", folder.display()))
    } else {
        match version_of(&path) {
            Ok(version) => {
                let remark = if version.starts_with("Towpath ") { purpose.to_owned() } else { overwritten(name) };
                (Value::text(version), remark)
            }
            Err(sentence) => (Value::text("does not load"), format!("{purpose}; {sentence}")),
        }
    };
    Row::new(name, name, value, remark).with("path", Value::text(path.to_string_lossy()))
}

/// What a person must know of a file that another package has put in the place of Towpath's:
/// packages of Python do that without a word.
fn overwritten(name: &str) -> String {
    format!(
        "WARNING: this {name} is not Towpath's, another MPI package has put it here; remove that package (pip uninstall \
         mpich, for instance), then install Towpath again (pip install --force-reinstall towpath)"
    )
}

/// Whether a file is Towpath's mpiexec, which has the names of its settings inside.
fn is_own(mpiexec: &Path) -> bool {
    let mark = b"TOWPATH_JOB";
    std::fs::read(mpiexec).is_ok_and(|bytes| bytes.windows(mark.len()).any(|window| window == mark))
}

/// Loads a library as a program would and asks what it is (MPI_Get_library_version may be called
/// before MPI_Init).
fn version_of(path: &Path) -> Result<String, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the name ends with a zero; the library is Towpath's own, whose start has no effect on
    // the process.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(loader_says());
    }
    // SAFETY: the library is loaded and the name ends with a zero.
    let found = unsafe { libc::dlsym(library, c"MPI_Get_library_version".as_ptr()) };
    if found.is_null() {
        return Err(loader_says());
    }
    // SAFETY: MPI gives the function of this name this type, in both interfaces.
    let ask = unsafe {
        std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(found)
    };
    let mut text = vec![0u8; LONGEST_VERSION];
    let mut length = 0;
    // SAFETY: the buffer is as long as the longest text of either interface.
    if unsafe { ask(text.as_mut_ptr().cast(), &mut length) } != 0 {
        return Err("it does not say its version".to_owned());
    }
    let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy).unwrap_or_default();
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn loader_says() -> String {
    // SAFETY: dlerror returns NULL or a text that ends with a zero and lasts until the next call of
    // this thread.
    let text = unsafe {
        let text = libc::dlerror();
        if text.is_null() { None } else { Some(CStr::from_ptr(text).to_string_lossy().into_owned()) }
    };
    text.unwrap_or_else(|| "the loader does not say why".to_owned())
}

/// Whose mpiexec a person would start.
fn mpiexec(bin: &Path) -> Row {
    let own = bin.join("mpiexec");
    if own.is_file() && !is_own(&own) {
        return Row::new("mpiexec", "mpiexec", Value::text("not Towpath's"), overwritten("mpiexec"))
            .with("path", Value::text(own.to_string_lossy()));
    }
    let path = config::environment("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|folder| folder.join("mpiexec")).find(|file| file.is_file());
    let same = |file: &PathBuf| std::fs::canonicalize(file).ok() == std::fs::canonicalize(&own).ok();
    let (value, remark) = match first {
        Some(found) if same(&found) => (Value::text("this one"), "the first in PATH".to_owned()),
        Some(found) => {
            (Value::text("another"), format!("the first in PATH is {}, not {}", found.display(), own.display()))
        }
        None => (Value::Nothing("not in PATH"), format!("put {} into PATH", bin.display())),
    };
    Row::new("mpiexec", "mpiexec", value, remark).with("path", Value::text(own.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpiexec_of_another_package_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let said = |content: &str| {
            std::fs::write(folder.path().join("mpiexec"), content).unwrap();
            format!("{:?}", mpiexec(folder.path()))
        };
        assert!(said("#!/bin/sh\nexec mpiexec.hydra").contains("WARNING"));
        assert!(!said("a program with TOWPATH_JOB inside").contains("WARNING"));
    }
}
