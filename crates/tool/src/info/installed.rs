//! Reports what is installed together with this program: the libraries under all their names, the
//! programs, and whether they match.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use towpath_base::config;

use crate::report::{CellValue, ReportRow, ReportSection};

/// Names of the libraries, and the programs that are linked with them.
const LIBRARIES: &[(&str, &str)] = &[
    ("libmpi.so.12", "MPICH ABI: mpi4py's wheel, programs of MPICH, Intel MPI, MVAPICH"),
    ("libmpich.so.12", "MPICH ABI: programs of Debian's MPICH"),
    ("libmpicxx.so.12", "MPICH ABI: C++ programs"),
    ("libmpichcxx.so.12", "MPICH ABI: C++ programs of Debian's MPICH"),
    ("libmpi_abi.so.1", "standard ABI of MPI 5"),
    ("libmpi_abi.so.0", "standard ABI: programs of its early stubs"),
];

/// The library of message-driven objects, which programs use beside one of these.
const CHARES: (&str, &str) =
    ("libtowpath_actors.so.0", "chares: C++ (towpath/chare.hpp), Charm++, C, Python");

/// Size in bytes of the longest text of MPI_Get_library_version in either ABI.
const LONGEST_VERSION: usize = 8192;

/// Creates the section.
pub(super) fn section() -> ReportSection {
    let program = std::env::current_exe().unwrap_or_default();
    let bin = program.parent().unwrap_or(Path::new(".")).to_owned();
    let prefix = bin.parent().unwrap_or(Path::new("."));
    let mut rows = vec![
        ReportRow::new(
            "towpath",
            "towpath",
            CellValue::text(format!("Towpath {}", env!("CARGO_PKG_VERSION"))),
            "this program",
        )
        .with("path", CellValue::text(program.to_string_lossy())),
    ];
    rows.extend(
        LIBRARIES
            .iter()
            .map(|(name, purpose)| library(&prefix.join("lib"), name, purpose, mpi_version)),
    );
    let (name, purpose) = CHARES;
    rows.push(library(&prefix.join("lib"), name, purpose, chares_version));
    rows.push(mpiexec(&bin));
    ReportSection {
        key: "installed",
        title: format!("Installed in {}", prefix.display()),
        headings: &[],
        rows,
    }
}

fn library(
    directory: &Path,
    name: &str,
    purpose: &str,
    version: fn(LoadedLibrary) -> Result<String, String>,
) -> ReportRow {
    let path = directory.join(name);
    let (value, remark) = if !path.exists() {
        (CellValue::Nothing("missing"), format!("{purpose}; not in {}", directory.display()))
    } else {
        match load(&path).and_then(version) {
            Ok(version) => {
                let remark = if version.starts_with("Towpath ") {
                    purpose.to_owned()
                } else {
                    overwritten(name)
                };
                (CellValue::text(version), remark)
            }
            Err(sentence) => (CellValue::text("does not load"), format!("{purpose}; {sentence}")),
        }
    };
    ReportRow::new(name, name, value, remark).with("path", CellValue::text(path.to_string_lossy()))
}

/// A warning for the user that another package has replaced a file of Towpath. Python packages do
/// that silently.
fn overwritten(name: &str) -> String {
    format!(
        "WARNING: this {name} is not Towpath's, another MPI package has put it here; remove that package (pip uninstall \
         mpich, for instance), then install Towpath again (pip install --force-reinstall towpath)"
    )
}

/// True if a file is Towpath's mpiexec, which contains the names of its settings.
fn is_own(mpiexec: &Path) -> bool {
    let mark = b"TOWPATH_JOB";
    std::fs::read(mpiexec).is_ok_and(|bytes| bytes.windows(mark.len()).any(|window| window == mark))
}

/// A library that stays loaded.
struct LoadedLibrary(*mut c_void);

/// Loads a library as a program would.
fn load(path: &Path) -> Result<LoadedLibrary, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: `name` is NUL-terminated. `dlopen` runs the constructors of the library: of
    // Towpath's, which have no side effects, or of an MPI library that has replaced it, which
    // programs load in the same way.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() { Err(loader_says()) } else { Ok(LoadedLibrary(library)) }
}

/// The function of this name in a library.
fn function(library: &LoadedLibrary, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the library is open, and the name is NUL-terminated.
    let found = unsafe { libc::dlsym(library.0, name.as_ptr()) };
    if found.is_null() { Err(loader_says()) } else { Ok(found) }
}

/// Queries the version of an MPI library (MPI_Get_library_version may be called before MPI_Init).
fn mpi_version(library: LoadedLibrary) -> Result<String, String> {
    let found = function(&library, c"MPI_Get_library_version")?;
    // SAFETY: `found` is not null, and the function of this name has this type in both ABIs.
    let ask = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(
            found,
        )
    };
    let mut text = vec![0u8; LONGEST_VERSION];
    let mut length = 0;
    // SAFETY: `text` has room for the longest text of either ABI, and `length` for one integer.
    if unsafe { ask(text.as_mut_ptr().cast(), &mut length) } != 0 {
        return Err("it does not report its version".to_owned());
    }
    let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy).unwrap_or_default();
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Queries the version of the library of chares.
fn chares_version(library: LoadedLibrary) -> Result<String, String> {
    let found = function(&library, c"towpath_version")?;
    // SAFETY: `found` is not null, and include/towpath/actors.h declares the function of this name
    // so; the other libraries do not have it.
    let ask = unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(found)
    };
    // SAFETY: the function returns a constant of the library, which is a C string and stays loaded.
    Ok(unsafe { CStr::from_ptr(ask()) }.to_string_lossy().into_owned())
}

fn loader_says() -> String {
    // SAFETY: `dlerror` returns null or a NUL-terminated string that stays valid until this
    // thread's next call of the loader. It is copied before that.
    let text = unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            None
        } else {
            Some(CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    text.unwrap_or_else(|| "the loader gives no reason".to_owned())
}

/// Reports which mpiexec the user would start.
fn mpiexec(bin: &Path) -> ReportRow {
    let own = bin.join("mpiexec");
    if own.is_file() && !is_own(&own) {
        return ReportRow::new(
            "mpiexec",
            "mpiexec",
            CellValue::text("not Towpath's"),
            overwritten("mpiexec"),
        )
        .with("path", CellValue::text(own.to_string_lossy()));
    }
    let path = config::environment("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path)
        .map(|directory| directory.join("mpiexec"))
        .find(|file| file.is_file());
    let same =
        |file: &PathBuf| std::fs::canonicalize(file).ok() == std::fs::canonicalize(&own).ok();
    let (value, remark) = match first {
        Some(found) if same(&found) => {
            (CellValue::text("this one"), "the first in PATH".to_owned())
        }
        Some(found) => (
            CellValue::text("another"),
            format!("the first in PATH is {}, not {}", found.display(), own.display()),
        ),
        None => (CellValue::Nothing("not in PATH"), format!("put {} into PATH", bin.display())),
    };
    ReportRow::new("mpiexec", "mpiexec", value, remark)
        .with("path", CellValue::text(own.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpiexec_of_another_package_is_recognized() {
        let directory = tempfile::tempdir().unwrap();
        let said = |content: &str| {
            std::fs::write(directory.path().join("mpiexec"), content).unwrap();
            format!("{:?}", mpiexec(directory.path()))
        };
        assert!(said("#!/bin/sh\nexec mpiexec.hydra").contains("WARNING"));
        assert!(!said("a program with TOWPATH_JOB inside").contains("WARNING"));
    }
}
