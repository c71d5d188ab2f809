//! The rate and the delay of a link: constant, from a file, or of a channel.

use roamlab_engine::{Duration, InputFile, Rate, tagged};
use roamlab_radio::{AtEnd, ChannelSpec, Delays, LossSpec, Opportunities, Order, Rates, Series};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The rate of a link: a constant one, one from a file, or that of a channel.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum LinkRate {
    /// The same at all times.
    Constant(Rate),
    /// When a recorded link could send.
    Recorded(RecordedRate),
    /// Rates over time.
    Table(TableRate),
    /// Rates that each run draws.
    Channel(Box<ChannelRate>),
}

/// A channel: rates, and perhaps delays and losses, that each run draws.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ChannelRate {
    /// The channel, of both directions.
    pub channel: ChannelSpec,
    /// That of the other direction, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse_channel: Option<ChannelSpec>,
    #[serde(skip)]
    means: Means,
}

/// The mean rates of both directions, once they are known. They follow from the channels, so they are no difference.
#[derive(Clone, Debug, Default)]
struct Means([OnceLock<Rate>; 2]);

impl PartialEq for Means {
    fn eq(&self, _: &Means) -> bool {
        true
    }
}

/// The delivery opportunities of a recorded link, in Mahimahi's format.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RecordedRate {
    /// File of the opportunities; of a wired link from its first node to its second, of a cell down to its hosts. Its path
    /// is relative to the scenario's file, or to the folder that the variable `ROAMLAB_DATA` names.
    pub trace: InputFile<Opportunities>,
    /// File of the opportunities of the other direction; absent: the same. Each host of a cell has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse: Option<InputFile<Opportunities>>,
}

/// The rates of a link over time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TableRate {
    /// File of the rates: a table with the columns `time_s` and `rate_mbit_s`. Of a wired link from its first node to its
    /// second, of a cell down to its hosts. Its path is relative to the scenario's file, or to the folder that the variable
    /// `ROAMLAB_DATA` names.
    pub table: InputFile<Series<Rates>>,
    /// File of the rates of the other direction; absent: the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse: Option<InputFile<Series<Rates>>>,
    /// At its end it begins again, or the last rate holds.
    pub at_end: AtEnd,
}

/// A rate from a file, `trace` of a recorded link or `table` of rates over time; or a `channel`, whose rates each run draws.
/// One path, or one channel, is that of a wired link from its first node to its second, of a cell down to its hosts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenRate {
    /// File of the times at which a recorded link could send, in Mahimahi's format. Its path is relative to the scenario's
    /// file, or to the folder that the variable `ROAMLAB_DATA` names.
    trace: Option<InputFile<Opportunities>>,
    /// File of rates: a table with the columns `time_s` and `rate_mbit_s`. Its path as above.
    table: Option<InputFile<Series<Rates>>>,
    /// The same file of the other direction; absent: the same. Each host of a cell has its own place in it.
    reverse: Option<InputFile<Opportunities>>,
    /// At the end of a `table` it begins again, or the last rate holds. Default `repeat`, as of a `trace`.
    at_end: Option<AtEnd>,
    /// A process that each run draws: the rate, the loss and what it adds to the delay.
    channel: Option<ChannelSpec>,
    /// The channel of the other direction; absent: `channel`, which has the same states at the same time, or its own direction.
    reverse_channel: Option<ChannelSpec>,
}

/// A rate as it is written.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema is read, and no value is made")]
enum AnyRate {
    /// The same at all times.
    Constant(Rate),
    /// From a file, or of a channel.
    File(Box<WrittenRate>),
}

impl JsonSchema for LinkRate {
    fn schema_name() -> Cow<'static, str> {
        "LinkRate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        AnyRate::json_schema(generator)
    }
}

/// A rate from a file.
#[derive(Deserialize)]
#[serde(try_from = "WrittenRate")]
struct FileRate(LinkRate);

impl TryFrom<WrittenRate> for FileRate {
    type Error = &'static str;
    fn try_from(written: WrittenRate) -> Result<FileRate, &'static str> {
        let WrittenRate { trace, table, reverse, at_end, channel, reverse_channel } = written;
        if let Some(channel) = channel {
            if trace.is_some() || table.is_some() || reverse.is_some() || at_end.is_some() {
                return Err("a channel draws its rates; leave the files out, or remove `channel`");
            }
            return Ok(FileRate(LinkRate::Channel(Box::new(ChannelRate {
                channel,
                reverse_channel,
                means: Means::default(),
            }))));
        }
        if reverse_channel.is_some() {
            return Err("`reverse_channel` is the other direction of a `channel`; write both");
        }
        Ok(FileRate(match (trace, table) {
            (Some(_), None) if at_end.is_some() => {
                return Err(
                    "a recording begins again at its end; leave `at_end` out, or name a table of rates as `table`",
                );
            }
            (Some(trace), None) => LinkRate::Recorded(RecordedRate { trace, reverse }),
            (None, Some(table)) => {
                let reverse = reverse.map(InputFile::retyped);
                LinkRate::Table(TableRate { table, reverse, at_end: at_end.unwrap_or_default() })
            }
            (Some(_), Some(_)) => {
                return Err(
                    "a rate is from one file; write `trace` for times of packets, or `table` for rates over time",
                );
            }
            (None, None) => {
                return Err(
                    "no file is named; write `trace = \"walk.down\"` for times of packets, `table = \"rate.csv\"`, or `channel = { kind = \"measured\", table = \"lte\" }`",
                );
            }
        }))
    }
}

/// The delay of a link: a constant one, or one from a file.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LinkDelay {
    /// The same at all times.
    Constant(Duration),
    /// Delays over time.
    Recorded(Box<RecordedDelay>),
}

/// The delays of a link over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedDelay {
    /// File of the delays: a table with the columns `time_s` and `delay_ms`, or a delay in ms on each line. Of a wired link
    /// from its first node to its second, of a cell down to its hosts. Its path is relative to the scenario's file, or to the
    /// folder that the variable `ROAMLAB_DATA` names.
    pub trace: InputFile<Series<Delays>>,
    /// How long each line holds, of a file with a delay on each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Duration>,
    /// File of the delays of the other direction; absent: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<InputFile<Series<Delays>>>,
    /// At its end it begins again, or the last delay holds.
    #[serde(default)]
    pub at_end: AtEnd,
    /// Order of arrival of packets that would overtake when the delay falls.
    #[serde(default)]
    pub order: Order,
}

/// A direction of a link.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the first node to the second; down to the hosts of a cell.
    There,
    /// The other one.
    Back,
}

impl Way {
    /// The random loss of this direction, if there is any.
    pub(super) fn loss<'a>(
        self,
        each: Option<&'a LossSpec>,
        reverse: Option<&'a LossSpec>,
    ) -> Option<&'a LossSpec> {
        let loss = if self == Way::Back { reverse.or(each) } else { each };
        loss.filter(|loss| loss.can_lose())
    }
}

impl LinkRate {
    /// The rate, of a recorded link its mean, in this direction.
    pub fn mean(&self, way: Way) -> Rate {
        match self {
            LinkRate::Constant(rate) => *rate,
            LinkRate::Recorded(rate) => {
                // Files are read before they are needed.
                rate.file(way).content().map_or(Rate::from_bps(1), |trace| trace.mean_rate())
            }
            LinkRate::Table(rate) => {
                rate.file(way).content().map_or(Rate::from_bps(1), |series| series.mean_rate())
            }
            LinkRate::Channel(rate) => rate.mean(way),
        }
    }

    /// The channel, if it is one.
    pub fn channel(&self) -> Option<&ChannelRate> {
        match self {
            LinkRate::Channel(rate) => Some(rate),
            _ => None,
        }
    }

    /// True if it is from a file, or of a channel.
    pub fn is_recorded(&self) -> bool {
        !matches!(self, LinkRate::Constant(_))
    }

    /// The files of the two directions, each with the name of its field, its first moment with a rate and its mean rate.
    pub(crate) fn summaries(&self) -> Vec<(&'static str, Duration, Rate)> {
        let mut found = Vec::new();
        match self {
            LinkRate::Constant(_) | LinkRate::Channel(_) => {}
            LinkRate::Recorded(rate) => {
                for (name, file) in [("trace", Some(&rate.trace)), ("reverse", rate.reverse.as_ref())] {
                    let content = file.and_then(InputFile::content);
                    found.extend(content.map(|trace| (name, trace.first(), trace.mean_rate())));
                }
            }
            LinkRate::Table(rate) => {
                for (name, file) in [("table", Some(&rate.table)), ("reverse", rate.reverse.as_ref())] {
                    let content = file.and_then(InputFile::content);
                    found.extend(content.map(|series| (name, series.first(), series.mean_rate())));
                }
            }
        }
        found
    }
}

impl LinkDelay {
    /// The delay, of a recorded one its mean, in this direction.
    pub fn mean(&self, way: Way) -> Duration {
        match self {
            LinkDelay::Constant(delay) => *delay,
            LinkDelay::Recorded(delay) => {
                // Files are read before they are needed.
                delay.file(way).content().map_or(Duration::ZERO, |series| series.mean_delay(delay.step))
            }
        }
    }

    /// The recording, if it is one.
    pub fn recorded(&self) -> Option<&RecordedDelay> {
        match self {
            LinkDelay::Constant(_) => None,
            LinkDelay::Recorded(delay) => Some(delay),
        }
    }
}

impl ChannelRate {
    /// The channel of a direction.
    pub fn of(&self, way: Way) -> &ChannelSpec {
        self.reverse_channel.as_ref().filter(|_| way == Way::Back).unwrap_or(&self.channel)
    }

    /// The mean rate of a direction.
    fn mean(&self, way: Way) -> Rate {
        let back = way == Way::Back;
        *self.means.0[usize::from(back)].get_or_init(|| self.of(way).mean_rate(back))
    }

    /// True if the two directions draw the same states.
    pub fn is_shared(&self) -> bool {
        self.reverse_channel.is_none() && self.channel.is_shared()
    }
}

impl TableRate {
    /// The file of a direction.
    pub fn file(&self, way: Way) -> &InputFile<Series<Rates>> {
        self.reverse.as_ref().filter(|_| way == Way::Back).unwrap_or(&self.table)
    }
}

impl RecordedDelay {
    /// The file of a direction.
    pub fn file(&self, way: Way) -> &InputFile<Series<Delays>> {
        self.reverse.as_ref().filter(|_| way == Way::Back).unwrap_or(&self.trace)
    }
}

impl RecordedRate {
    /// The file of a direction.
    pub fn file(&self, way: Way) -> &InputFile<Opportunities> {
        self.reverse.as_ref().filter(|_| way == Way::Back).unwrap_or(&self.trace)
    }
}

impl From<Rate> for LinkRate {
    fn from(rate: Rate) -> LinkRate {
        LinkRate::Constant(rate)
    }
}

impl<'de> Deserialize<'de> for LinkRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize_text_or_table(
            deserializer,
            "a rate with its unit, for example \"2 Mbit/s\"",
            |text| text.parse().map(LinkRate::Constant),
            |FileRate(rate)| rate,
        )
    }
}

impl From<Duration> for LinkDelay {
    fn from(delay: Duration) -> LinkDelay {
        LinkDelay::Constant(delay)
    }
}

impl<'de> Deserialize<'de> for LinkDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize_text_or_table(
            deserializer,
            "a time with its unit, for example \"63 ms\"",
            |text| text.parse().map(LinkDelay::Constant),
            |delay| LinkDelay::Recorded(Box::new(delay)),
        )
    }
}
