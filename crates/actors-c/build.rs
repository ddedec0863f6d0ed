//! Sets the shared library's soname, lets it find the MPI library beside it, and keeps it mapped
//! once loaded, because the memory of messages is freed by its code when a thread ends.
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtowpath_actors.so.0");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
