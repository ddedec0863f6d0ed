//! The text of the kernels in PTX, which the driver compiles for its device.

use std::ffi::CString;

/// All kernels, for every architecture since Volta. Made by `tools/device_kernels.py`.
const KERNELS: [&str; 2] =
    [include_str!("../kernels/move_70.ptx"), include_str!("../kernels/reduce_70.ptx")];
/// Precedes the name of each kernel.
const MARK: &str = "\t// .globl\t";

/// A text that contains only the kernel of this name, if there is one.
pub(crate) fn source_of(name: &str) -> Option<CString> {
    KERNELS.iter().find_map(|text| {
        let mut parts = text.split(MARK);
        let head = parts.next()?;
        let body = parts.find(|part| part.lines().next() == Some(name))?;
        CString::new(format!("{head}{MARK}{body}")).ok()
    })
}

#[cfg(test)]
mod tests {
    use towpath_datatype::Basic;
    use towpath_datatype::reduce::Operation;

    use super::*;
    use crate::kernel_names::Kernel;

    #[test]
    fn each_kernel_has_a_text_of_its_own() {
        let moves = [1, 2, 4, 8, 16].map(|word| Kernel::Move { word });
        let reduction = Kernel::Reduce(Operation::Sum, Basic::Double);
        let names = moves.into_iter().chain([Kernel::MoveWide, Kernel::MoveMany, reduction]);
        for name in names.filter_map(Kernel::name) {
            let text = source_of(&name).unwrap();
            let text = text.to_str().unwrap();
            assert!(text.contains(".version 7.8\n.target sm_70\n"), "{name}");
            assert!(text.contains(&format!(".entry {name}(\n")));
            assert_eq!(text.matches(".entry").count(), 1);
            let before = text.split(".visible").next().unwrap();
            let directives = before.lines().filter(|line| !line.trim_start().starts_with("//"));
            assert!(directives.filter(|line| !line.is_empty()).all(|line| line.starts_with('.')));
        }
        assert_eq!(source_of("towpath_move_3"), None);
    }
}
