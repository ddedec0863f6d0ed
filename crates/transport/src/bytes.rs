//! Bytes in private memory on their way between user memory and a wire.

/// First in, first out.
#[derive(Default)]
pub struct Bytes {
    /// The bytes, those at the front gone.
    pub data: Vec<u8>,
    /// Bytes at the front that are gone already.
    gone: usize,
}

impl Bytes {
    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.data.len() - self.gone
    }

    /// True when no byte waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that wait.
    pub fn front(&self) -> &[u8] {
        &self.data[self.gone..]
    }

    /// Forgets so many bytes at the front.
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

    /// Adds bytes at the end.
    pub fn append(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
    }
}
