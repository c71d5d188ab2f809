//! The path of a field, as reports write it: "flows[0].path[1]".

/// A step on the way to a field.
pub enum Step {
    /// A key of a table.
    Key(String),
    /// An item of a list, by its place.
    Item(usize),
}

/// A key as written in a field's path and in TOML: in quotes if it must be.
pub fn quoted_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { format!("{key:?}") }
}

/// Appends a key to a field's path.
pub fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&quoted_key(key));
}

/// True if the last step of a field's path is this key.
pub fn ends_with(path: &str, key: &str) -> bool {
    let key = quoted_key(key);
    path.strip_suffix(&key).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The steps of a field's path.
pub fn steps(path: &str) -> Vec<Step> {
    let (mut steps, mut key, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    let mut flush = |key: &mut String| {
        let text = std::mem::take(key);
        match text.strip_suffix(']').and_then(|index| index.parse().ok()) {
            Some(index) => steps.push(Step::Item(index)),
            None if !text.is_empty() => steps.push(Step::Key(text)),
            None => {}
        }
    };
    for c in path.chars() {
        match c {
            _ if escaped => {
                key.push(c);
                escaped = false;
            }
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '.' | '[' if !quoted => flush(&mut key),
            _ => key.push(c),
        }
    }
    flush(&mut key);
    steps
}

/// The names on the way to a field; `None` is an item of a list.
pub fn names(path: &str) -> Vec<Option<String>> {
    let name = |step| match step {
        Step::Key(key) => Some(key),
        Step::Item(_) => None,
    };
    steps(path).into_iter().map(name).collect()
}
