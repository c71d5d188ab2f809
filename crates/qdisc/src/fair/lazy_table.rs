//! A table by number whose entries are made at their first use: of thousands of flows that a hash can name few have packets.

/// The table. An entry has a number and, once it is made, a place: its position among those that were made.
#[derive(Clone, Debug)]
pub(crate) struct LazyTable<T> {
    /// The place of each number; `NONE`: its entry is not made.
    places: Box<[u32]>,
    made: Vec<T>,
}

const NONE: u32 = u32::MAX;

impl<T> LazyTable<T> {
    /// A table for the numbers below `count`, empty.
    pub(crate) fn new(count: usize) -> LazyTable<T> {
        LazyTable { places: vec![NONE; count].into_boxed_slice(), made: Vec::new() }
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    /// The place of a number's entry, if it is made.
    #[inline(always)]
    pub(crate) fn place(&self, number: usize) -> Option<u32> {
        let place = self.places[number];
        (place != NONE).then_some(place)
    }

    /// The place of a number's entry, which `make` makes if it is not there.
    #[inline(always)]
    pub(crate) fn place_or_make(&mut self, number: usize, make: impl FnOnce() -> T) -> u32 {
        match self.places[number] {
            NONE => self.make(number, make()),
            place => place,
        }
    }

    #[inline(never)]
    fn make(&mut self, number: usize, entry: T) -> u32 {
        let place = self.made.len() as u32;
        self.made.push(entry);
        self.places[number] = place;
        place
    }

    /// A number's entry, if it is made.
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        Some(self.at(self.place(number)?))
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let place = self.place(number)?;
        Some(self.at_mut(place))
    }

    /// The entry at a place.
    #[inline(always)]
    pub(crate) fn at(&self, place: u32) -> &T {
        &self.made[place as usize]
    }

    /// The same, to change it.
    #[inline(always)]
    pub(crate) fn at_mut(&mut self, place: u32) -> &mut T {
        &mut self.made[place as usize]
    }

    /// The entries that are made, by place.
    pub(crate) fn made(&self) -> &[T] {
        &self.made
    }

    /// The same, to change them.
    pub(crate) fn made_mut(&mut self) -> &mut [T] {
        &mut self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_made_once_and_keeps_its_place() {
        let mut table = LazyTable::new(8);
        assert_eq!((table.place(5), table.get(5)), (None, None));
        assert_eq!(table.place_or_make(5, || 'a'), 0);
        assert_eq!(table.place_or_make(2, || 'b'), 1);
        assert_eq!(table.place_or_make(5, || 'c'), 0);
        *table.at_mut(1) = 'd';
        assert_eq!((table.get(5), table.get(2), table.get(0)), (Some(&'a'), Some(&'d'), None));
        assert_eq!((table.made(), table.count()), (&['a', 'd'][..], 8));
    }
}
