//! The derived properties of a datatype: bounds, sizes and layout plan. Each constructor is
//! composed of the operations on [`ElementLayout`].
//!
//! Bounds follow MPI 5.0, section 5.1.7: lower and upper bound are the minimum and maximum over the
//! type map, unless a component was resized; then only the bounds of resized components count
//! ("markers"). MPI_LB and MPI_UB of MPI-1 are markers of a single bound. A structure's extent is
//! rounded up to the alignment of its members. An empty type map has zero bounds and does not
//! affect those of an enclosing type. All arithmetic is checked `i64`: a type whose bounds overflow
//! is an error.

use crate::basic::Basic;
use crate::error::{Error, Result};
use crate::plan::{LayoutPlan, PlanBuilder};
use std::borrow::Cow;

/// The set of basic types that occur in a type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniform {
    /// None: the type map is empty.
    Empty,
    /// A single one.
    One(Basic),
    /// Several.
    Mixed,
}

/// Sizes, bounds and layout of one element of a datatype.
#[derive(Clone, Debug)]
pub(crate) struct ElementLayout {
    /// Size of the data in bytes.
    pub(crate) size: i64,
    pub(crate) lb: i64,
    pub(crate) ub: i64,
    pub(crate) true_lb: i64,
    pub(crate) true_ub: i64,
    /// True if a resized type or MPI_LB determines the lower bound.
    pub(crate) lb_marked: bool,
    /// True if a resized type or MPI_UB determines the upper bound.
    pub(crate) ub_marked: bool,
    /// Maximum alignment of the members.
    pub(crate) alignment: i64,
    /// Number of basic elements as counted by `MPI_Get_elements`: a pair counts as two.
    pub(crate) elements: i64,
    /// Size in external32, in bytes.
    pub(crate) external: i64,
    pub(crate) uniform: Uniform,
    pub(crate) plan: LayoutPlan,
}

const SIZE: Error = Error::Overflow { what: "size" };
const BOUNDS: Error = Error::Overflow { what: "bounds" };

impl Uniform {
    fn with(self, other: Uniform) -> Uniform {
        match (self, other) {
            (Uniform::Empty, one) | (one, Uniform::Empty) => one,
            (one, other) if one == other => one,
            _ => Uniform::Mixed,
        }
    }
}

impl ElementLayout {
    /// The layout of an empty type map.
    pub(crate) fn empty() -> ElementLayout {
        ElementLayout {
            size: 0,
            lb: 0,
            ub: 0,
            true_lb: 0,
            true_ub: 0,
            lb_marked: false,
            ub_marked: false,
            alignment: 1,
            elements: 0,
            external: 0,
            uniform: Uniform::Empty,
            plan: LayoutPlan::empty(),
        }
    }

    /// The layout of one basic element.
    pub(crate) fn basic(basic: Basic) -> ElementLayout {
        match basic {
            Basic::LowerBound => {
                return ElementLayout { lb_marked: true, ..ElementLayout::empty() };
            }
            Basic::UpperBound => {
                return ElementLayout { ub_marked: true, ..ElementLayout::empty() };
            }
            _ => {}
        }
        let (plan, elements) = match basic.pair() {
            Some((value, index, offset)) => {
                let mut parts = PlanBuilder::default();
                parts.block(0, value.size());
                parts.block(offset as i64, index.size());
                (parts.finish(), 2)
            }
            None => (LayoutPlan::dense(0, basic.size()), 1),
        };
        let end = basic.pair().map_or(basic.size(), |(_, index, offset)| offset + index.size());
        ElementLayout {
            size: basic.size() as i64,
            lb: 0,
            ub: basic.extent() as i64,
            true_lb: 0,
            true_ub: end as i64,
            lb_marked: false,
            ub_marked: false,
            alignment: basic.alignment() as i64,
            elements,
            external: basic.external32_size() as i64,
            uniform: Uniform::One(basic),
            plan,
        }
    }

    pub(crate) fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// True if the type map has an entry or a marker.
    fn has_map(&self) -> bool {
        self.elements > 0 || self.lb_marked || self.ub_marked
    }

    /// The layout of `copies` copies of `self`, at displacements between `low` and `high`. `plan`
    /// is called last, because it requires that the bounds do not overflow.
    fn copies(&self, copies: i64, low: i64, high: i64, plan: impl FnOnce() -> LayoutPlan) -> Result<ElementLayout> {
        let (lb, ub) = (self.lb.checked_add(low), self.ub.checked_add(high));
        let (true_lb, true_ub) = match self.size {
            0 => (Some(0), Some(0)),
            _ => (self.true_lb.checked_add(low), self.true_ub.checked_add(high)),
        };
        let (lb, ub) = (lb.ok_or(BOUNDS)?, ub.ok_or(BOUNDS)?);
        let (true_lb, true_ub) = (true_lb.ok_or(BOUNDS)?, true_ub.ok_or(BOUNDS)?);
        check(lb, ub, true_lb, true_ub)?;
        Ok(ElementLayout {
            size: self.size.checked_mul(copies).ok_or(SIZE)?,
            lb,
            ub,
            true_lb,
            true_ub,
            lb_marked: self.lb_marked,
            ub_marked: self.ub_marked,
            alignment: self.alignment,
            elements: self.elements.checked_mul(copies).ok_or(Error::Overflow { what: "number of elements" })?,
            external: self.external.checked_mul(copies).ok_or(SIZE)?,
            uniform: self.uniform,
            plan: plan(),
        })
    }

    fn checked(self) -> Result<ElementLayout> {
        check(self.lb, self.ub, self.true_lb, self.true_ub).map(|()| self)
    }

    /// `count` copies, `stride` bytes apart.
    pub(crate) fn repeated(&self, count: i64, stride: i64) -> Result<ElementLayout> {
        if count == 0 || !self.has_map() {
            return Ok(ElementLayout::empty());
        }
        let span = (count - 1).checked_mul(stride).ok_or(BOUNDS)?;
        self.copies(count, span.min(0), span.max(0), || self.plan.repeated(count as usize, stride as isize))
    }

    /// `count` copies, one extent apart.
    pub(crate) fn contiguous(&self, count: i64) -> Result<ElementLayout> {
        self.repeated(count, self.extent())
    }

    /// The same layout, moved by `distance` bytes.
    pub(crate) fn shifted(self, distance: i64) -> Result<ElementLayout> {
        if !self.has_map() {
            return Ok(self);
        }
        self.copies(1, distance, distance, || self.plan.clone().shifted(distance))
    }

    /// Copies at the given displacements.
    pub(crate) fn at_offsets(&self, offsets: &[i64]) -> Result<ElementLayout> {
        let (Some(&low), Some(&high)) = (offsets.iter().min(), offsets.iter().max()) else {
            return Ok(ElementLayout::empty());
        };
        if !self.has_map() {
            return Ok(ElementLayout::empty());
        }
        self.copies(offsets.len() as i64, low, high, || self.plan.indexed(offsets))
    }

    /// For each `i`, `lengths[i]` copies, one extent apart, starting at `offsets[i]`.
    pub(crate) fn in_blocks(&self, lengths: &[i64], offsets: &[i64]) -> Result<ElementLayout> {
        let blocks = || lengths.iter().copied().zip(offsets.iter().copied()).filter(|block| block.0 > 0);
        if !self.has_map() || blocks().next().is_none() {
            return Ok(ElementLayout::empty());
        }
        let (mut low, mut high, mut copies) = (i64::MAX, i64::MIN, 0i64);
        for (length, offset) in blocks() {
            let span = (length - 1).checked_mul(self.extent()).ok_or(BOUNDS)?;
            low = low.min(offset.checked_add(span.min(0)).ok_or(BOUNDS)?);
            high = high.max(offset.checked_add(span.max(0)).ok_or(BOUNDS)?);
            copies = copies.checked_add(length).ok_or(SIZE)?;
        }
        self.copies(copies, low, high, || self.plan_in_blocks(lengths, offsets))
    }

    fn plan_in_blocks(&self, lengths: &[i64], offsets: &[i64]) -> LayoutPlan {
        let stride = self.extent() as isize;
        let blocks = || lengths.iter().copied().zip(offsets.iter().copied()).filter(|block| block.0 > 0);
        let first = blocks().next().map_or(0, |block| block.0);
        if blocks().all(|block| block.0 == first) {
            let block = self.plan.repeated(first as usize, stride);
            let offsets: Cow<[i64]> = match lengths.contains(&0) {
                true => blocks().map(|block| block.1).collect(),
                false => offsets.into(),
            };
            return block.indexed(&offsets);
        }
        match self.plan.dense_length() {
            Some(length) if length as isize == stride => {
                let mut parts = PlanBuilder::with_capacity(lengths.len());
                blocks().for_each(|(count, offset)| parts.block(offset + self.plan.offset, count as usize * length));
                parts.finish()
            }
            _ => LayoutPlan::sequence(
                blocks().map(|(count, offset)| self.plan.repeated(count as usize, stride).shifted(offset)),
            ),
        }
    }

    /// The parts in sequence, as in a C structure.
    pub(crate) fn structure(parts: &[ElementLayout]) -> Result<ElementLayout> {
        let mut whole = ElementLayout::empty();
        whole.lb_marked = parts.iter().any(|part| part.lb_marked);
        whole.ub_marked = parts.iter().any(|part| part.ub_marked);
        let (mut lower, mut upper): (Option<i64>, Option<i64>) = (None, None);
        let mut data: Option<(i64, i64)> = None;
        for part in parts.iter().filter(|part| part.has_map()) {
            whole.size = whole.size.checked_add(part.size).ok_or(SIZE)?;
            whole.external = whole.external.checked_add(part.external).ok_or(SIZE)?;
            whole.elements += part.elements;
            whole.alignment = whole.alignment.max(part.alignment);
            whole.uniform = whole.uniform.with(part.uniform);
            if if whole.lb_marked { part.lb_marked } else { part.elements > 0 } {
                lower = Some(lower.map_or(part.lb, |lower| lower.min(part.lb)));
            }
            if if whole.ub_marked { part.ub_marked } else { part.elements > 0 } {
                upper = Some(upper.map_or(part.ub, |upper| upper.max(part.ub)));
            }
            if part.size > 0 {
                data = Some(union(data, part.true_lb, part.true_ub));
            }
        }
        (whole.lb, whole.ub) = (lower.unwrap_or(0), upper.unwrap_or(0));
        (whole.true_lb, whole.true_ub) = data.unwrap_or((0, 0));
        let mut whole = whole.checked()?;
        if !whole.lb_marked && !whole.ub_marked {
            let excess = whole.extent().rem_euclid(whole.alignment);
            let padding = if excess == 0 { 0 } else { whole.alignment - excess };
            whole.ub = whole.ub.checked_add(padding).ok_or(BOUNDS)?;
        }
        whole.plan = LayoutPlan::sequence(parts.iter().map(|part| part.plan.clone()));
        whole.checked()
    }

    /// The same data with the given lower bound and extent.
    pub(crate) fn resized(self, lb: i64, extent: i64) -> Result<ElementLayout> {
        let Some(ub) = lb.checked_add(extent) else {
            let rule = format!("lb ({lb}) and extent together must fit in a signed 64-bit integer");
            return Err(Error::Argument { argument: "extent".into(), value: extent, rule });
        };
        ElementLayout { lb, ub, lb_marked: true, ub_marked: true, ..self }.checked()
    }
}

/// Fails if an extent overflows.
fn check(lb: i64, ub: i64, true_lb: i64, true_ub: i64) -> Result<()> {
    let extents = ub.checked_sub(lb).and(true_ub.checked_sub(true_lb));
    extents.map(|_| ()).ok_or(BOUNDS)
}

fn union(bounds: Option<(i64, i64)>, low: i64, high: i64) -> (i64, i64) {
    bounds.map_or((low, high), |(lowest, highest)| (lowest.min(low), highest.max(high)))
}
