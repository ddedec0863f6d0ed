//! What info objects contain (MPI 5.0, chapter 10).

/// (key, value) pairs, in the order in which the keys were first set.
#[derive(Clone, Debug, Default)]
pub struct Pairs(pub Vec<(String, String)>);

impl Pairs {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Sets a key.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    /// All pairs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}
