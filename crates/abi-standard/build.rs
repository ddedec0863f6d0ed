//! Gives the shared library its name for the loader and keeps it mapped once loaded (threads and
//! handlers may point into it).
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
