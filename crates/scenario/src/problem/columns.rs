//! The width of a text in columns of a terminal.

/// The columns of these characters: two for wide ones, none for those that combine with of the one before.
pub fn wide(text: impl Iterator<Item = char>) -> usize {
    text.map(columns).sum()
}

/// By the classes W and F of Unicode Standard Annex 11, as blocks; within a block the few unassigned do not matter.
fn columns(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36F | 0x200B..=0x200F | 0x20D0..=0x20FF | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xA960..=0xA97C
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_accents_none() {
        for (text, expected) in [("bs1", 3), ("セル", 4), ("한글", 4), ("µs", 2), ("e\u{301}", 1), ("🚆", 2)]
        {
            assert_eq!(wide(text.chars()), expected, "{text}");
        }
    }
}
