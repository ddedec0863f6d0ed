//! Builds Towpath and lays it out below a prefix: lib/, include/, bin/, lib/pkgconfig; the
//! libraries with the strict channel in lib/strict; Python modules in lib/python; debugging
//! information in .debug beside each file.
//!
//! There are no symbolic links, because a wheel cannot contain any. In their place are linker
//! scripts, shell scripts, and small libraries that depend on the real ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For each library: its package, the file that cargo builds, the name under which it is installed,
/// and the name that the linker looks for.
const LIBRARIES: &[(&str, &str, &str, &str)] = &[
    ("towpath-abi-mpich", "libmpi.so", "libmpi.so.12", "libmpi.so"),
    ("towpath-abi-standard", "libmpi_abi.so", "libmpi_abi.so.1", "libmpi_abi.so"),
];

/// The library of message-driven objects, in the same form.
const ACTORS: (&str, &str, &str, &str) = (
    "towpath-actors-c",
    "libtowpath_actors_c.so",
    "libtowpath_actors.so.0",
    "libtowpath_actors.so",
);

/// What programs of chares are linked with. Their large blocks of malloc come from memory that the
/// ranks of a host share, so that arrays need not be copied.
const LINKED_ACTORS: &str = "towpath_actors -Wl,--push-state,--no-as-needed \
                             -l:libtowpath-malloc.so -Wl,--pop-state";

/// Where the Python modules are; in the wheel they are among those of its environment.
const PYTHON_MODULES: &str = "lib/python";

/// Libraries that nobody links: what the Python module of chares needs besides, and what mpiexec
/// preloads if malloc is to allocate shared memory. For each, its package, the file that cargo
/// builds, and the name under which it is installed.
const LOADED: [(&str, &str, &str); 2] = [
    ("towpath-actors-python", "libtowpath_actors_python.so", "libtowpath_actors_python.so.0"),
    ("towpath-malloc", "libtowpath_malloc.so", "libtowpath-malloc.so"),
];

/// Name of the cargo feature and of the cargo profile of the libraries with the strict channel, and
/// of their directory in lib/.
///
/// The profile gives them a directory of their own below target/, because cargo uses the same file
/// name for all feature sets.
const STRICT: &str = "strict";

/// The packages that contain the programs.
const PROGRAMS: [&str; 2] = ["towpath-tool", "towpath-charmc"];

/// Additional names of the libraries: the name, the library that it stands for, and the name that
/// the linker looks for.
///
/// `libmpich.so.12`: programs built with Debian's MPICH. `libmpi_abi.so.0`: programs built with
/// early stubs of the standard ABI. `libmpicxx.so.12` and `libmpichcxx.so.12`: C++ programs are
/// linked with them even if they use only the C functions.
const SHIMS: &[(&str, &str, Option<&str>)] = &[
    ("libmpich.so.12", "libmpi.so.12", Some("libmpich.so")),
    ("libmpi_abi.so.0", "libmpi_abi.so.1", None),
    ("libmpicxx.so.12", "libmpi.so.12", None),
    ("libmpichcxx.so.12", "libmpi.so.12", None),
];

/// The other commands that installed programs are: the name, the program, and its first argument
/// for that. Scripts, because a second copy of mpiexec would be a tenth of the wheel.
const OTHER_NAMES: [(&str, &str, &str); 3] = [
    ("mpirun", "mpiexec", ""),
    ("towpath", "mpiexec", " --towpath"),
    ("towpath-charmrun", "towpath-charmc", " --charmrun"),
];
const AS_OTHER: &str =
    "#!/bin/sh\nexec \"$(dirname -- \"$(readlink -f -- \"$0\")\")/@PROGRAM@\"@OPTION@ \"$@\"\n";

/// The compiler scripts: name, whether it is for C++, and ABI.
const COMPILERS: &[(&str, bool, &str)] = &[
    ("mpicc", false, "mpich"),
    ("mpicxx", true, "mpich"),
    ("mpic++", true, "mpich"),
    ("mpicc_abi", false, "standard"),
    ("mpicxx_abi", true, "standard"),
    ("mpic++_abi", true, "standard"),
];

/// Builds with a cargo profile, for the glibc of this machine or an older one, and installs below
/// the prefix.
pub fn run(root: &Path, prefix: &Path, profile: &str, glibc: Option<&str>) -> Result<(), String> {
    let prefix = std::path::absolute(prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    let target = match glibc {
        None => build(root, profile)?,
        Some(version) => build_for_glibc(root, profile, version)?,
    };
    for directory in ["lib/pkgconfig", "lib/strict", "include/standard", "bin"] {
        let path = prefix.join(directory);
        fs::create_dir_all(&path).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
    }
    libraries(&target.join(directory_of(profile)), &prefix.join("lib"))?;
    strict_libraries(&target.join(STRICT), &prefix.join("lib").join(STRICT))?;
    headers(root, &prefix)?;
    copy_directory(&root.join("python"), &prefix.join(PYTHON_MODULES))?;
    programs(root, &target.join(directory_of(profile)), &prefix)?;
    package_files(root, &prefix)?;
    println!("installed in {}", prefix.display());
    Ok(())
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

fn successful(command: &mut Command) -> Result<(), String> {
    let status =
        command.status().map_err(|e| format!("cannot start {:?}: {e}", command.get_program()))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}

/// Builds the libraries and the programs; returns the directory with the results of all profiles.
fn build(root: &Path, profile: &str) -> Result<PathBuf, String> {
    println!("building the libraries and the programs");
    // In one command: linking takes longest, and each library is linked by a single thread.
    let chosen = packages().chain(PROGRAMS).flat_map(|package| ["-p", package]);
    successful(
        cargo(root).args(["build", "-q", "--profile", profile, "--lib", "--bins"]).args(chosen),
    )?;
    println!("building the libraries with the strict channel");
    let chosen = interfaces().flat_map(|package| ["-p", package]);
    let words = ["build", "-q", "--profile", STRICT, "--features", STRICT, "--lib"];
    successful(cargo(root).args(words).args(chosen))?;
    Ok(target_directory(root))
}

/// The packages of the libraries of both ABIs.
fn interfaces() -> impl Iterator<Item = &'static str> {
    LIBRARIES.iter().map(|library| library.0)
}

/// The packages of all libraries.
fn packages() -> impl Iterator<Item = &'static str> {
    interfaces().chain([ACTORS.0]).chain(LOADED.map(|library| library.0))
}

fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn directory_of(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Like [`build`], but links with zig, which knows the symbols of every glibc version.
///
/// The libraries must be linked with the system's libgcc_s instead of zig's unwinder. Otherwise a
/// C++ exception, which libgcc_s raises, reaches a Rust frame whose unwinder cannot read the
/// context of libgcc_s, and the process crashes without a message.
fn build_for_glibc(root: &Path, profile: &str, version: &str) -> Result<PathBuf, String> {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target = format!("{triple}.{version}");
    let directory = target_directory(root).join(&triple);
    let unwinder = directory.join("unwinder");
    copy_unwinder(&unwinder)?;
    let zigbuild = || {
        let mut command = Command::new("cargo-zigbuild");
        command.current_dir(root);
        command
    };
    let library = |package: &str, profile: &str, more: &[&str]| {
        let words =
            ["rustc", "-q", "--profile", profile, "--target", &target, "-p", package, "--lib"];
        let mut command = zigbuild();
        command.args(words).args(more).args(["--", "-l", "dylib:+verbatim=libgcc_s.so.1", "-L"]);
        successful(command.arg(format!("native={}", unwinder.display())))
    };
    packages().try_for_each(|package| library(package, profile, &[]))?;
    interfaces().try_for_each(|package| library(package, STRICT, &["--features", STRICT]))?;
    let chosen = PROGRAMS.iter().flat_map(|package| ["-p", package]);
    let words = ["build", "-q", "--profile", profile, "--target", &target, "--bins"];
    successful(zigbuild().args(words).args(chosen))?;
    Ok(directory)
}

/// Copies the system's libgcc_s into a directory of its own, because in its original directory the
/// linker would also find the system's glibc.
fn copy_unwinder(directory: &Path) -> Result<(), String> {
    let name = "libgcc_s.so.1";
    let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .arg(format!("-print-file-name={name}"))
        .output()
        .map_err(|e| format!("cannot ask the C compiler for {name}: {e}"))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    fs::create_dir_all(directory)
        .map_err(|e| format!("cannot make {}: {e}", directory.display()))?;
    copy(&path, &directory.join(name))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    // A running program may use the old file, so replace it by renaming.
    let fresh = to.with_extension("new");
    fs::copy(from, &fresh)
        .and_then(|_| fs::rename(&fresh, to))
        .map_err(|e| format!("cannot copy {} to {}: {e}", from.display(), to.display()))
}

fn write(path: &Path, text: &str, executable: bool) -> Result<(), String> {
    let mode = if executable { 0o755 } else { 0o644 };
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Installs a library or a program without its symbols and line tables, which only debuggers and
/// backtraces read. They go into `.debug/NAME.debug` beside it, where both look. Without objcopy
/// (binutils), the file is installed unstripped.
fn copy_stripped(from: &Path, to: &Path) -> Result<(), String> {
    let objcopy = std::env::var_os("OBJCOPY").unwrap_or_else(|| "objcopy".into());
    if Command::new(&objcopy).arg("--version").output().is_err() {
        return copy(from, to);
    }
    let name = to
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| format!("{} is not a file", to.display()))?;
    let directory = to.with_file_name(".debug");
    fs::create_dir_all(&directory)
        .map_err(|e| format!("cannot make {}: {e}", directory.display()))?;
    let (debug, fresh) = (directory.join(format!("{name}.debug")), to.with_extension("new"));
    successful(Command::new(&objcopy).arg("--only-keep-debug").arg(from).arg(&debug))?;
    let link = format!("--add-gnu-debuglink={}", debug.display());
    successful(Command::new(&objcopy).args(["--strip-all", &link]).arg(from).arg(&fresh))?;
    fs::rename(&fresh, to).map_err(|e| format!("cannot make {}: {e}", to.display()))
}

fn libraries(target: &Path, lib: &Path) -> Result<(), String> {
    for (_, built, installed, linked) in LIBRARIES.iter().chain([&ACTORS]) {
        copy_stripped(&target.join(built), &lib.join(installed))?;
        write(&lib.join(linked), &format!("INPUT({installed})\n"), false)?;
    }
    for (_, built, installed) in LOADED {
        copy_stripped(&target.join(built), &lib.join(installed))?;
    }
    for (name, stands_for, linked) in SHIMS {
        shim(lib, name, stands_for)?;
        if let Some(linked) = linked {
            write(&lib.join(linked), &format!("INPUT({stands_for})\n"), false)?;
        }
    }
    Ok(())
}

/// Installs the libraries with the strict channel under the names that the loader looks for. The
/// shims in lib/ load them too if their directory is first in LD_LIBRARY_PATH.
fn strict_libraries(target: &Path, lib: &Path) -> Result<(), String> {
    LIBRARIES.iter().try_for_each(|(_, built, installed, _)| {
        copy_stripped(&target.join(built), &lib.join(installed))
    })
}

/// Builds an empty library that depends on the real one. The loader then finds all symbols in the
/// real library, which is loaded once per process.
fn shim(lib: &Path, name: &str, stands_for: &str) -> Result<(), String> {
    let fresh = lib.join(format!("{name}.new"));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    successful(
        Command::new(compiler)
            .args([
                "-shared",
                "-fPIC",
                "-x",
                "c",
                "/dev/null",
                "-Wl,--no-as-needed",
                "-Wl,--enable-new-dtags",
                "-Wl,-rpath,$ORIGIN",
            ])
            .arg(format!("-Wl,-soname,{name}"))
            .arg("-L")
            .arg(lib)
            .arg(format!("-l:{stands_for}"))
            .arg("-o")
            .arg(&fresh),
    )?;
    fs::rename(&fresh, lib.join(name)).map_err(|e| format!("cannot make {name}: {e}"))
}

fn headers(root: &Path, prefix: &Path) -> Result<(), String> {
    let include = prefix.join("include");
    copy(&root.join("include/mpich/mpi.h"), &include.join("mpi.h"))?;
    copy(&root.join("include/standard/mpi.h"), &include.join("mpi_abi.h"))?;
    copy(&root.join("include/standard/mpi.h"), &include.join("standard/mpi.h"))?;
    copy(&root.join("include/mpi-ext.h"), &include.join("mpi-ext.h"))?;
    copy(&root.join("include/mpi-ext.h"), &include.join("standard/mpi-ext.h"))?;
    copy_directory(&root.join("include/towpath"), &include.join("towpath"))
}

/// Copies the files of a directory, and those of the directories in it, but what Python has
/// compiled.
fn copy_directory(from: &Path, to: &Path) -> Result<(), String> {
    let unreadable = |e| format!("cannot read {}: {e}", from.display());
    fs::create_dir_all(to).map_err(|e| format!("cannot make {}: {e}", to.display()))?;
    for entry in fs::read_dir(from).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.ends_with("__pycache__") {
            continue;
        }
        let copied = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { copy_directory(&path, &copied)? } else { copy(&path, &copied)? }
    }
    Ok(())
}

fn programs(root: &Path, target: &Path, prefix: &Path) -> Result<(), String> {
    let bin = prefix.join("bin");
    copy_stripped(&target.join("towpath"), &bin.join("mpiexec"))?;
    copy_stripped(&target.join("towpath-charmc"), &bin.join("towpath-charmc"))?;
    for (name, program, option) in OTHER_NAMES {
        let text = AS_OTHER.replace("@PROGRAM@", program).replace("@OPTION@", option);
        write(&bin.join(name), &text, true)?;
    }
    let script = fs::read_to_string(root.join("tools/mpicc.in"))
        .map_err(|e| format!("cannot read tools/mpicc.in: {e}"))?;
    for (name, plus, abi) in COMPILERS {
        let (variable, default, driver) =
            if *plus { ("CXX", "c++", "-cxx") } else { ("CC", "cc", "-cc") };
        let text = script
            .replace("@NAME@", name)
            .replace("@VARIABLE@", variable)
            .replace("@DEFAULT@", default)
            .replace("@DRIVER@", driver)
            .replace("@ABI@", abi)
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        write(&bin.join(name), &text, true)?;
    }
    Ok(())
}

fn package_files(root: &Path, prefix: &Path) -> Result<(), String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(|e| e.to_string())?;
    let manifest: toml::Table = toml::from_str(&manifest).map_err(|e| e.to_string())?;
    let version = manifest["workspace"]["package"]["version"].as_str().unwrap_or("0");
    for (name, about, include, library) in [
        ("towpath", "MPI (MPICH ABI)", "", "mpi"),
        ("mpich", "MPI (MPICH ABI, by Towpath)", "", "mpi"),
        ("towpath-standard", "MPI (standard ABI)", "/standard", "mpi_abi"),
        ("towpath-actors", "message-driven objects", "", LINKED_ACTORS),
    ] {
        let text = format!(
            "prefix=${{pcfiledir}}/../..\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
             Name: {name}\nDescription: {about}\nVersion: {version}\n\
             Cflags: -I${{includedir}}{include}\nLibs: -L${{libdir}} -Wl,--enable-new-dtags -Wl,-rpath,${{libdir}} -l{library}\n"
        );
        write(&prefix.join(format!("lib/pkgconfig/{name}.pc")), &text, false)?;
    }
    Ok(())
}
