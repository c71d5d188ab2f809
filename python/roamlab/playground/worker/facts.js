// Data for the explorer about a run in addition to its tables, and the run in one sentence.

const SHOWN = { flows: 1, queues: 2, hosts: 6, nodes: 14 };

/** A checked scenario and its run: `echo`, `network`, `duration` in ns, `tables`, and what the engine is asked of the record. */
function recordOf(checked, seed, number, duration, { tables, explain, troubles, rtos }) {
  const made = Object.entries(tables).map(([name, table]) => [name, new Table(table, null)]);
  const [echo, network] = [checked.json(), checked.expanded(BigInt(seed), BigInt(number))].map((text) => JSON.parse(text));
  return {
    echo,
    network,
    duration,
    lists: shared(),
    tables: Object.fromEntries(made),
    explain: () => explain(duration),
    troubles: (flow) => troubles(duration, flow),
    rtos: (stall) => rtos(duration, stall),
  };
}

/** Input of the explorer: the run's facts, without its tables. `tcpProfile` returns the parameters of a profile. */
function factsOf(record, title, tcpProfile) {
  const { told, headline, figures } = record.explain();
  const names = figures.map(({ flow }) => flow);
  const windows = names.map((flow) => [flow, windowOf(record, flow, tcpProfile)]).filter(([, window]) => window !== null);
  const queues = queuesOf(record);
  const slow = new Map(told.map((each) => each.slow).filter(Boolean).map((each) => [`${each.start_ns} ${each.flow}`, each]));
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
    slow: [...slow.values()].map(({ flow, start_ns, end_ns }) => ({ flow, start_ns, end_ns })),
    headline: headlineOf(headline, told),
    figures,
  };
}

/** The table of a flow, or of the group that it is of, in the scenario. */
function flowTable(record, flow) {
  for (let name = flow; ; name = name.slice(0, name.lastIndexOf("-"))) {
    const found = record.echo.flows.find((each) => each.name === name);
    if (found || !name.includes("-")) return found ?? {};
  }
}

function stallFact({ stall, suspects, sentences, steps_ns: steps }, place) {
  const { flow, start_ns, end_ns, is_slow } = stall;
  const near = start_ns - Math.max(1e9, 3 * (end_ns - start_ns));
  return {
    number: place + 1,
    word: is_slow ? "slow period" : "stall",
    flow,
    start_ns,
    end_ns,
    since_ns: Math.min(start_ns, ...steps.filter((time) => time >= near)),
    length_s: (end_ns - start_ns) / 1e9,
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

/** Who moved, the longest stall, and the worst slow period, each with what is suspected. */
function headlineOf({ moves, stalled, slow, worst }, told) {
  const why = (each) => (each.suspected ? `; suspected first: ${each.suspected}` : "; the record names nothing that led to it");
  const silent = told.find((each) => !each.stall.is_slow);
  return `${moves}${stalled}${silent ? why(silent) : ""}${slow}${told[worst]?.stall.is_slow ? why(told[worst]) : ""}.`;
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
  const name = profile ?? record.echo.run.profile ?? "rfc";
  const builtIn = record.echo.tcp_profiles?.[name]?.based_on ?? name;
  const parameters = () => JSON.parse(tcpProfile(builtIn, variant ?? "reno") ?? "[]");
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

/** Facts and tables of a capture in the form of those of a run, whose other tables are empty. `explored`: the tables and columns
 * of the explorer. */
function capturedRun(facts, tables, explored, title) {
  const empty = (columns) => ({ rows: 0, columns: Object.fromEntries(columns.map((name) => [name, { values: [], names: [] }])) });
  const others = Object.entries(explored).map(([name, columns]) => [name, empty(columns)]);
  const none = { windows: {}, queues: [], shown_queues: [], hosts: [], nodes: [] };
  return { ...none, ...facts, name: "capture", title, tables: { ...Object.fromEntries(others), ...tables } };
}
