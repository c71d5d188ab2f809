//! One field of a TOML text changed, and the rest as it was written.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// The text with this value of a field, whose tables are made where there are none; without a value the field goes.
pub fn set(text: &str, path: &[String], value: Option<&str>) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let (last, way) = path.split_last().ok_or("the path to a field has no key")?;
    let mut item = document.as_item_mut();
    for key in way {
        let Some(next) = step(item, key, value.is_some())? else { return Ok(text.to_owned()) };
        item = next;
    }
    let table = table_of(item, last)?;
    match value {
        Some(value) => put(table, last, value)?,
        None => drop(table.remove(last)),
    }
    Ok(document.to_string())
}

/// The part of a table or of a list that a key or a number leads to; `None`: there is none, and none is to be made.
fn step<'a>(item: &'a mut Item, key: &str, make: bool) -> Result<Option<&'a mut Item>, String> {
    if item.is_array() || item.is_array_of_tables() {
        let number: usize = key.parse().map_err(|_| format!("`{key}` is no place in a list"))?;
        return item.get_mut(number).map(Some).ok_or_else(|| format!("the list has no item {number}"));
    }
    let inline = item.is_inline_table();
    let table = table_of(item, key)?;
    if !table.contains_key(key) {
        if !make {
            return Ok(None);
        }
        let mut made = Table::new();
        made.decor_mut().set_prefix("\n");
        let made = if inline { Item::Value(InlineTable::new().into()) } else { Item::Table(made) };
        table.insert(key, made);
    }
    Ok(table.get_mut(key))
}

fn table_of<'a>(item: &'a mut Item, key: &str) -> Result<&'a mut dyn TableLike, String> {
    item.as_table_like_mut().ok_or_else(|| format!("`{key}` is a field of no table"))
}

/// Puts a value where one was, with the space and the comment around it, or at the end of the table.
fn put(table: &mut dyn TableLike, key: &str, value: &str) -> Result<(), String> {
    let mut value: Value = value.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(other) => *other = Item::Value(value),
        None => drop(table.insert(key, Item::Value(value))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::set;

    const TEXT: &str = "# A host moves.\n[cells.bs1]\nrate = \"2 Mbit/s\"  # air\nqueue = { kind = \"red\", limit = \"9 pkt\" }\n\n\
                        [[flows]]\nname = \"a\"\n\n[[flows]]\nname = \"b\" # second\n";

    fn changed(path: &[&str], value: Option<&str>) -> String {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        set(TEXT, &path, value).unwrap()
    }

    #[test]
    fn a_value_changes_and_the_rest_stays() {
        let rate = changed(&["cells", "bs1", "rate"], Some("\"3 Mbit/s\""));
        assert_eq!(rate, TEXT.replace("2 Mbit/s", "3 Mbit/s"));
        let limit = changed(&["cells", "bs1", "queue", "limit"], Some("\"10 pkt\""));
        assert_eq!(limit, TEXT.replace("9 pkt", "10 pkt"));
        let name = changed(&["flows", "1", "name"], Some("\"c\""));
        assert_eq!(name, TEXT.replace("\"b\"", "\"c\""));
    }

    #[test]
    fn what_is_not_there_is_made() {
        let gap = changed(&["radio", "gap"], Some("\"1 s\""));
        assert_eq!(gap, format!("{TEXT}\n[radio]\ngap = \"1 s\"\n"));
        let first = changed(&["flows", "0", "transport", "window"], Some("\"4 pkt\""));
        assert!(
            first.contains("name = \"a\"\n\n[flows.transport]\nwindow = \"4 pkt\"\n\n[[flows]]"),
            "{first}"
        );
        let inline = changed(&["cells", "bs1", "queue", "mark"], Some("3"));
        assert!(inline.contains("{ kind = \"red\", limit = \"9 pkt\" , mark = 3 }"), "{inline}");
    }

    #[test]
    fn a_field_goes() {
        assert_eq!(
            changed(&["cells", "bs1", "rate"], None),
            TEXT.replace("rate = \"2 Mbit/s\"  # air\n", "")
        );
        let kind = changed(&["cells", "bs1", "queue", "kind"], None);
        assert!(kind.contains("queue = { limit = \"9 pkt\" }"), "{kind}");
        assert_eq!(changed(&["radio", "gap"], None), TEXT);
    }

    #[test]
    fn a_wrong_path_is_said() {
        for (path, value, why) in [
            (vec!["flows", "2", "name"], "1", "the list has no item 2"),
            (vec!["flows", "x", "name"], "1", "`x` is no place in a list"),
            (vec!["cells", "bs1", "rate", "x"], "1", "`x` is a field of no table"),
            (vec!["cells", "bs1", "rate"], "{", "TOML parse error"),
        ] {
            let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
            assert!(set(TEXT, &path, Some(value)).unwrap_err().contains(why));
        }
    }
}
