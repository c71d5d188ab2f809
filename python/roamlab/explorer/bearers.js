// Numbered radio bearers over time: waits for missing packets, forwarding between base stations, path switches.

/** Phases at which direct packets may follow the forwarded ones. */
const IN_ORDER = ["order-restored", "reordering-timed-out"];
/** Phases that base stations reach. */
const AT_BASE_STATIONS = ["handover-commanded", "handover-confirmed", "forwarding-started"];

/** A lane for each host that has something to show. */
function bearerLanes(run) {
  return run.hosts.map((host) => new BearerLane(run, host, spansOf(run, host))).filter((lane) => lane.spans.length);
}

/**
 * Waits of a host's bearers, forwarding, and its path switches: `{kind, begin, end, words, rows}`. None of a protocol that
 * switches no path.
 */
function spansOf(run, host) {
  if (!host.phases.some((phase) => phase.phase === "path-switched")) return [];
  return [...gapsOf(run, host), ...forwardingOf(run, host), ...switchesOf(run, host)];
}

/** The waits of receivers for a packet. */
function gapsOf(run, host) {
  const table = run.tables.bearer_gaps;
  if (!table) return [];
  const [begin, end, number, expired] = ["time_ns", "until_ns", "number", "expired"].map((name) => table.column(name));
  return Array.from(table.equal("host", table.code("host", host.name)), (row) => {
    const node = table.word("node", row);
    const why = expired[row] ? "t-Reordering expires" : "it has come, or the bearer begins again";
    const words = `${node} waits for packet ${number[row]}`;
    const rows = [
      `${seconds(begin[row])} s: a later packet is at ${node}, number ${number[row]} is not`,
      `${seconds(end[row])} s: ${why}`,
    ];
    return { kind: expired[row] ? "expired" : "gap", begin: begin[row], end: end[row], words, rows };
  });
}

/** Forwarding from one base station to another, from the first packet until direct packets may follow at the target. */
function forwardingOf(run, host) {
  const { releases } = run.tables;
  const [time, to] = ["time_ns", "to"].map((name) => releases.column(name));
  const ends = host.phases.filter((phase) => IN_ORDER.includes(phase.phase));
  const found = [];
  const last = new Map();
  const nowhere = releases.code("to", "");
  for (const row of releases.equal("host", releases.code("host", host.name))) {
    if (to[row] === nowhere) continue;
    const way = `${releases.word("node", row)} to ${releases.word("to", row)}`;
    let span = last.get(way);
    if (!span || (span.marker && span.marker.time_ns < time[row])) {
      span = { kind: "forwarding", begin: time[row], way, count: 0, marker: ends.find((phase) => phase.time_ns >= time[row]) };
      last.set(way, span);
      found.push(span);
    }
    span.count += 1;
    span.end = span.marker?.time_ns ?? time[row];
  }
  return found.map((span) => ({
    ...span,
    words: `${span.way}: ${span.count} pkt`,
    rows: [
      `${seconds(span.begin)} s: the first of ${span.count} forwarded packets leaves`,
      `${seconds(span.end)} s: ${span.marker ? `${span.marker.phase} at ${span.marker.node}` : "the last one"}`,
    ],
  }));
}

/** Path switches, from the request of a base station until it knows that the path is switched. */
function switchesOf(run, host) {
  const { signalling } = run.tables;
  const isStation = new Set(host.visits.map((visit) => visit.cell));
  for (const phase of host.phases) if (AT_BASE_STATIONS.includes(phase.phase)) isStation.add(phase.node);
  const sent = signalling.column("sent_ns");
  const requests = Array.from(signalling.equal("host", signalling.code("host", host.name))).filter((row) => {
    const destination = signalling.word("destination", row);
    return isStation.has(signalling.word("source", row)) && !isStation.has(destination) && destination !== host.name;
  });
  const named = (name) => host.phases.filter((phase) => phase.phase === name);
  const [switched, acknowledged] = [named("path-switched"), named("path-switch-acknowledged")];
  return switched.flatMap(({ time_ns: at, node }, place) => {
    // The first path is set up with the connection.
    if (place === 0) return [];
    const request = requests.findLast((row) => sent[row] <= at);
    if (request === undefined) return [];
    const next = switched[place + 1]?.time_ns ?? Infinity;
    const known = acknowledged.find((phase) => phase.time_ns >= at && phase.time_ns <= next);
    const asks = `${signalling.word("source", request)} sends ${signalling.word("message", request)}`;
    const rows = [`${seconds(sent[request])} s: ${asks}`, `${seconds(at)} s: ${node} switches the path`];
    if (known) rows.push(`${seconds(known.time_ns)} s: ${known.node} knows it`);
    return [{ kind: "switch", begin: sent[request], at, end: known?.time_ns ?? at, words: "path switch", rows }];
  });
}

/** Each kind of span: its row, colour, and words of the key. */
const SPANS = {
  gap: [0, "warn", "a receiver waits for a packet that comes"],
  expired: [0, "lost", "it waits until t-Reordering expires"],
  forwarding: [1, "forwarded", "forwarding, until the end marker"],
  switch: [2, "link", "path switch"],
};

/** The spans of one host, in a row for each kind that it has. */
class BearerLane extends Lane {
  constructor(run, host, spans) {
    const kinds = Object.keys(SPANS).filter((kind) => spans.some((span) => span.kind === kind));
    const rows = [...new Set(kinds.map((kind) => SPANS[kind][0]))];
    super(run, {
      name: `Bearer of ${host.name}`,
      unit: "",
      height: 12 + 24 * rows.length,
      key: kinds.map((kind) => ["square", SPANS[kind][1], SPANS[kind][2]]),
      about: kinds.map((kind) => `${SPANS[kind][2]}: ${spans.filter((span) => span.kind === kind).length}`).join("; "),
    });
    this.rows = rows;
    this.spans = spans.sort((one, other) => one.begin - other.begin);
  }

  /** Where a span is drawn: left, right, top. */
  place(span, x) {
    const [from, to] = [x.pixel(span.begin), x.pixel(span.end)];
    return [from, Math.max(to, from + 1.5), 6 + 24 * this.rows.indexOf(SPANS[span.kind][0])];
  }

  *visible(x) {
    for (const span of this.spans) if (span.end >= x.begin && span.begin <= x.end) yield span;
  }

  paint(x, _, theme) {
    const { pen } = this;
    const free = new Map();
    pen.font = theme.font;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    for (const span of this.visible(x)) {
      const [from, to, top] = this.place(span, x);
      pen.fillStyle = theme[SPANS[span.kind][1]];
      pen.fillRect(from, top + 3, to - from, 6);
      if (span.at !== undefined) pen.fillRect(x.pixel(span.at) - 0.75, top, 1.5, 12);
      const start = Math.max(from, x.left + 2);
      if (start < (free.get(top) ?? -Infinity)) continue;
      pen.fillStyle = theme.quiet;
      pen.fillText(span.words, start, top + 17);
      free.set(top, start + pen.measureText(span.words).width + 8);
    }
  }

  at(time) {
    const now = this.spans.filter((span) => span.begin <= time && time <= span.end);
    return now.slice(0, 3).map((span) => span.words).join(", ");
  }

  hit(right, down, x) {
    const near = [...this.visible(x)].filter((span) => {
      const [from, to, top] = this.place(span, x);
      return from - 5 <= right && right <= to + 5 && top <= down && down < top + 24;
    });
    const middle = (span) => Math.abs(x.pixel((span.begin + span.end) / 2) - right);
    const span = near.sort((one, other) => middle(one) - middle(other))[0];
    return span ? { title: `${this.name}: ${span.words}`, rows: span.rows } : null;
  }
}
