// Data for the explorer about a run in addition to its tables, and the run in one sentence.

const SHOWN = { flows: 1, queues: 2, hosts: 6, nodes: 14 };

/** Tables and columns that the explorer draws. */
const EXPLORED = {
  handovers: ["time_ns", "host", "visit", "phase", "node"],
  deliveries: ["time_ns", "flow", "seq", "sent_ns", "fresh", "late_by_pkts", "serial"],
  packets: ["time_ns", "event", "place", "flow", "kind", "number", "wire_bytes", "retransmission", "waiting", "serial"],
  queue: ["time_ns", "queue", "packets", "average", "probability", "coupled", "sojourn_ns", "forwarded"],
  tcp: ["time_ns", "flow", "event", "cwnd", "ssthresh", "rto_ns", "seq", "timeout"],
  drops: ["time_ns", "place", "reason", "flow", "seq", "serial", "forwarded"],
  releases: ["time_ns", "host", "node", "to", "flow", "seq", "serial", "forwarded"],
  signalling: ["message", "host", "source", "destination", "size_bytes", "sent_ns", "arrived_ns", "serial"],
};

/** A checked scenario and its run: `echo`, `network`, `duration` in ns, `tables`, as analysis takes them. */
function recordOf(checked, seed, number, duration, tables) {
  const made = Object.entries(tables).map(([name, table]) => [name, new Table(table, null)]);
  const [echo, network] = [checked.json(), checked.expanded(BigInt(seed), BigInt(number))].map((text) => JSON.parse(text));
  return { echo, network, duration, tables: Object.fromEntries(made) };
}

/** Input of the explorer: the run's facts, without its tables. `tcpProfile` returns the parameters of a profile. */
function factsOf(record, title, tcpProfile) {
  const { flows } = record.tables;
  const told = explain(record);
  const names = Array.from({ length: flows.rows }, (_, row) => flows.word("flow", row));
  const queues = queuesOf(record);
  const windows = names.map((flow) => [flow, windowOf(record, flow, tcpProfile)]).filter(([, window]) => window !== null);
  return {
    name: "run",
    title,
    begin_ns: 0,
    end_ns: record.duration,
    flows: names,
    shown_flows: shownFlows(record, told, names),
    windows: Object.fromEntries(windows),
    queues,
    shown_queues: queues.slice(0, SHOWN.queues),
    hosts: hostsOf(record),
    nodes: nodesOf(record),
    stalls: told.map(stallFact),
    slow: [...new Set(told.map((each) => each.slow).filter(Boolean))].map(({ flow, start, end }) => ({ flow, start_ns: start, end_ns: end })),
    headline: headline(record, told),
    figures: names.map((flow) => figureOf(record, flow)),
  };
}

/** Goodput of a flow, and the packets of it that were lost. */
function figureOf(record, flow) {
  const { flows, drops } = record.tables;
  const lost = rowsOf(drops, { flow }).filter((row) => !NO_LOSS.includes(drops.word("reason", row)));
  return { flow, goodput_bps: flows.column("goodput_bps")[rowsOf(flows, { flow })[0]], lost: lost.length };
}

function stallFact({ number, word, stall, suspects, sentences }) {
  const near = stall.start - Math.max(1e9, 3 * length(stall));
  const times = (suspects[0]?.chain ?? []).map((step) => step.time_ns).filter((time) => time >= near);
  return {
    number,
    word,
    flow: stall.flow,
    start_ns: stall.start,
    end_ns: stall.end,
    since_ns: Math.min(stall.start, ...times),
    length_s: length(stall) / 1e9,
    suspect: suspects[0]?.kind ?? "",
    sentences,
  };
}

/** Host, number of the visit and time in ns of each entry of a further cell, in order of time. */
function entriesOf(record) {
  const { handovers } = record.tables;
  const [time, visit] = [handovers.column("time_ns"), handovers.column("visit")];
  const first = new Map();
  for (const row of handovers.where((each) => visit[each] > 0)) {
    const key = `${visit[row]} ${handovers.word("host", row)}`;
    const known = first.get(key);
    if (!known) first.set(key, { host: handovers.word("host", row), visit: visit[row], time: time[row] });
    else known.time = Math.min(known.time, time[row]);
  }
  return [...first.values()].sort((one, other) => one.time - other.time);
}

/** Who moved, the longest stall with what is suspected, and the worst slow period. */
function headline(record, told) {
  const moves = entriesOf(record);
  const hosts = [...new Set(moves.map((move) => move.host))];
  const times = moves.length === 1 ? "once" : `${moves.length} times`;
  const who = hosts.length ? `${hosts.length === 1 ? hosts[0] : `${hosts.length} hosts`} changed cells ${times}` : "No host changed its cell";
  const silent = told.filter((each) => !each.stall.isSlow);
  const slow = told.filter((each) => each.slow);
  const missing = ({ slow: each }) => length(each) * (each.beforeBps - each.rateBps);
  const worst = slow.reduce((most, each) => (most && missing(most) >= missing(each) ? most : each), null);
  const span = ({ start, end }) => `${seconds(start, 3)} to ${seconds(end, 3)} s`;
  const parts = [who];
  if (silent.length) {
    const [{ stall, suspects }] = silent;
    const others = silent.length > 1 ? `, the longest of ${silent.length} stalls` : "";
    parts.push(`; ${stall.flow} received nothing new for ${general(length(stall) / 1e9, 3)} s, ${span(stall)}${others}${why(suspects)}`);
  } else {
    const { rows } = record.tables.flows;
    parts.push(`, and ${{ 0: "there is no flow", 1: "the one flow never stalled" }[rows] ?? `none of the ${rows} flows stalled`}`);
  }
  if (worst) {
    const { slow: period, suspects, stall } = worst;
    const [rate, before] = [period.rateBps, period.beforeBps].map((bps) => general(bps / 1e6, 2));
    parts.push(`; ${period.flow} was slow for ${general(length(period) / 1e9, 3)} s, ${span(period)}, at ${rate} instead of ${before} Mbit/s`);
    if (stall.isSlow) parts.push(why(suspects));
  }
  return `${parts.join("")}.`;
}

function why([first]) {
  return first ? `; suspected first: ${named(first)}` : "; the record names nothing that led to it";
}

/** The flows of hosts that move come first, those that stalled longest before the others. */
function shownFlows(record, told, names) {
  const { flows } = record.tables;
  const hosts = new Set(entriesOf(record).map((move) => move.host));
  const moving = names.filter((_, row) => hosts.has(flows.word("source", row)) || hosts.has(flows.word("destination", row)));
  const order = [...new Set([...told.map((each) => each.stall.flow), ...moving, ...names])];
  return order.sort((one, other) => moving.includes(other) - moving.includes(one)).slice(0, SHOWN.flows);
}

/** The receiver's window of a TCP flow in segments; null: it has none in segments. */
function windowOf(record, flow, tcpProfile) {
  const { kind, window, variant, profile } = flowTable(record, flow).transport ?? {};
  if (kind !== "tcp") return null;
  const parameters = () => JSON.parse(tcpProfile(profile ?? record.echo.run.profile ?? "rfc", variant ?? "reno") ?? "[]");
  const largest = () => parameters().find((each) => each.parameter === "window");
  const told = window ?? `${largest()?.value} ${largest()?.unit}`;
  const [, segments] = /^(\d+) pkt$/.exec(told) ?? [];
  return segments ? Number(segments) : null;
}

/** The recorded queues in which a packet waited, the longest first. */
function queuesOf(record) {
  const { queue } = record.tables;
  const [of, packets] = [queue.column("queue"), queue.column("packets")];
  const { names } = queue.spec.queue;
  const most = new Float64Array(names.length);
  for (let row = 0; row < queue.rows; row++) if (packets[row] > most[of[row]]) most[of[row]] = packets[row];
  const found = names.map((name, code) => [name, most[code]]).filter(([, length]) => length > 0);
  return found.sort(([one, long], [other, longer]) => longer - long || (one < other ? -1 : 1)).map(([name]) => name);
}

/** The hosts that visit most cells, with the time of each visit and its phases. */
function hostsOf(record) {
  const { handovers } = record.tables;
  const rows = Array.from({ length: handovers.rows }, (_, row) => ({
    time_ns: handovers.column("time_ns")[row],
    visit: handovers.column("visit")[row],
    ...Object.fromEntries(["host", "phase", "node"].map((name) => [name, handovers.word(name, row)])),
  }));
  const last = new Map();
  for (const { host, visit } of rows) last.set(host, Math.max(visit, last.get(host) ?? 0));
  const busiest = [...last].sort(([one, visits], [other, more]) => more - visits || (one < other ? -1 : 1));
  return busiest.slice(0, SHOWN.hosts).map(([name]) => {
    const own = rows.filter((row) => row.host === name).sort((one, other) => one.time_ns - other.time_ns);
    const phases = own.map(({ host, ...phase }) => phase);
    return { name, visits: visitsOf(record, name, own), phases };
  });
}

/** The visits of a host in order, each until the link there goes down: of a soft handover during a later visit. */
function visitsOf(record, host, rows) {
  const listed = record.network.hosts.find((each) => each.name === host)?.visits ?? [];
  const end = record.duration;
  const found = [];
  let inside = []; // the oldest first, which a host leaves first
  for (const { time_ns, visit, phase } of rows) {
    while (found.length <= visit) {
      found.push({ cell: listed[found.length]?.cell ?? `cell ${found.length}`, from_ns: end, to_ns: end });
    }
    const stay = found[visit];
    if (phase === "link-up") {
      Object.assign(stay, { from_ns: Math.min(stay.from_ns, time_ns), to_ns: end });
      for (const before of inside) if (before.cell === stay.cell) before.to_ns = time_ns;
      inside = [...inside.filter((other) => other.cell !== stay.cell), stay];
    } else if (phase === "link-down" && inside.length) {
      inside.shift().to_ns = time_ns;
    }
  }
  return found;
}

/** The lines of the signalling: the host that moves first, the way from its new cell to its old one, then by distance. */
function nodesOf(record) {
  const { signalling } = record.tables;
  const busy = new Set();
  for (let row = 0; row < signalling.rows; row++) {
    busy.add(signalling.word("source", row)).add(signalling.word("destination", row));
  }
  busy.delete("");
  const [move] = entriesOf(record);
  const visits = record.network.hosts.find((each) => each.name === move?.host)?.visits ?? [];
  const { before, order } = waysFrom(record.network, visits[move?.visit]?.cell);
  const path = [];
  for (let node = visits[move?.visit - 1]?.cell; node !== undefined; node = before.get(node)) path.push(node);
  return [...new Set([move?.host, ...path.reverse(), ...order, ...[...busy].sort()])].filter((node) => busy.has(node)).slice(0, SHOWN.nodes);
}

/** The nodes by their distance in links from one of them, and the node before each on the way. */
function waysFrom(network, start) {
  const near = neighbours(network);
  const before = new Map();
  const order = near.has(start) ? [start] : [];
  for (const node of order) {
    for (const other of near.get(node)) {
      if (other === start || before.has(other)) continue;
      before.set(other, node);
      order.push(other);
    }
  }
  return { before, order };
}

/** Of each node those at the other ends of its links. */
function neighbours(network) {
  const near = new Map();
  const join = (one, other) => near.set(one, [...(near.get(one) ?? []), other]);
  const cells = Object.entries(network.cells ?? {}).map(([name, cell]) => [name, cell.router]);
  for (const [one, other] of [...(network.links ?? []).map((link) => link.between), ...cells]) {
    join(one, other);
    join(other, one);
  }
  return near;
}
