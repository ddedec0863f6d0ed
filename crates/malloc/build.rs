//! Gives the library its name for the loader and keeps it mapped once loaded (blocks may be freed
//! until the process ends).
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtowpath-malloc.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
