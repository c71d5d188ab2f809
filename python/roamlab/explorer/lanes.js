// The lanes: each draws one thing over the time that all share, shows its value at a time, and the item under
// the pointer.

/** How many stalls and slow periods, in words. */
const troubles = (count) => (count === 1 ? "1 stall or slow period" : `${count} stalls and slow periods`);

/** Common parts of all lanes: a heading, a key of its marks, the values at the cursor, and a canvas. */
class Lane {
  /** `unit`: of the value axis, "" if there is none. `key`: `[shape, colour, words]` for each kind of mark. */
  constructor(run, { name, unit, height, key, flow = null, about = "" }) {
    Object.assign(this, { run, name, unit, height, flow });
    const title = unit ? `${name} [${unit}]` : name;
    this.looks = JSON.stringify([title, height, key]);
    const before = run.before?.get(name);
    if (before?.looks === this.looks) this.adopt(before);
    else this.make(title, key);
    this.canvas.setAttribute("aria-label", `${title} over time${about ? `. ${about}` : ""}`);
  }

  make(title, key) {
    this.element = document.createElement("section");
    this.element.className = "lane";
    const head = append(this.element, "header");
    append(head, "h3", title);
    const keys = append(head, "ul", "", "key");
    for (const [shape, colour, words] of key) {
      const item = append(keys, "li");
      item.append(swatch(shape, colour), words);
    }
    this.reading = append(head, "output");
    this.canvas = append(this.element, "canvas");
    this.canvas.style.height = `${this.height}px`;
    this.canvas.setAttribute("role", "img");
    this.pen = this.canvas.getContext("2d");
  }

  /** Takes the place of a lane that looks the same: what it is made of on the page stays. */
  adopt({ element, reading, canvas, pen }) {
    Object.assign(this, { element, reading, canvas, pen });
  }

  /** Least and greatest value in the time shown; null: the lane has no values. */
  range() {
    return null;
  }

  /** The same with the shadow, if there is one. */
  limits(x) {
    const found = [this.range(x), this.shadow?.range(x), this.twin?.range(x)].filter(Boolean);
    return found.length ? [Math.min(...found.map(([least]) => least)), Math.max(...found.map(([, most]) => most))] : null;
  }

  /** The values of the lane before stay as a shadow of this one's; `keep`: those that are one already. */
  follow(before, keep) {
    const shadow = keep ? (before?.shadow ?? before) : before;
    this.shadow = shadow?.constructor === this.constructor ? shadow : null;
    if (before) Object.assign(before, { shadow: null, twin: null });
  }

  /** Lanes of two runs whose axes have equal names have the same axis. */
  get axis() {
    return this.name;
  }

  /** The values at a time, in words. */
  at() {
    return "";
  }

  /** The item at a point: `{title, rows}` or null. */
  hit() {
    return null;
  }

  draw(x, limits, theme) {
    const { height, pen } = this;
    clear(this.canvas, pen);
    this.bands(x, theme);
    drawTimes(pen, x, height, theme, false);
    const y = limits && new ValueScale(limits, height);
    if (y) drawValues(pen, x, y, theme);
    this.y = y;
    pen.save();
    pen.beginPath();
    pen.rect(x.left, 0, x.width, height);
    pen.clip();
    if (y && this.shadow) this.shadow.paintShadow(pen, x, y, theme);
    this.paint(x, y, theme);
    pen.restore();
  }

  /** Its values in another lane, all in one quiet colour. */
  paintShadow(pen, x, y, theme) {
    const own = this.pen;
    this.pen = pen;
    pen.globalAlpha = 0.5;
    this.paint(x, y, Object.fromEntries(Object.keys(theme).map((name) => [name, theme.line2])));
    pen.globalAlpha = 1;
    this.pen = own;
  }

  /** The slow periods and stalls of this lane's flow, and of all flows where a lane belongs to none. */
  bands(x, theme) {
    this.band(this.run.slow, x, theme.slow);
    this.band(this.run.stalls.filter((stall) => stall.word === "stall"), x, theme.stall);
  }

  band(spans, x, colour) {
    this.pen.fillStyle = colour;
    for (const span of spans) {
      if (this.flow !== null && span.flow !== this.flow) continue;
      const from = Math.max(x.left, x.pixel(span.start_ns));
      const to = Math.min(x.left + x.width, x.pixel(span.end_ns));
      if (to > from) this.pen.fillRect(from, 0, Math.max(1, to - from), this.height);
    }
  }
}

/** A host that never moves needs no place for phases. */
function rowHeight(host) {
  return host.visits.length > 1 ? 46 : 24;
}

/** In which cell each host is, and the phases of its handovers. */
class HostLane extends Lane {
  constructor(run) {
    super(run, {
      name: "Hosts: cells and phases of handovers",
      unit: "",
      height: 12 + run.hosts.reduce((sum, host) => sum + rowHeight(host), 0),
      key: [["square", "link", "in a cell"], ["bar", "warn", "phase"]],
      about: run.hosts.map((host) => `${host.name}: ${host.visits.map((visit) => visit.cell).join(", ")}`).join("; "),
    });
  }

  paint(x, _, theme) {
    const { pen, run } = this;
    pen.textBaseline = "middle";
    for (const [host, top] of this.rows()) {
      host.visits.forEach((visit, number) => {
        const [from, to] = [x.pixel(visit.from_ns), x.pixel(visit.to_ns)];
        if (to < x.left || from > x.left + x.width) return;
        const shown = [Math.max(from, x.left - 2), Math.min(to, x.left + x.width + 2)];
        pen.fillStyle = number % 2 ? theme.cell2 : theme.cell1;
        pen.fillRect(shown[0], top + (number % 2) * 3, Math.max(1, shown[1] - shown[0]), 17);
        const words = `${host.name} in ${visit.cell}`;
        pen.font = theme.font;
        pen.textAlign = "left";
        pen.fillStyle = theme.ink;
        const room = shown[1] - shown[0] - 8;
        if (pen.measureText(words).width < room) pen.fillText(words, shown[0] + 5, top + 9 + (number % 2) * 3);
      });
      let free = -Infinity;
      for (const phase of host.visits.length > 1 ? host.phases : []) {
        const place = x.pixel(phase.time_ns);
        if (place < x.left - 1 || place > x.left + x.width) continue;
        pen.fillStyle = theme.warn;
        pen.fillRect(place - 0.75, top + 22, 1.5, 7);
        const words = phase.phase;
        if (place < free) continue;
        pen.textAlign = "left";
        pen.fillStyle = theme.quiet;
        pen.fillText(words, place, top + 36);
        free = place + pen.measureText(words).width + 8;
      }
    }
  }

  /** Each host and where its row begins. */
  *rows() {
    let top = 6;
    for (const host of this.run.hosts) {
      yield [host, top];
      top += rowHeight(host);
    }
  }

  at(time) {
    return this.run.hosts
      .map((host) => {
        const cells = host.visits.filter((visit) => visit.from_ns <= time && time < visit.to_ns);
        return `${host.name} in ${cells.map((visit) => visit.cell).join(" and ") || "no cell"}`;
      })
      .join(", ");
  }

  hit(right, down, x) {
    const [host] = [...this.rows()].findLast(([, top]) => top <= down) ?? [];
    if (!host) return null;
    const time = x.time(right);
    const near = host.phases.filter((phase) => Math.abs(x.pixel(phase.time_ns) - right) < 12);
    const distance = (phase) => Math.abs(phase.time_ns - time);
    const nearest = near.sort((one, other) => distance(one) - distance(other))[0];
    const visit = nearest?.visit ?? host.visits.findLastIndex((each) => each.from_ns <= time);
    if (visit < 0) return null;
    return visitDetail(host, visit);
  }
}

/** Serial numbers of the packets without data that a flow's sender sends, as answers of QUIC: they acknowledge none. */
function ofSender(packets, flow, ack) {
  const [event, kind, of, places, serials] = ["event", "kind", "flow", "place", "serial"].map((name) => packets.column(name));
  const send = packets.code("event", "send");
  const isSent = (row) => of[row] === flow && event[row] === send;
  const found = new Set();
  let sender;
  for (let row = 0; row < packets.rows; row++) {
    if (!isSent(row)) continue;
    if (kind[row] !== ack) sender ??= places[row];
    else if (places[row] === sender) found.add(serials[row]);
  }
  return found;
}

/** The time-sequence diagram of a flow. */
class SequenceLane extends Lane {
  constructor(run, flow) {
    super(run, {
      name: `${flow}: time-sequence diagram`,
      unit: "segment",
      height: 240,
      flow,
      key: [
        ["square", "sent", "sent"],
        ["triangle", "again", "sent again"],
        ["dot", "link", "arrives"],
        ["diamond", "forwarded", "arrives, was forwarded"],
        ["dash", "ack", "acknowledged"],
        ["cross", "lost", "lost"],
        ["bar", "quiet", "discarded: there in another copy"],
        ["cross", "ack", "acknowledgement lost"],
        ["ring", "again", "marked (CE)"],
        ["stall", "stall", "stall"],
        ["stall", "slow", "slow period"],
      ],
      about: troubles(run.stalls.filter((stall) => stall.flow === flow).length),
    });
    const { packets, deliveries } = run.tables;
    const [event, kind, of, again, serials] = ["event", "kind", "flow", "retransmission", "serial"].map((name) => packets.column(name));
    const [mine, ack] = [packets.code("flow", flow), packets.code("kind", "ack")];
    const spoken = ofSender(packets, mine, ack);
    const [send, drop, mark] = ["send", "drop", "mark"].map((name) => packets.code("event", name));
    const { discarded, forwarded } = run;
    const [sent, acked, resent, marked, lost, spare, ackLost] = run.grouped("packets", "number", 7, (row) => {
      if (of[row] !== mine || spoken.has(serials[row])) return -1;
      if (event[row] === mark) return 3;
      if (event[row] === send) return kind[row] === ack ? 1 : again[row] ? 2 : 0;
      if (event[row] !== drop) return -1;
      if (discarded.has(serials[row])) return kind[row] === ack ? -1 : 5;
      return kind[row] === ack ? 6 : 4;
    });
    const [to, serial] = [deliveries.column("flow"), deliveries.column("serial")];
    const own = deliveries.code("flow", flow);
    const place = (row) => (to[row] === own ? Number(forwarded.has(serial[row])) : -1);
    const [direct, detoured] = run.grouped("deliveries", "seq", 2, place);
    this.marks = [
      ["square", "sent", sent, packets],
      ["dash", "ack", acked, packets],
      ["dot", "link", direct, deliveries],
      ["diamond", "forwarded", detoured, deliveries],
      ["triangle", "again", resent, packets],
      ["ring", "again", marked, packets],
      ["cross", "lost", lost, packets],
      ["bar", "quiet", spare, packets],
      ["cross", "ack", ackLost, packets],
    ];
  }

  /** One for each run: two runs may be at other segments at one time. */
  get axis() {
    return this;
  }

  range(x) {
    return rangeOf(this.marks.map(([, , series]) => series), x, false);
  }

  paint(x, y, theme) {
    for (const [shape, colour, series] of this.marks) drawMarks(this.pen, series, x, y, theme[colour], shape);
  }

  at(time) {
    const [sent, , direct, forwarded] = this.marks.map(([, , series]) => series);
    const arrived = [direct, forwarded].map((series) => [series.times[series.first(time + 1) - 1], series.at(time)]);
    const last = arrived.filter(([when]) => when !== undefined).sort((one, other) => other[0] - one[0])[0];
    return `sent ${sent.at(time) ?? "none"}, arrived last ${last?.[1] ?? "none"}`;
  }

  /** The packet nearest to a point, within a few pixels. */
  nearest(right, down, x) {
    let best = null;
    for (const [, , series, table] of this.marks) {
      const end = series.first(x.time(right + 9));
      for (let at = series.first(x.time(right - 9)); at < end; at++) {
        const [across, up] = [x.pixel(series.times[at]) - right, this.y.pixel(series.values[at]) - down];
        const distance = across * across + up * up;
        if (distance < 100 && distance <= (best?.distance ?? Infinity)) {
          best = { distance, serial: table.column("serial")[series.rows[at]], number: series.values[at] };
        }
      }
    }
    return best;
  }

  hit(right, down, x) {
    const found = this.nearest(right, down, x);
    if (found) return packetDetail(this.run, this.flow, found.number, found.serial);
    const time = x.time(right);
    const stall = this.run.stalls.find(
      (each) => each.flow === this.flow && each.start_ns <= time && time <= each.end_ns,
    );
    return stall ? stallDetail(stall) : null;
  }
}

/** Values of one or more series as lines. */
class LineLane extends Lane {
  /** `lines`: `[words, colour, dash, series]`, and the text before its first value, if any; `marks`: the same with a shape instead of the dash. */
  constructor(run, options, lines, marks = []) {
    super(run, { height: 120, ...options, key: [...lines, ...marks].map(([words, colour, shape]) => [shape, colour, words]) });
    Object.assign(this, { lines, marks });
  }

  range(x) {
    // Values that would flatten the axis (a threshold without limit) are cut off.
    const [first, ...others] = this.lines.map(([, , , series]) => series);
    const [, most] = rangeOf([first], x, true) ?? [0, 1];
    const [, all] = rangeOf([first, ...others], x, true) ?? [0, 1];
    return [0, Math.min(all, Math.max(2 * most, 1e-9)) || 1];
  }

  paint(x, y, theme) {
    if (this.twin) drawBand(this.pen, this.lines[0][3], this.twin.lines[0][3], x, y, theme[this.lines[0][1]]);
    for (const [, colour, shape, series] of this.lines.toReversed()) {
      drawSteps(this.pen, series, x, y, theme[colour], DASHES[shape]);
    }
    for (const [, colour, shape, series] of this.marks) drawMarks(this.pen, series, x, y, theme[colour], shape);
  }

  at(time) {
    return this.lines
      .map(([words, , , series, absent]) => [words, series.at(time), absent])
      .filter(([, value, absent]) => value !== undefined || absent)
      .map(([words, value, absent]) => `${words} ${value === undefined ? absent : Number(value.toPrecision(5))}`)
      .join(", ");
  }
}

const DASHES = { line: [], dashed: [6, 4], dotted: [2, 3] };
for (const [name, dashes] of Object.entries(DASHES)) SHAPES[name] ??= { ...SHAPES.line, dashes: dashes.join(" ") };

/** A threshold of 2^31 segments and more is the one that a sender begins with: no loss has set it yet. */
const NO_SSTHRESH = 2 ** 31;

/** Congestion window and threshold of a TCP flow, and its retransmission timeout; no lane if the flow has none. */
function tcpLanes(run, flow) {
  const { tcp } = run.tables;
  const [of, event] = [tcp.column("flow"), tcp.column("event")];
  const mine = tcp.code("flow", flow);
  const own = tcp.where((row) => of[row] === mine);
  if (!own.length) return [];
  const [usable, rto] = run.seriesOf("tcp", ["cwnd", "rto_ns"], own);
  // Beyond the receiver's window a congestion window grows on without effect.
  const receivers = run.windows[flow] ?? Infinity;
  usable.values = usable.values.map((value) => Math.min(value, receivers));
  const [thresholds, expired] = [tcp.column("ssthresh"), tcp.code("event", "timeout")];
  const [ssthresh] = run.seriesOf("tcp", ["ssthresh"], own.filter((row) => thresholds[row] < NO_SSTHRESH));
  const [timeouts] = run.seriesOf("tcp", ["rto_ns"], own.filter((row) => event[row] === expired));
  const newPath = tcp.code("event", "path-change");
  const news = own.filter((row) => event[row] === newPath);
  const [told] = run.seriesOf("tcp", ["cwnd"], news);
  for (const series of [rto, timeouts]) series.values = series.values.map((value) => value / 1e9);
  return [
    new LineLane(run, { name: `${flow}: window that the sender may use`, unit: "segment", flow }, [
      [receivers < Infinity ? `cwnd (at most the receiver's ${receivers})` : "cwnd", "link", "line", usable],
      ["ssthresh", "warn", "dashed", ssthresh, "none yet"],
    ], news.length ? [["notified of a new path", "again", "ring", told]] : []),
    new LineLane(
      run,
      { name: `${flow}: retransmission timeout`, unit: "s", height: 90, flow },
      [["RTO", "ack", "line", rto]],
      [["timer expires", "lost", "triangle", timeouts]],
    ),
  ];
}

/** Length of a queue; where its discipline has them, the probability of a drop or mark, and the time in the queue. */
function queueLanes(run, name) {
  const { queue } = run.tables;
  const rows = queue.equal("queue", queue.code("queue", name));
  const used = (column) => {
    const values = queue.column(column);
    return rows.some((row) => values[row] > 0);
  };
  const columns = ["packets", ...["average", "probability", "coupled", "sojourn_ns", "forwarded"].filter(used)];
  const series = run.seriesOf("queue", columns, rows);
  const of = Object.fromEntries(columns.map((column, place) => [column, series[place]]));
  const lines = [["packets", "link", "line", of.packets]];
  if (of.average) lines.push(["average", "warn", "dashed", of.average]);
  if (of.forwarded) lines.push(["forwarded", "forwarded", "dotted", of.forwarded]);
  const lanes = [new LineLane(run, { name: `queue ${name}`, unit: "packet" }, lines)];
  const lane = (what, unit, shown) => lanes.push(new LineLane(run, { name: `queue ${name}: ${what}`, unit, height: 80 }, shown));
  // The axis follows the first line: the coupled probability is the larger one.
  const chances = [["coupled, of L4S", "warn", "dashed", of.coupled], ["probability", "again", "line", of.probability]];
  const known = chances.filter(([, , , values]) => values);
  if (known.length) lane("probability of a drop or mark", "1", known);
  if (of.sojourn_ns) {
    of.sojourn_ns.values = of.sojourn_ns.values.map((value) => value / 1e9);
    lane("time in the queue", "s", [["of the last packet", "ack", "line", of.sojourn_ns]]);
  }
  return lanes;
}

/** Least and greatest of what series show, or null. */
function rangeOf(all, x, holds) {
  let [least, most] = [Infinity, -Infinity];
  for (const series of all) {
    const begin = Math.max(0, series.first(x.begin) - (holds ? 1 : 0));
    const end = series.first(x.end);
    if (end <= begin) continue;
    const [low, high] = series.extent(begin, end);
    [least, most] = [Math.min(least, low), Math.max(most, high)];
  }
  if (most < least) return null;
  return least === most ? [least - 1, most + 1] : [least, most];
}

/** The way of a packet, and the other transmissions of what it carries. */
function packetDetail(run, flow, number, serial) {
  const rows = run.way(serial).map((step) => `${seconds(step.time)} s: ${step.text}`);
  const others = run.transmissions(flow, number).filter((each) => each.serial !== serial);
  if (others.length) rows.push(`sent also as ${others.map((each) => `packet ${each.serial} at ${seconds(each.time)} s`).join(", ")}`);
  return { title: `${flow}, segment ${number}: packet ${serial}`, rows };
}

/** The phases of a host's visit. */
function visitDetail(host, visit) {
  const left = (phase) => phase.visit === visit - 1 && phase.phase === "link-down";
  const phases = host.phases.filter((phase) => phase.visit === visit || left(phase));
  const rows = phases.map((phase) => `${seconds(phase.time_ns)} s: ${phase.phase} at ${phase.node}`);
  return { title: `${host.name}, visit ${visit}: ${host.visits[visit]?.cell ?? ""}`, rows };
}

function stallDetail(stall) {
  return { title: `${capital(stall.word)} ${stall.number} of ${stall.flow}: ${stall.length_s.toFixed(3)} s`, rows: stall.sentences };
}

/** A word with a capital letter. */
function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}

/** A new element at the end of another. */
function append(parent, name, words = "", kind = "") {
  const made = document.createElement(name);
  if (words) made.textContent = words;
  if (kind) made.className = kind;
  parent.append(made);
  return made;
}

/** A mark for a key, drawn with the shape of the lane. */
function swatch(shape, colour) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("viewBox", shape in DASHES ? "-9 -6 18 12" : "-6 -6 12 12");
  drawing.setAttribute("aria-hidden", "true");
  if (shape in DASHES) drawing.classList.add("long");
  const made = document.createElementNS(space, "path");
  const { path, open, dashes } = SHAPES[shape] ?? { path: "M-6-6h12v12h-12z" };
  made.setAttribute("d", path);
  made.style.fill = open ? "none" : `var(--${colour})`;
  if (open) Object.assign(made.style, { stroke: `var(--${colour})`, strokeWidth: 2 });
  if (dashes) made.setAttribute("stroke-dasharray", dashes);
  drawing.append(made);
  return drawing;
}
