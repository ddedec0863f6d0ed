//! The text of the kernels in PTX, which the driver compiles for its device.

use std::ffi::CString;

use crate::kernel::KernelChoice;

/// All kernels, for every architecture since Volta. Made by `tools/device_kernels.py`.
const KERNELS: &str = include_str!("../kernels/move_70.ptx");
/// Precedes the name of each kernel.
const MARK: &str = "\t// .globl\t";

/// The name of a kernel, and a text that contains only this one.
pub(crate) fn source_of(choice: KernelChoice) -> (CString, CString) {
    let name = format!("towpath_move_{}{}", if choice.wide { "wide_" } else { "" }, choice.word);
    let mut parts = KERNELS.split(MARK);
    let head = parts.next().unwrap_or_default();
    let body = parts.find(|part| part.lines().next() == Some(&name)).unwrap_or_default();
    let string = |text: String| CString::new(text).unwrap_or_default();
    (string(name.clone()), string(format!("{head}{MARK}{body}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_has_a_text_of_its_own() {
        for wide in [false, true] {
            for word in [1, 2, 4, 8, 16] {
                let (name, text) = source_of(KernelChoice { word, wide, scattered: false });
                let (name, text) = (name.to_str().unwrap(), text.to_str().unwrap());
                assert!(text.contains(".version 7.8\n.target sm_70\n"), "{name}");
                assert!(text.contains(&format!(".entry {name}(\n")));
                assert_eq!(text.matches(".entry").count(), 1);
                let before = text.split(".visible").next().unwrap();
                let directives = before.lines().filter(|line| !line.trim_start().starts_with("//"));
                assert!(
                    directives.filter(|line| !line.is_empty()).all(|line| line.starts_with('.'))
                );
            }
        }
    }
}
