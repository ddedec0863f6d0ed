//! Sets the shared library's soname.
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtowpath_actors_python.so.0");
}
