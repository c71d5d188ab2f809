// The record of a run: tables whose columns are unpacked at their first use, and the drawn data.

/** A table of a run. Columns of names hold codes. A column is in `bytes`, or in its own `values`. */
class Table {
  constructor(spec, bytes) {
    this.rows = spec.rows;
    this.spec = spec.columns;
    this.bytes = bytes;
    this.unpacked = new Map();
  }

  column(name) {
    if (!this.unpacked.has(name)) {
      const spec = this.spec[name];
      this.unpacked.set(name, spec.values ?? unpack(spec, this.rows, this.bytes));
    }
    return this.unpacked.get(name);
  }

  /** The name in a column of names. */
  word(name, row) {
    return this.spec[name].names[this.column(name)[row]];
  }

  /** The code of a name; -1: the table has none such. */
  code(name, word) {
    return this.spec[name].names.indexOf(word);
  }

  /** The numbers of the rows that pass. */
  where(test) {
    const found = new Int32Array(this.rows);
    let count = 0;
    for (let row = 0; row < this.rows; row++) if (test(row)) found[count++] = row;
    return found.subarray(0, count);
  }

  /** The rows in which a column has this value. */
  equal(name, value) {
    const values = this.column(name);
    return this.where((row) => values[row] === value);
  }
}

/** A column: `d4` are differences of neighbours, `f4` and `f8` numbers; all lowest bytes come first, then the next. */
function unpack({ kind, at }, rows, bytes) {
  const size = kind === "f8" ? 8 : 4;
  const whole = new Uint8Array(rows * size);
  for (let plane = 0; plane < size; plane++) {
    const from = at + plane * rows;
    for (let row = 0; row < rows; row++) whole[row * size + plane] = bytes[from + row];
  }
  if (kind === "f4") return new Float32Array(whole.buffer);
  if (kind === "f8") return new Float64Array(whole.buffer);
  const steps = new Int32Array(whole.buffer);
  const sums = new Float64Array(rows);
  let sum = 0;
  for (let row = 0; row < rows; row++) sums[row] = sum += steps[row];
  return sums;
}

/** The bytes of all columns, which are in the page as base64 of a zlib stream. */
async function inflate(text) {
  const packed = await fetch(`data:application/octet-stream;base64,${text}`);
  const stream = packed.body.pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The first of `count` numbers from 0 that is not before something; those that are come first. */
function firstNot(count, isBefore) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The values of a column in some rows. A loop: `from` with a function takes ten times as long. */
function picked(column, rows) {
  const found = new Float64Array(rows.length);
  for (let place = 0; place < rows.length; place++) found[place] = column[rows[place]];
  return found;
}

/** Values over time, with the least and greatest of any stretch at hand. */
class Series {
  /** `rows`: the rows of its table that it is made of, in order of time; `times` and `values` are theirs. */
  constructor(times, values, rows) {
    Object.assign(this, { times, values, rows, levels: null });
  }

  get length() {
    return this.times.length;
  }

  /** The first point at or after a time. */
  first(time) {
    return firstNot(this.length, (at) => this.times[at] < time);
  }

  /** The value that holds at a time; undefined before the first. */
  at(time) {
    return this.values[this.first(time + 1) - 1];
  }

  /** Least and greatest of the points from `begin` to before `end`. */
  extent(begin, end) {
    this.levels ??= pyramid(this.values);
    let [least, most] = [Infinity, -Infinity];
    const take = (level, from, to) => {
      const [low, high] = this.levels[level];
      for (let at = from; at < to; at++) {
        if (low[at] < least) least = low[at];
        if (high[at] > most) most = high[at];
      }
    };
    let level = 0;
    while (level + 1 < this.levels.length && end - begin > 2 * FAN) {
      const [first, last] = [Math.ceil(begin / FAN), Math.floor(end / FAN)];
      take(level, begin, first * FAN);
      take(level, last * FAN, end);
      [begin, end, level] = [first, last, level + 1];
    }
    take(level, begin, end);
    return [least, most];
  }
}

const FAN = 16;

/** Least and greatest of every 16 values, of every 16 of these, and so on. */
function pyramid(values) {
  const levels = [[values, values]];
  while (levels.at(-1)[0].length > 2 * FAN) {
    const [low, high] = levels.at(-1);
    const count = Math.ceil(low.length / FAN);
    const next = [new Float64Array(count).fill(Infinity), new Float64Array(count).fill(-Infinity)];
    for (let at = 0; at < low.length; at++) {
      const up = Math.floor(at / FAN);
      if (low[at] < next[0][up]) next[0][up] = low[at];
      if (high[at] > next[1][up]) next[1][up] = high[at];
    }
    levels.push(next);
  }
  return levels;
}

/** One run. */
class Run {
  constructor(spec, bytes) {
    Object.assign(this, spec);
    this.tables = Object.fromEntries(
      Object.entries(spec.tables).map(([name, table]) => [name, new Table(table, bytes)]),
    );
  }

  /** Series of several columns from the same rows; their times are one array. */
  seriesOf(table, columns, rows, time = "time_ns") {
    const of = this.tables[table];
    const times = picked(of.column(time), rows);
    return columns.map((column) => new Series(times, picked(of.column(column), rows), rows));
  }

  /** A series of each group of rows, in one pass. `groupOf`: the number of a row's group; -1: it is in none. */
  grouped(table, column, count, groupOf, time = "time_ns") {
    const of = this.tables[table];
    const places = new Int8Array(of.rows);
    const sizes = new Int32Array(count);
    for (let row = 0; row < of.rows; row++) if ((places[row] = groupOf(row)) >= 0) sizes[places[row]]++;
    const groups = Array.from(sizes, (size) => new Int32Array(size));
    const filled = new Int32Array(count);
    for (let row = 0; row < of.rows; row++) if (places[row] >= 0) groups[places[row]][filled[places[row]]++] = row;
    return groups.flatMap((rows) => this.seriesOf(table, [column], rows, time));
  }

  /** Serial numbers of packets that a buffer sent on to another node. */
  get forwarded() {
    if (!this.sentOn) {
      const { releases } = this.tables;
      const [serial, to, marked] = ["serial", "to", "forwarded"].map((name) => releases.column(name));
      const nowhere = releases.code("to", "");
      this.sentOn = new Set();
      for (let row = 0; row < releases.rows; row++) {
        if (marked[row] || to[row] !== nowhere) this.sentOn.add(serial[row]);
      }
    }
    return this.sentOn;
  }

  /** Serial numbers of packets that were discarded although no data was lost by it. */
  get discarded() {
    if (!this.spare) {
      const { drops } = this.tables;
      const codes = NO_LOSS.map((reason) => drops.code("reason", reason));
      const [serial, reason] = ["serial", "reason"].map((name) => drops.column(name));
      this.spare = new Set(Array.from(drops.where((row) => codes.includes(reason[row])), (row) => serial[row]));
    }
    return this.spare;
  }

  /** All that is known of a packet, in order of time: `{time, text}`. */
  way(serial) {
    const told = [];
    for (const [name, tell] of Object.entries(TOLD)) {
      const table = this.tables[name];
      for (const row of table.equal("serial", serial)) tell(table, row, (time, text) => told.push({ time, text }));
    }
    return told.sort((one, other) => one.time - other.time);
  }

  /** When a segment of a flow was sent: `{time, serial}` each. */
  transmissions(flow, number) {
    const { packets } = this.tables;
    const [send, of, ack] = [packets.code("event", "send"), packets.code("flow", flow), packets.code("kind", "ack")];
    const [events, flows, kinds, numbers] = ["event", "flow", "kind", "number"].map((name) => packets.column(name));
    const rows = packets.where(
      (row) => numbers[row] === number && flows[row] === of && events[row] === send && kinds[row] !== ack,
    );
    return Array.from(rows, (row) => ({
      time: packets.column("time_ns")[row],
      serial: packets.column("serial")[row],
    }));
  }
}

/** Reasons in `drops` that lose no data. */
const NO_LOSS = ["copy-released", "duplicate", "suppressed-ack"];

/** Texts of rows about a packet. */
const TOLD = {
  packets(table, row, say) {
    const event = table.word("event", row);
    const place = table.word("place", row);
    const what = `${table.word("kind", row)} ${table.column("number")[row]}`;
    const bytes = `${table.column("wire_bytes")[row]} B`;
    const text = {
      send: `sent by ${place}: ${what}, ${bytes}${table.column("retransmission")[row] ? ", again" : ""}`,
      enqueue: `arrives at ${place}, ${bytes}; packets that wait there: ${table.column("waiting")[row]}`,
      mark: `marked by ${place}: congestion`,
    }[event];
    if (text) say(table.column("time_ns")[row], text);
  },
  releases(table, row, say) {
    const to = table.word("to", row);
    const where = to ? `is forwarded to ${to}` : "goes over the air";
    say(table.column("time_ns")[row], `leaves the buffer of ${table.word("node", row)} and ${where}`);
  },
  drops(table, row, say) {
    const reason = table.word("reason", row);
    const what = NO_LOSS.includes(reason) ? "discarded" : "LOST";
    say(table.column("time_ns")[row], `${what} at ${table.word("place", row)}: ${reason}`);
  },
  deliveries(table, row, say) {
    const time = table.column("time_ns")[row];
    const late = table.column("late_by_pkts")[row];
    const news = table.column("fresh")[row] ? "" : ", which had been there before";
    const order = late ? `, behind ${late} later ones` : "";
    const sent = table.column("sent_ns")[row];
    say(time, `arrives${news}${order}${sent < 0 ? "" : `, ${seconds(time - sent)} s after it was sent`}`);
  },
  signalling(table, row, say) {
    const [message, source, destination] = ["message", "source", "destination"].map((name) => table.word(name, row));
    say(table.column("sent_ns")[row], `${message} sent by ${source} to ${destination || "all"}`);
    const arrived = table.column("arrived_ns")[row];
    if (arrived >= 0) say(arrived, "arrives");
  },
};

/** A time in ns as seconds. */
function seconds(nanoseconds, digits = 6) {
  return (nanoseconds / 1e9).toFixed(digits);
}

const TIMES = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12 };

/** A time as a scenario's echo has it. */
function nanoseconds(time) {
  const [, number, unit] = /^([\d.e+-]+) (\S+)$/.exec(time) ?? [];
  return number * TIMES[unit] || 0;
}
