//! Where fields are in the text, and which field a place in the text belongs to.

use crate::problem::field::{Step, push_key, steps};
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue};

/// Place of a field.
pub struct Found {
    /// Its key (that of the list, for an item).
    pub key: Range<usize>,
    /// Its value.
    pub value: Range<usize>,
    /// It is the field itself and not only the closest table around it.
    pub whole: bool,
    /// Form of its value.
    pub shape: Shape,
}

/// Form of a value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A text, a number, a truth value.
    Single,
    /// A list.
    List,
    /// A table.
    Table,
}

/// Place of a field in the text; if it has none, that of the closest table around it.
pub fn find(root: &DeTable<'_>, path: &str) -> Option<Found> {
    let mut found: Option<Found> = None;
    let (mut table, mut array): (Option<&DeTable<'_>>, Option<&DeArray<'_>>) = (Some(root), None);
    for step in steps(path) {
        let next = match &step {
            Step::Key(key) => table
                .and_then(|table| table.get_key_value(key.as_str()))
                .map(|(key, value)| (key.span(), value)),
            Step::Item(index) => {
                let key = found.as_ref().map_or(0..0, |found| found.key.clone());
                array.and_then(|items| items.get(*index)).map(|value| (key, value))
            }
        };
        let Some((key, value)) = next else {
            return found.map(|found| Found { whole: false, ..found });
        };
        let shape = match value.get_ref() {
            DeValue::Array(_) => Shape::List,
            DeValue::Table(_) => Shape::Table,
            _ => Shape::Single,
        };
        found = Some(Found { key, value: value.span(), whole: true, shape });
        (table, array) = (value.get_ref().as_table(), value.get_ref().as_array());
    }
    found
}

/// The field whose key or value covers the place `at`.
pub fn field_at(root: &DeTable<'_>, at: usize) -> String {
    let mut path = String::new();
    walk_table(root, &|range| range.contains(&at), &mut path);
    path
}

/// The table that is exactly at `span`; the root if none does.
pub fn table_at(root: &DeTable<'_>, span: &Range<usize>) -> String {
    let mut path = String::new();
    let exact = |range: Range<usize>| range == *span;
    if root.iter().any(|(_, value)| holds(value.span(), value.get_ref(), &exact)) {
        walk_table(root, &exact, &mut path);
    }
    path
}

type Covers<'a> = &'a dyn Fn(Range<usize>) -> bool;

fn walk_table(table: &DeTable<'_>, covers: Covers<'_>, path: &mut String) {
    for (key, value) in table.iter() {
        let at_key = covers(key.span());
        if at_key || holds(value.span(), value.get_ref(), covers) {
            push_key(path, key.get_ref());
            // A header `[a.b.c]` is the place of three tables: the key gives the right one.
            if !at_key {
                walk(value.get_ref(), covers, path);
            }
            return;
        }
    }
}

fn walk(value: &DeValue<'_>, covers: Covers<'_>, path: &mut String) {
    match value {
        DeValue::Table(table) => walk_table(table, covers, path),
        DeValue::Array(items) => {
            let covered = |item: &toml::Spanned<DeValue<'_>>| holds(item.span(), item.get_ref(), covers);
            if let Some(index) = items.iter().position(covered) {
                path.push_str(&format!("[{index}]"));
                walk(items[index].get_ref(), covers, path);
            }
        }
        _ => {}
    }
}

/// True if a value, or some part of one that is spread over the text (a table under a header), is at the
/// place.
fn holds(span: Range<usize>, value: &DeValue<'_>, covers: Covers<'_>) -> bool {
    covers(span)
        || match value {
            DeValue::Table(table) => table
                .iter()
                .any(|(key, value)| covers(key.span()) || holds(value.span(), value.get_ref(), covers)),
            DeValue::Array(items) => items.iter().any(|item| holds(item.span(), item.get_ref(), covers)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[a]\nx = 1\n\n[[b]]\ny = [1, 2]\n\n[[b]]\n\"z.1\" = { w = 3 }\n";

    #[test]
    fn a_field_is_found_and_named_by_its_place() {
        let root = DeTable::parse(TEXT).unwrap();
        for (field, text) in [("a.x", "1"), ("b[0].y[1]", "2"), ("b[1].\"z.1\".w", "3")] {
            let found = find(root.get_ref(), field).unwrap();
            assert_eq!(&TEXT[found.value.clone()], text, "{field}");
            assert!(found.whole);
            assert_eq!(field_at(root.get_ref(), found.value.start), field);
        }
    }

    #[test]
    fn a_key_in_a_header_is_the_place_of_its_own_table_only() {
        let text = "[a.b.c]\nx = 1\n";
        let root = DeTable::parse(text).unwrap();
        for (at, field) in [(1, "a"), (3, "a.b"), (5, "a.b.c"), (8, "a.b.c.x")] {
            assert_eq!(field_at(root.get_ref(), at), field);
        }
    }

    #[test]
    fn what_is_not_there_is_placed_at_the_table_around_it() {
        let root = DeTable::parse(TEXT).unwrap();
        let found = find(root.get_ref(), "b[1].v").unwrap();
        assert!(!found.whole);
        assert_eq!(&TEXT[found.value], "[[b]]");
        assert!(find(root.get_ref(), "c").is_none());
    }
}
