//! Figures, and where they come from.

/// Where a figure comes from, in ascending order of certainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureOrigin {
    /// Nobody states it.
    Default,
    /// The system of the host reports it.
    System,
    /// The file of an earlier measurement states it.
    Measured,
    /// The topology file states it.
    File,
}

impl FigureOrigin {
    /// One word for reports.
    pub fn word(self) -> &'static str {
        match self {
            FigureOrigin::Default => "default",
            FigureOrigin::System => "system",
            FigureOrigin::Measured => "measured",
            FigureOrigin::File => "file",
        }
    }
}

/// A value and its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: FigureOrigin,
}

/// A value and the line of the file that states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stated<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
}

impl<T: Copy> Stated<T> {
    /// The figure for a value that a file of this origin may state.
    pub(crate) fn figure(stated: Option<Stated<T>>, file: FigureOrigin, default: T) -> Figure<T> {
        Stated::known(stated, file)
            .unwrap_or(Figure { value: default, origin: FigureOrigin::Default })
    }

    /// The figure for a value, if the file, which is of this origin, states it.
    pub(crate) fn known(stated: Option<Stated<T>>, file: FigureOrigin) -> Option<Figure<T>> {
        stated.map(|stated| Figure { value: stated.value, origin: file })
    }
}

impl<T: PartialEq> Stated<T> {
    /// Keeps a value that a table states about a host or group.
    ///
    /// # Errors
    /// The line that states another value.
    pub(crate) fn keep(
        kept: &mut Option<Stated<T>>,
        stated: Option<Stated<T>>,
    ) -> Result<(), usize> {
        match (&kept, stated) {
            (Some(kept), Some(new)) if kept.value != new.value => Err(kept.line),
            (None, Some(new)) => {
                *kept = Some(new);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
