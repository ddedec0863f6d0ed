//! Sets the library's soname, and keeps it mapped once loaded, because blocks may be freed until
//! the process ends.
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtowpath-malloc.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
