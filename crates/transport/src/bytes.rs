//! A byte queue in private memory, between user memory and a wire.

/// A FIFO of bytes.
#[derive(Default)]
pub struct Bytes {
    /// Consumed bytes, then pending bytes.
    pub data: Vec<u8>,
    /// Bytes at the front of `data` that are consumed.
    gone: usize,
}

impl Bytes {
    /// Pending bytes.
    pub fn len(&self) -> usize {
        self.data.len() - self.gone
    }

    /// True if no byte is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pending bytes.
    pub fn front(&self) -> &[u8] {
        &self.data[self.gone..]
    }

    /// Consumes `length` bytes at the front.
    pub fn forget(&mut self, length: usize) {
        self.gone += length;
        if self.gone == self.data.len() {
            self.data.clear();
            self.gone = 0;
        } else if 2 * self.gone > self.data.len() {
            self.data.drain(..self.gone);
            self.gone = 0;
        }
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
    }
}
