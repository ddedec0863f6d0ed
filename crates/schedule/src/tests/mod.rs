//! A checker of schedules: it executes the plans of all ranks with symbols in the place of data,
//! and compares what they have in the end with the definition of the operation.

mod broken;
mod cases;
mod content;
mod definition;
mod execution;
mod folds;
mod knowledge;
mod order;
mod steps;
