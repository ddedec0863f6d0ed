//! Sets the shared library's soname, and keeps it mapped once loaded, because threads and handlers
//! may execute its code.
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
