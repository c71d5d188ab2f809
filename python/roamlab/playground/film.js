// A run as a film: the times of each packet on each hop, and the positions of the nodes. A function of time,
// without a page.

/** A film with more nodes than these would be a blot: those that most packets pass are shown. */
const MOST_NODES = 40;
const MOST_HOPS = 1_500_000;
const PACKET = { data: 0, ack: 1, again: 2, forwarded: 3, signal: 4 };
const FATE = { goesOn: 0, arrives: 1, lost: 2 };

/** `nodes`: name, kind and place from 0 to 1; `links`: pairs of nodes; `hosts`; `hops`: columns, in order of `begin`. */
function filmOf(record) {
  const stops = passagesOf(record);
  const shown = busiest(record, stops);
  const nodes = placesOf(record.network, shown);
  const number = new Map(nodes.map(({ name }, place) => [name, place]));
  const hops = new Hops(Math.min(MOST_HOPS, stops.length + record.tables.signalling.rows));
  addPackets(record, stops, hops, number);
  addMessages(record, hops, number);
  const pairs = linksOf(record.network).map(({ from, to }) => [number.get(from), number.get(to)]);
  const links = pairs.filter(([from, to]) => from !== undefined && to !== undefined && from < to);
  return { nodes, links, hosts: hostsOf(record), hops: hops.sorted(), left: nodes.length < shown.all };
}

/** Times on one hop: it waits from `begin` to `go`, is under way to `arrive`, and waits at the other end to `end`. */
class Hops {
  constructor(most) {
    this.count = 0;
    this.times = ["begin", "go", "arrive", "end"].map(() => new Float64Array(most));
    this.codes = ["from", "to", "kind", "fate"].map(() => new Uint8Array(most));
  }

  add(times, codes) {
    if (this.count === this.times[0].length || codes[0] === undefined || codes[1] === undefined) return;
    times.forEach((time, place) => (this.times[place][this.count] = time));
    codes.forEach((code, place) => (this.codes[place][this.count] = code));
    this.count++;
  }

  sorted() {
    const [begin, , , end] = this.times;
    const order = new Uint32Array(this.count).map((_, row) => row).sort((one, other) => begin[one] - begin[other]);
    let longest = 0;
    for (const row of order) longest = Math.max(longest, end[row] - begin[row]);
    const pick = (columns, names) => Object.fromEntries(columns.map((column, place) => [names[place], new column.constructor(picked(column, order))]));
    return { count: this.count, longest, ...pick(this.times, ["begin", "go", "arrive", "end"]), ...pick(this.codes, ["from", "to", "kind", "fate"]) };
  }
}

/** The links of a network, one way each, by the name of their queue, with ns a byte and delay in ns. */
function linksOf(network) {
  const found = [];
  const add = (name, from, to, rate, delay) => found.push({ name, from, to, perByte: 8e9 / bitsPerSecond(rate), delay: nanoseconds(delay) });
  for (const { between: [one, other], rate, delay, reverse_rate: backRate, reverse_delay: backDelay } of network.links ?? []) {
    add(`${one}->${other}`, one, other, rate, delay);
    add(`${other}->${one}`, other, one, backRate ?? rate, backDelay ?? delay);
  }
  for (const [name, { router, backhaul }] of Object.entries(network.cells ?? {})) {
    add(`${router}->${name}`, router, name, backhaul.rate, backhaul.delay);
    add(`${name}->${router}`, name, router, backhaul.rate, backhaul.delay);
  }
  return found;
}

const RATES = { bit: 1, kbit: 1e3, Mbit: 1e6, Gbit: 1e9 };

/** A rate as a scenario's echo has it; Infinity: it is recorded, or changes. */
function bitsPerSecond(rate) {
  const [, number, unit] = /^([\d.e+-]+) (\w+)\/s$/.exec(rate) ?? [];
  return number * RATES[unit] || Infinity;
}

/** The rows of `packets` that are sends and queues, those of a packet behind each other. */
function passagesOf(record) {
  const { packets } = record.tables;
  const [event, kind, serial] = ["event", "kind", "serial"].map((name) => packets.column(name));
  const [send, enqueue] = ["send", "enqueue"].map((name) => packets.code("event", name));
  const signal = packets.code("kind", "signal");
  const rows = packets.where((row) => (event[row] === send || event[row] === enqueue) && kind[row] !== signal);
  return rows.sort((one, other) => serial[one] - serial[other] || one - other);
}

/** The nodes that most packets pass; `all`: how many there are. */
function busiest(record, stops) {
  const { packets, flows } = record.tables;
  const [counts, ofFlows] = [new Map(), new Map()];
  const [place, flow] = [packets.column("place"), packets.column("flow")];
  for (const row of stops) {
    counts.set(place[row], (counts.get(place[row]) ?? 0) + 1);
    ofFlows.set(flow[row], (ofFlows.get(flow[row]) ?? 0) + 1);
  }
  const nodes = new Map();
  for (const { from, to } of linksOf(record.network)) for (const node of [from, to]) nodes.set(node, nodes.get(node) ?? 0);
  for (const [code, count] of counts) {
    const ends = packets.spec.place.names[code].split(/->|\//).filter((name) => name !== "air");
    for (const node of ends) nodes.set(node, (nodes.get(node) ?? 0) + count);
  }
  // The air of a cell names no host, and a host that only receives sends nothing.
  for (let row = 0; row < flows.rows; row++) {
    const count = ofFlows.get(packets.code("flow", flows.word("flow", row))) ?? 0;
    for (const end of ["source", "destination"]) nodes.set(flows.word(end, row), (nodes.get(flows.word(end, row)) ?? 0) + count);
  }
  const order = [...nodes].sort(([, few], [, many]) => many - few).map(([name]) => name);
  return Object.assign(new Set(order.slice(0, MOST_NODES)), { all: order.length });
}

/** Positions of nodes: hosts on the right, then cells, then the others by their distance from the cells. */
function placesOf(network, shown) {
  const cells = Object.keys(network.cells ?? {}).filter((name) => shown.has(name));
  const hosts = (network.hosts ?? []).map((host) => host.name).filter((name) => shown.has(name));
  const near = neighbours(network);
  const level = new Map(cells.map((name) => [name, 1]));
  const order = cells.length ? [...cells] : [...near.keys()].slice(0, 1);
  if (!cells.length) for (const name of order) level.set(name, 1);
  for (const node of order) {
    for (const other of near.get(node) ?? []) {
      if (level.has(other) || !shown.has(other)) continue;
      level.set(other, level.get(node) + 1);
      order.push(other);
    }
  }
  for (const name of hosts) level.set(name, 0);
  const columns = [];
  for (const [name, number] of level) (columns[number] ??= []).push(name);
  const [first, last] = [hosts.length ? 0 : 1, Math.max(1, columns.length - 1)];
  const height = new Map();
  const found = [];
  for (let number = first; number <= last; number++) {
    const names = columns[number] ?? [];
    const wish = (name) => mean((near.get(name) ?? []).map((other) => height.get(other)).filter((each) => each !== undefined));
    const ordered = number > 1 ? names.map((name) => [name, wish(name)]).sort((one, other) => one[1] - other[1]).map(([name]) => name) : names;
    ordered.forEach((name, place) => {
      height.set(name, (place + 0.5) / names.length);
      const kind = hosts.includes(name) ? "host" : cells.includes(name) ? "cell" : "node";
      found.push({ name, kind, x: last === first ? 0.5 : 1 - (number - first) / (last - first), y: height.get(name) });
    });
  }
  return found;
}

function mean(values) {
  return values.length ? values.reduce((sum, each) => sum + each, 0) / values.length : 0.5;
}

/** The hops of data packets and acknowledgements. */
function addPackets(record, stops, hops, number) {
  const { packets, deliveries, drops, releases, flows } = record.tables;
  const byName = new Map(linksOf(record.network).map((link) => [link.name, link]));
  const ends = new Map(Array.from({ length: flows.rows }, (_, row) => [flows.word("flow", row), [flows.word("source", row), flows.word("destination", row)]]));
  const ofCell = new Map(Object.entries(record.network.cells ?? {}));
  const columns = Object.fromEntries(["time_ns", "event", "place", "serial", "wire_bytes", "waiting", "retransmission", "kind", "flow"].map((name) => [name, packets.column(name)]));
  const [arrived, lost] = [lastTimes(deliveries), lastTimes(drops)];
  const forwarded = firstTimes(releases, (row) => releases.word("to", row) !== "");
  const ack = packets.code("kind", "ack");
  const enqueue = packets.code("event", "enqueue");
  const linkOf = (row) => {
    const place = packets.spec.place.names[columns.place[row]];
    if (byName.has(place)) return byName.get(place);
    const [source, destination] = ends.get(packets.spec.flow.names[columns.flow[row]]) ?? [];
    const back = columns.kind[row] === ack;
    const [cell, air] = place.split("/");
    const [host, up] = place.split("->");
    const radio = ofCell.get(air ? cell : up);
    if (!radio) return null;
    const [from, to] = air ? [cell, back ? source : destination] : [host, up];
    return { from, to, perByte: 8e9 / bitsPerSecond(radio.rate), delay: nanoseconds(radio.delay) };
  };
  for (let place = 0; place < stops.length; place++) {
    const row = stops[place];
    if (columns.event[row] !== enqueue) continue;
    const link = linkOf(row);
    if (!link) continue;
    const next = stops[place + 1];
    const goesOn = next !== undefined && columns.serial[next] === columns.serial[row];
    const serial = columns.serial[row];
    const [begin, took] = [columns.time_ns[row], columns.wire_bytes[row] * link.perByte + link.delay];
    const kind = columns.kind[row] === ack ? PACKET.ack : begin >= forwarded.get(serial) ? PACKET.forwarded : columns.retransmission[row] ? PACKET.again : PACKET.data;
    const codes = (fate) => [number.get(link.from), number.get(link.to), kind, fate];
    if (goesOn) {
      const then = columns.time_ns[next];
      // A packet that continues from its place has waited there, in a queue and then in a buffer.
      const stays = linkOf(next)?.from === link.from;
      const go = stays ? then : Math.max(begin, Math.min(then - took, begin + columns.waiting[row] * columns.wire_bytes[row] * link.perByte));
      hops.add([begin, go, stays ? then : Math.min(then, go + took), then], codes(FATE.goesOn));
    } else if (lost.has(serial)) {
      const at = Math.max(begin, lost.get(serial));
      const go = Math.min(at, begin + columns.waiting[row] * columns.wire_bytes[row] * link.perByte);
      hops.add([begin, go, Math.max(at, go + 1), at], codes(FATE.lost));
    } else {
      const end = arrived.get(serial) ?? begin + (columns.waiting[row] * columns.wire_bytes[row]) * link.perByte + took;
      hops.add([begin, Math.max(begin, end - took), end, end], codes(FATE.arrives));
    }
  }
}

/** When a table names each packet last. */
function lastTimes(table) {
  const [time, serial] = [table.column("time_ns"), table.column("serial")];
  const found = new Map();
  for (let row = 0; row < table.rows; row++) found.set(serial[row], time[row]);
  return found;
}

/** When a table names each packet first, in rows that pass a test. */
function firstTimes(table, test) {
  const [time, serial] = [table.column("time_ns"), table.column("serial")];
  const found = new Map();
  for (let row = 0; row < table.rows; row++) if (!found.has(serial[row]) && test(row)) found.set(serial[row], time[row]);
  return found;
}

/** Messages about hosts, each on a straight way; where one is lost is in `drops`. */
function addMessages(record, hops, number) {
  const { signalling, drops } = record.tables;
  const lost = lastTimes(drops);
  const [sent, arrived, serial] = ["sent_ns", "arrived_ns", "serial"].map((name) => signalling.column(name));
  for (let row = 0; row < signalling.rows; row++) {
    if (!signalling.word("host", row)) continue;
    const gone = arrived[row] < 0;
    const end = gone ? (lost.get(serial[row]) ?? sent[row]) : arrived[row];
    const [from, to] = ["source", "destination"].map((name) => number.get(signalling.word(name, row)));
    hops.add([sent[row], sent[row], gone ? end + 1 : end, end], [from, to, PACKET.signal, gone ? FATE.lost : FATE.arrives]);
  }
}
