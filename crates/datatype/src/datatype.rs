//! The datatype object: a cheaply cloned handle, with the queries that MPI defines on it.
//!
//! A datatype is immutable, except that it can be committed; clones share everything. A message in
//! flight therefore keeps its own clone, and the program may free its handle (MPI 5.0, section
//! 5.1.9).

use crate::basic::Basic;
use crate::body::{ElementLayout, Uniform};
use crate::recipe::Recipe;
use std::sync::Arc;
use towpath_base::sync::{AtomicBool, Ordering};

/// Form of the constructor that made a type; determines the result of `MPI_Type_get_contents` (MPI
/// 5.0, section 5.1.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `MPI_Type_vector`: counts are `int`, displacements `MPI_Aint`.
    Small,
    /// `MPI_Type_vector_c`: all are `MPI_Count`.
    Large,
}

/// A datatype. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Datatype {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    body: ElementLayout,
    /// True if each element is one block and consecutive elements leave no gap.
    contiguous: bool,
    recipe: Recipe,
    form: Form,
    committed: AtomicBool,
}

impl Drop for Inner {
    /// Drops the component types, and those that only they hold, iteratively: a program may nest
    /// constructors deeper than the stack allows recursive drops.
    fn drop(&mut self) {
        let mut children = Vec::new();
        self.recipe.take_children(&mut children);
        while let Some(child) = children.pop() {
            if let Some(mut inner) = Arc::into_inner(child.inner) {
                inner.recipe.take_children(&mut children);
            }
        }
    }
}

impl Datatype {
    /// A predefined named datatype.
    pub fn named(basic: Basic) -> Datatype {
        let datatype = Datatype::made(ElementLayout::basic(basic), Recipe::Named(basic), Form::Small);
        datatype.commit();
        datatype
    }

    pub(crate) fn made(body: ElementLayout, recipe: Recipe, form: Form) -> Datatype {
        let contiguous = body.plan.dense_length() == Some(body.extent() as usize);
        Datatype { inner: Arc::new(Inner { body, contiguous, recipe, form, committed: AtomicBool::new(false) }) }
    }

    /// A duplicate (`MPI_Type_dup`), committed if this type is.
    pub fn dup(&self) -> Datatype {
        let duplicate = Datatype::made(self.body().clone(), Recipe::Dup(self.clone()), Form::Small);
        if self.is_committed() {
            duplicate.commit();
        }
        duplicate
    }

    pub(crate) fn body(&self) -> &ElementLayout {
        &self.inner.body
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.inner.recipe
    }

    /// Form of the constructor that made the type.
    pub fn form(&self) -> Form {
        self.inner.form
    }

    /// True if both are clones of the same object.
    pub fn same(&self, other: &Datatype) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Commits the type for use in communication.
    pub fn commit(&self) {
        self.inner.committed.store(true, Ordering::Relaxed);
    }

    /// True if the type may be used in communication.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.inner.committed.load(Ordering::Relaxed)
    }

    /// True if MPI itself provides the type, named or not (`MPI_Type_create_f90_real`), so that the
    /// program cannot free it.
    pub fn is_predefined(&self) -> bool {
        matches!(
            self.inner.recipe,
            Recipe::Named(_) | Recipe::F90Real { .. } | Recipe::F90Complex { .. } | Recipe::F90Integer { .. }
        )
    }

    /// The basic type, if this is a predefined named datatype.
    pub fn as_named(&self) -> Option<Basic> {
        match self.inner.recipe {
            Recipe::Named(basic) => Some(basic),
            _ => None,
        }
    }

    /// The only basic type in the type map, however often it occurs; `None` for mixed and empty
    /// type maps.
    #[inline]
    pub fn single_basic(&self) -> Option<Basic> {
        match self.inner.body.uniform {
            Uniform::One(basic) => Some(basic),
            Uniform::Empty | Uniform::Mixed => None,
        }
    }

    /// Size of one element's data in bytes.
    #[inline]
    pub fn size(&self) -> i64 {
        self.inner.body.size
    }

    /// Size of the data of `count` elements in bytes, saturating at `i64::MAX`.
    #[inline]
    pub fn bytes(&self, count: i64) -> i64 {
        self.inner.body.size.saturating_mul(count)
    }

    /// The largest count for which the size of the data and the offset of every byte fit in 63
    /// bits.
    pub fn greatest_count(&self) -> i64 {
        let body = self.body();
        if body.size == 0 {
            return i64::MAX;
        }
        let edge = body.true_lb.saturating_abs().max(body.true_ub.saturating_abs());
        let by_offset = match self.extent().saturating_abs() {
            0 => i64::MAX,
            distance => ((i64::MAX - edge) / distance).saturating_add(1),
        };
        by_offset.min(i64::MAX / body.size)
    }

    /// Lower bound.
    #[inline]
    pub fn lb(&self) -> i64 {
        self.inner.body.lb
    }

    /// Upper bound.
    #[inline]
    pub fn ub(&self) -> i64 {
        self.inner.body.ub
    }

    /// Distance between consecutive elements of a buffer in bytes.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.inner.body.extent()
    }

    /// Offset of the first byte of data.
    #[inline]
    pub fn true_lb(&self) -> i64 {
        self.inner.body.true_lb
    }

    /// Offset of the end of the data.
    #[inline]
    pub fn true_ub(&self) -> i64 {
        self.inner.body.true_ub
    }

    /// Distance from the first byte of data to the end of the last one, gaps included.
    #[inline]
    pub fn true_extent(&self) -> i64 {
        self.inner.body.true_ub - self.inner.body.true_lb
    }

    /// Maximum alignment of the members, in bytes.
    pub fn alignment(&self) -> i64 {
        self.inner.body.alignment
    }

    /// True if any number of consecutive elements is contiguous and in order.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.inner.contiguous
    }

    /// The memory spanned by `count` elements, for temporary buffers of collectives: the offset of
    /// the first byte of data relative to the buffer's address, and the distance from there to the
    /// end of the last one.
    pub fn span(&self, count: i64) -> (i64, i64) {
        if count <= 0 || self.size() == 0 {
            return (0, 0);
        }
        let last = self.extent().saturating_mul(count - 1);
        let first = self.true_lb().saturating_add(last.min(0));
        (first, self.true_extent().saturating_add(last.saturating_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greatest_count_keeps_bytes_and_offsets_within_63_bits() {
        let double = Datatype::named(Basic::Double);
        assert_eq!(double.greatest_count(), i64::MAX / 8);
        assert_eq!(Datatype::named(Basic::Byte).greatest_count(), i64::MAX);
        let resized = |lb, extent| Datatype::resized(lb, extent, &double, Form::Large).expect("a valid type");
        assert_eq!(resized(0, 1 << 60).greatest_count(), 8);
        assert_eq!(resized(0, -(1 << 60)).greatest_count(), 8);
        assert_eq!(resized(0, 0).greatest_count(), i64::MAX / 8);
        let empty = Datatype::contiguous(0, &double, Form::Large).expect("a valid type");
        assert_eq!(empty.greatest_count(), i64::MAX);
        let huge = Datatype::contiguous(i64::MAX / 8, &double, Form::Large).expect("a valid type");
        assert_eq!(huge.greatest_count(), 1);
        for datatype in [double.clone(), resized(0, 1 << 60), resized(0, -(1 << 60)), huge] {
            let (first, length) = datatype.span(datatype.greatest_count());
            assert!(first.checked_add(length).is_some_and(|end| end < i64::MAX));
        }
    }
}
