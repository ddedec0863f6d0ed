//! Layouts as the kernels of a device address them: loops over blocks, or over a list of blocks.

use crate::datatype::Datatype;
use crate::plan::{LayoutPlan, PlanShape};

/// Maximum number of loops of a [`DeviceLayout`]. A layout with more of them is listed block by
/// block.
pub const MAX_LOOPS: usize = 6;

/// The blocks that the loops of a [`DeviceLayout`] repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceBlocks {
    /// One block of this many bytes.
    One(usize),
    /// DeviceBlocks of `length` bytes at these offsets.
    Equal {
        /// Bytes in each block.
        length: usize,
        /// Offset of each block.
        offsets: Vec<i64>,
    },
    /// DeviceBlocks of unequal length.
    Unequal {
        /// Offset of each block.
        offsets: Vec<i64>,
        /// Packed position of each block.
        starts: Vec<u64>,
        /// Bytes in all of them.
        bytes: usize,
    },
}

/// Where the bytes of elements are, in the order of the type map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLayout {
    /// Offset, in bytes from the buffer's address, to which all others are relative.
    pub offset: i64,
    /// The innermost blocks.
    pub blocks: DeviceBlocks,
    /// Count and stride in bytes of each loop, innermost first.
    pub loops: Vec<(usize, i64)>,
}

impl DeviceBlocks {
    /// Bytes in all of them.
    pub fn bytes(&self) -> usize {
        match self {
            DeviceBlocks::One(length) => *length,
            DeviceBlocks::Equal { length, offsets } => length * offsets.len(),
            DeviceBlocks::Unequal { bytes, .. } => *bytes,
        }
    }
}

impl DeviceLayout {
    /// The layout of `count` elements. The work is proportional to the number of entries of its
    /// list, if it has one.
    pub fn of(datatype: &Datatype, count: i64) -> DeviceLayout {
        let plan = &datatype.body().plan;
        let count = count.max(0) as usize;
        if count == 0 || plan.size == 0 {
            return DeviceLayout { offset: 0, blocks: DeviceBlocks::One(0), loops: Vec::new() };
        }
        let (mut layout, extent) = (DeviceLayout::of_plan(plan), datatype.extent());
        layout.repeat(count, extent);
        match layout.loops.len() {
            ..=MAX_LOOPS => layout,
            _ => DeviceLayout::listed(plan, count, extent),
        }
    }

    /// Bytes of data.
    pub fn bytes(&self) -> usize {
        self.loops.iter().fold(self.blocks.bytes(), |bytes, (count, _)| bytes * count)
    }

    /// The offset of each block, relative to the buffer's address, in the order of the type map.
    pub fn block_offsets(&self) -> impl Iterator<Item = i64> + '_ {
        let listed: &[i64] = match &self.blocks {
            DeviceBlocks::One(_) => &[0],
            DeviceBlocks::Equal { offsets, .. } | DeviceBlocks::Unequal { offsets, .. } => offsets,
        };
        let copies: usize = self.loops.iter().map(|(count, _)| count).product();
        (0..copies).flat_map(move |copy| {
            let mut rest = copy;
            let distance = self.loops.iter().fold(self.offset, |distance, (count, stride)| {
                let step = (rest % count) as i64;
                rest /= count;
                distance.wrapping_add(step.wrapping_mul(*stride))
            });
            listed.iter().map(move |offset| offset.wrapping_add(distance))
        })
    }

    fn of_plan(plan: &LayoutPlan) -> DeviceLayout {
        let (blocks, loops) = match &plan.shape {
            PlanShape::Nest(nest) => {
                let loops = nest.loops().iter().rev().map(|step| (step.count, step.stride as i64));
                (DeviceBlocks::One(nest.block), loops.collect())
            }
            PlanShape::Repeat(repeat) => {
                let mut layout = DeviceLayout::of_plan(&repeat.child);
                layout.repeat(repeat.count, repeat.stride as i64);
                return DeviceLayout { offset: layout.offset + plan.offset, ..layout };
            }
            PlanShape::Blocks(list) => {
                let (length, offsets) = (list.length(), list.offsets().collect());
                (DeviceBlocks::Equal { length, offsets }, Vec::new())
            }
            PlanShape::List(_) | PlanShape::Scatter(_) | PlanShape::Sequence(_) => {
                return DeviceLayout::listed(plan, 1, 0);
            }
        };
        DeviceLayout { offset: plan.offset, blocks, loops }
    }

    /// Adds an outermost loop, or lengthens the block if the copies are adjacent.
    fn repeat(&mut self, count: usize, stride: i64) {
        match &mut self.blocks {
            _ if count == 1 => {}
            DeviceBlocks::One(length) if self.loops.is_empty() && stride == *length as i64 => {
                *length *= count;
            }
            _ => self.loops.push((count, stride)),
        }
    }

    /// The layout with every block in a list.
    fn listed(plan: &LayoutPlan, count: usize, extent: i64) -> DeviceLayout {
        let mut list = List::default();
        (0..count as i64).for_each(|copy| list.plan(plan, copy * extent));
        let List { offsets, starts, bytes, .. } = list;
        let blocks = DeviceBlocks::Unequal { offsets, starts, bytes: bytes as usize };
        DeviceLayout { offset: 0, blocks, loops: Vec::new() }
    }
}

/// DeviceBlocks in the order of the type map.
#[derive(Default)]
struct List {
    offsets: Vec<i64>,
    starts: Vec<u64>,
    bytes: u64,
}

impl List {
    fn block(&mut self, offset: i64, length: usize) {
        self.offsets.push(offset);
        self.starts.push(self.bytes);
        self.bytes += length as u64;
    }

    fn plan(&mut self, plan: &LayoutPlan, at: i64) {
        let at = at + plan.offset;
        match &plan.shape {
            PlanShape::Nest(nest) => self.nest(nest.block, nest.loops(), at),
            PlanShape::Repeat(repeat) => {
                (0..repeat.count as i64).for_each(|copy| self.plan(&repeat.child, at + copy * repeat.stride as i64));
            }
            PlanShape::Blocks(list) => list.offsets().for_each(|offset| self.block(at + offset, list.length())),
            PlanShape::List(list) => list.blocks().for_each(|block| self.block(at + block.offset, block.length)),
            PlanShape::Scatter(scatter) => {
                scatter.offsets.iter().for_each(|offset| self.plan(&scatter.child, at + offset));
            }
            PlanShape::Sequence(sequence) => sequence.parts.iter().for_each(|part| self.plan(part, at)),
        }
    }

    fn nest(&mut self, block: usize, loops: &[crate::plan::Loop], at: i64) {
        let Some((outer, inner)) = loops.split_first() else { return self.block(at, block) };
        (0..outer.count as i64).for_each(|index| self.nest(block, inner, at + index * outer.stride as i64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::Basic;
    use crate::cursor::pack;
    use crate::datatype::Form;

    /// Offset of every packed byte, computed as the kernels do.
    fn addresses(layout: &DeviceLayout) -> Vec<i64> {
        let inner = layout.blocks.bytes();
        let address = |position: usize| {
            let (mut rest, within) = (position / inner, position % inner);
            let mut address = layout.offset
                + match &layout.blocks {
                    DeviceBlocks::One(_) => within as i64,
                    DeviceBlocks::Equal { length, offsets } => {
                        let inside = within % length;
                        offsets[within / length] + inside as i64
                    }
                    DeviceBlocks::Unequal { offsets, starts, .. } => {
                        let entry = starts.partition_point(|&start| start <= within as u64) - 1;
                        offsets[entry] + within as i64 - starts[entry] as i64
                    }
                };
            for (count, stride) in &layout.loops {
                address += (rest % count) as i64 * stride;
                rest /= count;
            }
            address
        };
        (0..layout.bytes()).map(address).collect()
    }

    #[test]
    fn every_byte_is_where_the_packer_finds_it() {
        let int = Datatype::named(Basic::Int32);
        let column = Datatype::vector(3, 1, 4, &int, Form::Small).unwrap();
        let list = Datatype::indexed(&[1, 3, 2], &[7, 0, 4], &int, Form::Small).unwrap();
        let pairs = Datatype::indexed_block(2, &[9, 0, 5], &int, Form::Small).unwrap();
        let nested = Datatype::indexed_block(1, &[3, 0, 1], &list, Form::Small).unwrap();
        let mixed = Datatype::structure(&[1, 2], &[200, 0], &[list.clone(), column.clone()], Form::Small).unwrap();
        for datatype in [int, column, list, pairs, nested, mixed] {
            for count in 0..4 {
                let layout = DeviceLayout::of(&datatype, count);
                let memory: Vec<u16> = (0..4096).collect();
                let mut packed = vec![0u8; datatype.bytes(count) as usize];
                let from = memory.as_ptr().cast::<u8>();
                // SAFETY: no element reaches beyond 8192 bytes, and `packed` has room for all.
                unsafe { pack(&datatype, from, count, 0, packed.as_mut_ptr(), packed.len()) };
                // SAFETY: as above.
                let found = addresses(&layout).into_iter().map(|at| unsafe { from.add(at as usize).read() });
                assert_eq!(found.collect::<Vec<u8>>(), packed, "{count} of {layout:?}");
                let starts: Vec<i64> = match &layout.blocks {
                    DeviceBlocks::Unequal { .. } => continue,
                    DeviceBlocks::One(length) | DeviceBlocks::Equal { length, .. } => {
                        addresses(&layout).into_iter().step_by((*length).max(1)).collect()
                    }
                };
                assert!(count == 0 || layout.block_offsets().collect::<Vec<_>>() == starts, "{layout:?}");
            }
        }
    }
}
