//! Whether a call repeats an earlier one: then what was planned for that one serves it too.

use crate::Operation;
use crate::buffers::{Blocks, Buffer, Element};
use crate::operand::Operand;
use crate::reducer::{ReduceFunction, Reducer};

impl Operation {
    /// True if this is the same operation, on the same memory, of the same team. Calls with
    /// datatypes, with a block length for each rank, or with a function of the program repeat
    /// nothing: to compare them takes as long as to plan them.
    pub fn repeats(&self, earlier: &Operation) -> bool {
        use Operation::*;
        match (self, earlier) {
            (Barrier, Barrier) => true,
            (Bcast { root, data }, Bcast { root: other, data: before }) => {
                root == other && data.repeats(before)
            }
            (Gather(own), Gather(other)) => {
                own.root == other.root
                    && both(&own.send, &other.send, Buffer::repeats)
                    && both(&own.receive, &other.receive, Blocks::repeats)
            }
            (Scatter(own), Scatter(other)) => {
                own.root == other.root
                    && both(&own.send, &other.send, Blocks::repeats)
                    && both(&own.receive, &other.receive, Buffer::repeats)
            }
            (Allgather(own), Allgather(other)) => {
                both(&own.send, &other.send, Buffer::repeats) && own.receive.repeats(&other.receive)
            }
            (Alltoall(own), Alltoall(other)) => {
                both(&own.send, &other.send, Blocks::repeats) && own.receive.repeats(&other.receive)
            }
            (
                Reduce { root, operand, receive },
                Reduce { root: other, operand: before, receive: into },
            ) => root == other && receive == into && operand.repeats(before),
            (Allreduce { operand, receive }, Allreduce { operand: before, receive: into }) => {
                receive == into && operand.repeats(before)
            }
            (
                Scan { operand, receive, exclusive },
                Scan { operand: before, receive: into, exclusive: other },
            ) => exclusive == other && receive == into && operand.repeats(before),
            _ => false,
        }
    }
}

/// True if both are there and one repeats the other, or none is there.
fn both<T>(own: &Option<T>, earlier: &Option<T>, repeats: impl Fn(&T, &T) -> bool) -> bool {
    match (own, earlier) {
        (Some(own), Some(earlier)) => repeats(own, earlier),
        (None, None) => true,
        _ => false,
    }
}

impl Element {
    fn repeats(&self, earlier: &Element) -> bool {
        self.size == earlier.size && self.is_dense() && earlier.is_dense()
    }
}

impl Buffer {
    fn repeats(&self, earlier: &Buffer) -> bool {
        self.pointer == earlier.pointer
            && self.count == earlier.count
            && self.element.repeats(&earlier.element)
    }
}

impl Blocks {
    fn repeats(&self, earlier: &Blocks) -> bool {
        match (self, earlier) {
            (
                Blocks::Equal { pointer, count, element },
                Blocks::Equal { pointer: at, count: length, element: before },
            ) => pointer == at && count == length && element.repeats(before),
            _ => false,
        }
    }
}

impl Operand {
    fn repeats(&self, earlier: &Operand) -> bool {
        self.send == earlier.send
            && self.count == earlier.count
            && self.element.repeats(&earlier.element)
            && self.reducer.repeats(&earlier.reducer)
    }
}

impl Reducer {
    fn repeats(&self, earlier: &Reducer) -> bool {
        match (self.function(), earlier.function()) {
            (ReduceFunction::Kernel(own), ReduceFunction::Kernel(other)) => {
                std::ptr::fn_addr_eq(*own, *other)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use towpath_datatype::{Basic, Datatype, Form, reduce};

    use super::*;
    use crate::gather::Gather;

    fn predefined(operation: reduce::Operation) -> Reducer {
        Reducer::predefined(reduce::kernel(operation, Basic::Int).expect("integers have it"))
    }

    fn buffer(at: usize, count: i64, size: i64) -> Buffer {
        Buffer { pointer: at as *mut u8, count, element: Element::dense(size) }
    }

    fn allreduce(count: i64, reducer: Reducer) -> Operation {
        let (send, receive) = (None, 64 as *mut u8);
        Operation::Allreduce {
            operand: Operand { send, count, element: Element::dense(8), reducer },
            receive,
        }
    }

    fn calls() -> Vec<Operation> {
        let blocks = |at: usize| Blocks::Equal {
            pointer: at as *mut u8,
            count: 4,
            element: Element::dense(1),
        };
        let gather =
            |send, receive| Operation::Gather(Gather { root: 1, send: Some(send), receive });
        vec![
            Operation::Barrier,
            Operation::Bcast { root: 0, data: buffer(64, 4, 1) },
            Operation::Bcast { root: 1, data: buffer(64, 4, 1) },
            Operation::Bcast { root: 1, data: buffer(65, 4, 1) },
            Operation::Bcast { root: 1, data: buffer(64, 5, 1) },
            Operation::Bcast { root: 1, data: buffer(64, 4, 2) },
            gather(buffer(64, 4, 1), None),
            gather(buffer(64, 4, 1), Some(blocks(128))),
            gather(buffer(64, 4, 1), Some(blocks(192))),
            allreduce(4, predefined(reduce::Operation::Sum)),
            allreduce(5, predefined(reduce::Operation::Sum)),
            allreduce(5, predefined(reduce::Operation::Max)),
        ]
    }

    #[test]
    fn a_call_repeats_itself_only() {
        for (number, own) in calls().iter().enumerate() {
            for (other, earlier) in calls().iter().enumerate() {
                assert_eq!(own.repeats(earlier), number == other, "{own:?} {earlier:?}");
            }
        }
    }

    #[test]
    fn datatypes_lengths_and_functions_of_the_program_repeat_nothing() {
        let int = Datatype::named(Basic::Int);
        let pairs = Datatype::vector(2, 1, 2, &int, Form::Small).expect("a valid type");
        let element = Element::of(&pairs);
        let typed = || Operation::Bcast {
            root: 0,
            data: Buffer { pointer: 64 as *mut u8, count: 1, element: element.clone() },
        };
        assert!(!typed().repeats(&typed()));
        let own = || allreduce(4, Reducer::user(Arc::new(|_, _, _| ()), true));
        assert!(!own().repeats(&own()));
    }
}
