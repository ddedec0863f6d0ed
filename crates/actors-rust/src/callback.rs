//! Callbacks: who is told of a result.

use std::marker::PhantomData;

use bytemuck::Pod;
use serde::{Deserialize, Serialize};

use towpath_actors::ChareCallback;
use towpath_actors::reducers::NumberType;

use crate::current::{current, noticed};

/// Numbers that reductions combine.
pub trait ReducedNumber: Pod {
    /// What the runtime calls this type.
    const TYPE: NumberType;
}

macro_rules! numbers {
    ($($number:ident $type:ident),*) => {
        $(impl ReducedNumber for $number {
            const TYPE: NumberType = NumberType::$type;
        })*
    };
}

numbers!(i8 I8, i16 I16, i32 I32, i64 I64, u8 U8, u16 U16, u32 U32, u64 U64, f32 F32, f64 F64);

/// Who is told of a result: of `()`, or of an array of `T`. It can be sent to other ranks. Proxies
/// make callbacks of entry methods: `cells.element([3]).done_callback()`.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct TypedCallback<T> {
    pub(crate) call: ChareCallback,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for TypedCallback<T> {
    fn clone(&self) -> TypedCallback<T> {
        TypedCallback::new(self.call.clone())
    }
}

impl<T> TypedCallback<T> {
    pub(crate) fn new(call: ChareCallback) -> TypedCallback<T> {
        TypedCallback { call, value: PhantomData }
    }

    /// Nobody.
    #[must_use]
    pub fn nobody() -> TypedCallback<T> {
        TypedCallback::new(ChareCallback::Ignore)
    }

    /// The job ends with code 0.
    #[must_use]
    pub fn exit() -> TypedCallback<T> {
        TypedCallback::new(ChareCallback::Exit)
    }

    fn call_with(&self, value: &[u8]) {
        let runtime = current().runtime;
        noticed(&runtime, runtime.call(self.call.clone(), value));
    }
}

impl TypedCallback<()> {
    /// Tells it.
    pub fn call(&self) {
        self.call_with(&[]);
    }
}

impl<E: Pod> TypedCallback<E> {
    /// Gives it these values.
    pub fn call_with_values(&self, values: &[E]) {
        self.call_with(bytemuck::cast_slice(values));
    }
}

fn add(function: impl FnOnce(&[u8]) -> Result<(), String> + 'static) -> ChareCallback {
    let job = current();
    let function = job.registry.add_function(Box::new(function));
    ChareCallback::Function { rank: job.runtime.rank(), function }
}

/// A callback that calls a function on this rank, once.
pub fn callback<E: Pod>(function: impl FnOnce(Vec<E>) + 'static) -> TypedCallback<E> {
    TypedCallback::new(add(move |value| {
        let element = size_of::<E>().max(1);
        if value.len() % element != 0 {
            let length = value.len();
            return Err(format!("a result of {length} bytes has no elements of {element} bytes"));
        }
        function(value.chunks_exact(element).map(bytemuck::pod_read_unaligned).collect());
        Ok(())
    }))
}

/// Calls a function on this rank when no message is left anywhere.
pub fn quiescence(function: impl FnOnce() + 'static) {
    let told = add(move |_| {
        function();
        Ok(())
    });
    current().runtime.start_quiescence(told);
}
