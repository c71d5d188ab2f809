//! Levels of a tree, and values that are given for all or for each.

use super::plan::Plan;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// One value for all, or a list with one for each.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PerItem<T> {
    /// For all.
    All(T),
    /// For each.
    Each(Vec<T>),
}

impl<T> PerItem<T> {
    /// How many values there are, if they are listed.
    pub fn listed(&self) -> Option<usize> {
        match self {
            PerItem::All(_) => None,
            PerItem::Each(values) => Some(values.len()),
        }
    }

    /// The value of an item; of one behind the end of the list, the last.
    pub fn of(&self, item: usize) -> Option<&T> {
        match self {
            PerItem::All(value) => Some(value),
            PerItem::Each(values) => values.get(item).or(values.last()),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerItem<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllOrEach<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for AllOrEach<T> {
            type Value = PerItem<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value for all levels or a list with one for each")
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<PerItem<T>, E> {
                T::deserialize(number.into_deserializer()).map(PerItem::All)
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<PerItem<T>, E> {
                T::deserialize(number.into_deserializer()).map(PerItem::All)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<PerItem<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(table)).map(PerItem::All)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<PerItem<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(PerItem::Each)
            }
        }
        deserializer.deserialize_any(AllOrEach(PhantomData))
    }
}

/// Nodes below each node: for all levels, for each level, or in a level for each node.
pub type FanOut = PerItem<PerItem<u32>>;

/// A tree's levels, from the roots down.
#[derive(Debug)]
pub struct Levels<'a> {
    /// Nodes of the top level.
    pub roots: u32,
    /// Levels below it.
    pub depth: Option<u32>,
    /// Nodes below each node.
    pub fan_out: &'a FanOut,
    /// How many kinds of link are listed, if they are.
    pub links: Option<usize>,
}

/// Levels at most: a path of them is walked by each packet, and a hop limit of IP is 255.
const MOST_LEVELS: u32 = 200;

impl Levels<'_> {
    /// How many nodes they have together.
    ///
    /// # Errors
    /// The field at fault, and what to write.
    pub fn size(&self) -> Result<u64, (String, String)> {
        let bad = |field: &str, message: String| Err((field.to_owned(), message));
        if self.roots == 0 {
            return bad("roots", "a tree has a root: write at least 1".into());
        }
        let depth = match (self.depth, self.fan_out.listed()) {
            (Some(depth), Some(levels)) if depth as usize != levels => {
                let message = format!("`fan_out` lists {levels} levels: write {levels}, or remove this");
                return bad("depth", message);
            }
            (None, None) => {
                return bad("depth", "it is missing: write for example `depth = 3`".into());
            }
            (Some(depth), _) => depth,
            (None, Some(levels)) => u32::try_from(levels).unwrap_or(u32::MAX),
        };
        if !(1..=MOST_LEVELS).contains(&depth) {
            let field = if self.depth.is_some() { "depth" } else { "fan_out" };
            return bad(field, format!("{depth} levels below the root: write 1 to {MOST_LEVELS}"));
        }
        if let Some(listed) = self.links.filter(|&listed| listed != depth as usize) {
            let message = format!(
                "{listed} kinds of link for {depth} levels: write one for each level, from the root down"
            );
            return bad("link", message);
        }
        let (mut all, mut level) = (u64::from(self.roots), u64::from(self.roots));
        for number in 0..depth as usize {
            let below = match self.fan_out.of(number) {
                Some(PerItem::All(fan_out)) => level.saturating_mul(u64::from(*fan_out)),
                Some(PerItem::Each(each)) if each.len() as u64 == level => {
                    each.iter().map(|&fan_out| u64::from(fan_out)).sum()
                }
                Some(PerItem::Each(each)) => {
                    let message = format!(
                        "{} numbers for {level} nodes of level {number}: write one for each node",
                        each.len()
                    );
                    return bad(&format!("fan_out[{number}]"), message);
                }
                None => 0,
            };
            if below == 0 {
                let field = if self.fan_out.listed().is_some() {
                    format!("fan_out[{number}]")
                } else {
                    "fan_out".into()
                };
                return bad(&field, format!("level {} would have no node: write at least 1", number + 1));
            }
            level = below;
            all = all.saturating_add(level);
        }
        Ok(all)
    }

    /// The nodes, level by level, and the links down. The kind of a link is the level where it begins, if kinds are
    /// listed. With the place of each level's first node, and behind the last one's end.
    pub fn plan(&self) -> (Plan, Vec<u32>) {
        let depth = self.depth.unwrap_or_default().max(self.fan_out.listed().unwrap_or_default() as u32);
        let mut plan = Plan::default();
        let mut starts = vec![0, self.roots];
        plan.names.extend((0..self.roots).map(|root| format!("0-{root}")));
        for level in 0..depth as usize {
            let (first, end) = (starts[level], starts[level + 1]);
            let mut next = end;
            for node in first..end {
                let below = match self.fan_out.of(level) {
                    Some(PerItem::All(fan_out)) => *fan_out,
                    Some(PerItem::Each(each)) => each[(node - first) as usize],
                    None => 0,
                };
                let kind = self.links.map_or(0, |_| level);
                for _ in 0..below {
                    plan.names.push(format!("{}-{}", level + 1, next - end));
                    plan.links.push((node, next, kind));
                    next += 1;
                }
            }
            starts.push(next);
        }
        plan.leaves = (starts[depth as usize]..starts[depth as usize + 1]).collect();
        (plan, starts)
    }
}
