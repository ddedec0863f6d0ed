//! Buffers of sample values, with or without gaps, and the values themselves.

use std::fmt::Debug;
use std::sync::Arc;

use towpath_datatype::device::simulated::SimulatedDevice;
use towpath_datatype::{Basic, Datatype, Form};

use crate::buffers::{Blocks, Buffer, DeviceReduction, DeviceSpread, Element};
use crate::reducer::Reducer;

/// A value that the tests move and combine.
pub(crate) trait Sample: Copy + PartialEq + Debug + 'static {
    const COMMUTATIVE: bool;
    /// The value of element `index` of rank `rank`.
    fn of(rank: usize, index: i64) -> Self;
    fn combine(lower: Self, upper: Self) -> Self;
}

impl Sample for i64 {
    const COMMUTATIVE: bool = true;
    fn of(rank: usize, index: i64) -> i64 {
        (rank as i64 + 1) * 1_000_003 + index * 7919
    }
    fn combine(lower: i64, upper: i64) -> i64 {
        lower.wrapping_add(upper)
    }
}

/// A 2 by 2 matrix modulo a prime: multiplication is associative but not commutative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matrix([u32; 4]);

impl Sample for Matrix {
    const COMMUTATIVE: bool = false;
    fn of(rank: usize, index: i64) -> Matrix {
        let (r, i) = (rank as u32, index as u32);
        Matrix([r + 2, i % 11 + 1, 3 * r + i + 1, 5])
    }
    fn combine(Matrix(a): Matrix, Matrix(b): Matrix) -> Matrix {
        let cell = |row: usize, column: usize| {
            let sum = u64::from(a[2 * row]) * u64::from(b[column])
                + u64::from(a[2 * row + 1]) * u64::from(b[2 + column]);
            (sum % 65_521) as u32
        };
        Matrix([cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)])
    }
}

impl Sample for f64 {
    const COMMUTATIVE: bool = true;
    fn of(rank: usize, index: i64) -> f64 {
        1.0 / (rank as f64 + 3.0) + index as f64 * 1e-3
    }
    fn combine(lower: f64, upper: f64) -> f64 {
        lower + upper
    }
}

/// Memory layout of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Consecutive, without gaps.
    Dense,
    /// Each value at offset 8 of an element that is 24 bytes larger than the value.
    Gaps,
    /// Each value before the previous one (negative extent).
    Backwards,
    /// Consecutive, in the memory of a device.
    Device,
    /// Consecutive integers of 64 bits in the memory of devices that reduce them.
    Reduced(Option<DeviceSpread>),
}

impl Shape {
    pub(crate) fn element<T>(self) -> Element {
        match self {
            Shape::Dense => Element::dense(size_of::<T>() as i64),
            Shape::Gaps => {
                let size = size_of::<T>() as i64;
                let value = Datatype::hindexed(
                    &[size / 4],
                    &[8],
                    &Datatype::named(Basic::Int32),
                    Form::Small,
                )
                .unwrap();
                Element::of(&Datatype::resized(0, size + 24, &value, Form::Small).unwrap())
            }
            Shape::Backwards => {
                let size = size_of::<T>() as i64;
                let value =
                    Datatype::contiguous(size / 4, &Datatype::named(Basic::Int32), Form::Small)
                        .unwrap();
                Element::of(&Datatype::resized(0, -size, &value, Form::Small).unwrap())
            }
            Shape::Device => {
                let words = size_of::<T>() as i64 / 4;
                let word = Datatype::named(Basic::Int32);
                let value = Datatype::contiguous(words, &word, Form::Small).unwrap();
                Element::on_device(&value, &SimulatedDevice)
            }
            Shape::Reduced(spread) => {
                let how = DeviceReduction { like: 0, spread };
                Element::reduced_on(&Datatype::named(Basic::Int64), Some(&SimulatedDevice), how)
            }
        }
    }
}

/// An array of values with a guard margin on both sides.
pub(crate) struct Store<T> {
    memory: Vec<u64>,
    /// Byte offset of element 0.
    start: i64,
    element: Element,
    marker: std::marker::PhantomData<T>,
}

const MARGIN: i64 = 64;
const UNTOUCHED: u64 = 0xEEEE_EEEE_EEEE_EEEE;

impl<T: Sample> Store<T> {
    pub(crate) fn new(shape: Shape, count: i64) -> Store<T> {
        let element = shape.element::<T>();
        // One element more than asked for, so that tests can check that it is not overwritten.
        let (low, high) = element.span(count + 1).unwrap();
        let memory = vec![UNTOUCHED; (high - low + 2 * MARGIN) as usize / 8 + 1];
        Store { memory, start: MARGIN - low, element, marker: std::marker::PhantomData }
    }

    /// A store with the first `count` values of a rank.
    pub(crate) fn filled(shape: Shape, count: i64, rank: usize) -> Store<T> {
        let mut store = Store::new(shape, count);
        (0..count).for_each(|index| store.set(index, T::of(rank, index)));
        store
    }

    pub(crate) fn pointer(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_add(self.start as usize)
    }

    pub(crate) fn set(&mut self, index: i64, value: T) {
        let start = self.pointer();
        let place = self.element.at(start, index).wrapping_offset(self.element.lower() as isize);
        // SAFETY: `new` sized the memory for this element.
        unsafe { place.cast::<T>().write_unaligned(value) }
    }

    pub(crate) fn get(&self, index: i64) -> T {
        let start = self.memory.as_ptr().cast_mut().cast::<u8>().wrapping_add(self.start as usize);
        let place = self.element.at(start, index).wrapping_offset(self.element.lower() as isize);
        // SAFETY: `new` sized the memory for this element.
        unsafe { place.cast::<T>().read_unaligned() }
    }

    /// True if element `index` still has the bytes of a fresh store.
    pub(crate) fn is_untouched(&self, index: i64) -> bool {
        self.get(index) == Store::<T>::new(Shape::Dense, 1).get(0)
    }

    /// Asserts that elements `first..first + count` are the values of `rank` from `from` on.
    pub(crate) fn assert_values(
        &self,
        first: i64,
        count: i64,
        rank: usize,
        from: i64,
        what: &dyn Debug,
    ) {
        for index in 0..count {
            assert_eq!(
                self.get(first + index),
                T::of(rank, from + index),
                "{what:?}, element {}",
                first + index
            );
        }
    }

    pub(crate) fn buffer(&mut self, count: i64) -> Buffer {
        Buffer { pointer: self.pointer(), count, element: self.element.clone() }
    }

    pub(crate) fn blocks(&mut self, count: i64) -> Blocks {
        Blocks::Equal { pointer: self.pointer(), count, element: self.element.clone() }
    }

    pub(crate) fn varying(&mut self, counts: &[i64], displacements: &[i64]) -> Blocks {
        Blocks::Varying {
            pointer: self.pointer(),
            counts: counts.into(),
            displacements: displacements.into(),
            element: self.element.clone(),
        }
    }

    pub(crate) fn mixed(&mut self, counts: &[i64], displacements: &[i64]) -> Blocks {
        Blocks::Mixed {
            pointer: self.pointer(),
            counts: counts.into(),
            displacements: displacements
                .iter()
                .map(|place| place * self.element.extent())
                .collect(),
            elements: vec![self.element.clone(); counts.len()].into(),
        }
    }

    pub(crate) fn element(&self) -> Element {
        self.element.clone()
    }
}

/// The operation of a sample: a predefined kernel if it commutes and is dense, otherwise a callback
/// that handles gaps.
pub(crate) fn reducer<T: Sample>(element: &Element) -> Reducer {
    /// # Safety
    /// `input` must be readable and `inout` writable for `count` values of type `T`.
    unsafe fn kernel<T: Sample>(input: *const u8, inout: *mut u8, count: usize) {
        for index in 0..count {
            // SAFETY: `index < count`, and both arrays have `count` values (this function's
            // contract).
            unsafe {
                let (lower, upper) = (input.cast::<T>().add(index), inout.cast::<T>().add(index));
                upper.write_unaligned(T::combine(lower.read_unaligned(), upper.read_unaligned()));
            }
        }
    }
    if T::COMMUTATIVE && element.is_dense() {
        return Reducer::predefined(kernel::<T>);
    }
    let element = element.clone();
    let callback = move |input: *const u8, inout: *mut u8, count: i64| {
        for index in 0..count {
            let at =
                |row: *mut u8| element.at(row, index).wrapping_offset(element.lower() as isize);
            // SAFETY: the plans pass arrays of `count` elements, and `at` gives the value in each.
            unsafe { kernel::<T>(at(input.cast_mut()), at(inout), 1) }
        }
    };
    Reducer::user(Arc::new(callback), T::COMMUTATIVE)
}
