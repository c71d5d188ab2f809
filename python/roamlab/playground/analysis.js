// Stalls, slow periods, and their causes by the record: as `roamlab why` reports them (docs/metrics.md
// defines both). Limits, kinds of losses and the ranks of suspects are the Python package's: `constants.py`
// writes them as constants.

/** The table of a flow, or of the group that it is of, in the scenario. */
function flowTable(record, flow) {
  for (let name = flow; ; name = name.slice(0, name.lastIndexOf("-"))) {
    const found = record.echo.flows.find((each) => each.name === name);
    if (found || !name.includes("-")) return found ?? {};
  }
}

/** The rows of a table in which columns of names have these values. */
function rowsOf(table, wanted) {
  const tests = Object.entries(wanted).map(([name, words]) => {
    const allowed = new Uint8Array(table.spec[name].names.length);
    for (const word of [words].flat()) allowed[table.code(name, word)] = 1;
    return [table.column(name), allowed];
  });
  const found = new Int32Array(table.rows);
  let count = 0;
  rows: for (let row = 0; row < table.rows; row++) {
    for (const [column, allowed] of tests) if (!allowed[column[row]]) continue rows;
    found[count++] = row;
  }
  return found.subarray(0, count);
}

/** Arrivals of a flow: the rows of new data in order of time, and twice the smallest one-way delay in ns, 0 of none. */
function arrivalsOf(record, flow) {
  record.arrivals ??= new Map();
  if (!record.arrivals.has(flow)) {
    const { deliveries } = record.tables;
    const [fresh, time, sent] = ["fresh", "time_ns", "sent_ns"].map((name) => deliveries.column(name));
    const rows = rowsOf(deliveries, { flow });
    const least = (of) => of.reduce((delay, row) => Math.min(delay, time[row] - sent[row]), Infinity);
    const news = rows.filter((row) => fresh[row]);
    record.arrivals.set(flow, { fresh: news, trip: rows.length ? 2 * least(rows) : 0, delay: least(news) });
  }
  return record.arrivals.get(flow);
}

/** The end of a flow: when its file was there, or the end of the run. */
function endOf(record, flow) {
  const { flows } = record.tables;
  const completed = flows.column("completed_ns")[rowsOf(flows, { flow })[0]];
  return completed >= 0 ? completed : record.duration;
}

/** The rows of `packets` in which a flow's data was sent. */
function sentOf(record, flow) {
  return rowsOf(record.tables.packets, { flow, event: "send", kind: ["data", "syn", "datagram"] });
}

/** When a flow began to send data; where more than one SYN was sent, or nothing else, the first of these. */
function beginOf(record, rows) {
  const { packets } = record.tables;
  const [kind, syn, time] = [packets.column("kind"), packets.code("kind", "syn"), packets.column("time_ns")];
  const data = rows.find((row) => kind[row] !== syn);
  const opened = rows.reduce((count, row) => count + (kind[row] === syn), 0);
  return time[opened === 1 && data !== undefined ? data : rows[0]];
}

/** When a flow's data was sent, whether again, when the same was sent first, and when it arrived first. */
function sendsOf(record, rows, fresh) {
  const { packets, deliveries } = record.tables;
  const [time, again, number] = ["time_ns", "retransmission", "number"].map((name) => packets.column(name));
  const [kind, syn] = [packets.column("kind"), packets.code("kind", "syn")];
  // Each connection numbers its segments from the beginning.
  const opened = Array.from(rows.filter((row) => kind[row] === syn && !again[row]), (row) => time[row]);
  const connection = (at) => firstNot(opened.length, (place) => opened[place] <= at);
  const key = (at, seq) => connection(at) * 2 ** 40 + seq + 1;
  const first = new Map();
  const [seq, arrived, sent] = ["seq", "time_ns", "sent_ns"].map((name) => deliveries.column(name));
  for (const row of fresh) {
    // A SYN is no delivery; it had arrived when the first data of its connection did.
    for (const each of [key(sent[row], seq[row]), key(sent[row], -1)]) if (!first.has(each)) first.set(each, arrived[row]);
  }
  const begun = new Map();
  return Array.from(rows, (row) => {
    const each = key(time[row], kind[row] === syn ? -1 : number[row]);
    if (!begun.has(each)) begun.set(each, time[row]);
    return { time: time[row], again: again[row], first: begun.get(each), arrival: first.get(each) ?? Infinity };
  });
}

/** From when on a sender had data under way or sent some again; null: it had nothing to send. */
function waitingSince(sends, before, after, limit) {
  const at = (time) => firstNot(sends.length, (place) => sends[place].time < time);
  const [from, to] = [at(before), at(after)];
  const again = sends.slice(from, to).filter((each) => each.again);
  if (again.length) return Math.max(before, Math.min(...again.map((each) => each.first)));
  const waiting = sends.slice(at(before - limit), to).find((each) => each.arrival > before);
  return waiting ? Math.max(before, waiting.time) : null;
}

/** The stalls of a flow: nothing new reached it although its sender had some. */
function stallsOf(record, flow) {
  const { fresh, trip } = arrivalsOf(record, flow);
  const sent = sentOf(record, flow);
  if (!sent.length) return [];
  const time = record.tables.deliveries.column("time_ns");
  const count = fresh.length;
  const bound = (place) => (place < 0 ? beginOf(record, sent) : place < count ? time[fresh[place]] : endOf(record, flow));
  const limit = Math.max(FLOOR_NS, trip);
  const isOf = (each) => each.name === flow || flow.startsWith(`${each.name}-`);
  const sendsFile = record.echo.flows.some((each) => isOf(each) && each.app.kind === "ftp");
  const found = [];
  let sends = null;
  for (let place = 0, before = bound(-1); place <= count; place++) {
    const after = bound(place);
    if (after - before > limit) {
      const last = place === count;
      sends ??= sendsOf(record, sent, fresh);
      // A file in transfer is never idle: data that have arrived may be waiting for their acknowledgement.
      const start = sendsFile && !last ? before : waitingSince(sends, before, after, limit);
      if (start !== null && after - start > limit) found.push({ flow, start, end: after, trip, cutOff: last, isSlow: false });
    }
    before = after;
  }
  return found;
}

/** Bytes over time, from times in order. */
class Course {
  constructor(times, sizes) {
    this.times = times;
    this.whole = new Float64Array(times.length + 1);
    sizes.forEach((size, place) => (this.whole[place + 1] = this.whole[place] + size));
  }

  /** The first instants of windows of two limits in which a packet is, and those behind their last. */
  edges(limit) {
    return [this.times.map((time) => time - limit), this.times.map((time) => time + limit)];
  }

  /** Bytes per ns in each span (begin, end]; both in order. */
  rates(begins, ends) {
    let [low, high] = [0, 0];
    return begins.map((begin, place) => {
      const end = ends[place];
      while (low < this.times.length && this.times[low] <= begin) low++;
      while (high < this.times.length && this.times[high] <= end) high++;
      return (this.whole[high] - this.whole[low]) / Math.max(1, end - begin);
    });
  }
}

/** The slow periods of a file transfer or of a flow of datagrams: it gets less than half of what it did, or of what is sent. */
function slowPeriods(record, flow) {
  const { deliveries, packets, flows } = record.tables;
  const connects = ["tcp", "quic", "quinn"].includes(flows.word("kind", rowsOf(flows, { flow })[0]));
  if (connects && flowTable(record, flow).app?.kind !== "ftp") return [];
  const { fresh, delay } = arrivalsOf(record, flow);
  if (fresh.length < LEAST_PKTS) return [];
  const course = (table, rows, name, later) => {
    const [time, size] = [table.column("time_ns"), table.column(name)];
    return new Course(picked(time, rows).map((at) => at + later), picked(size, rows));
  };
  const datagrams = connects ? [] : rowsOf(packets, { flow, event: "send", kind: "datagram" });
  const sent = connects ? null : course(packets, datagrams, "wire_bytes", delay);
  return periodsOf(flow, course(deliveries, fresh, "bytes", 0), sent, Math.max(FLOOR_NS, 2 * delay), endOf(record, flow));
}

/** The different numbers of some lists, each in order, from `begin` to `end`, which are among them. */
function instants(lists, begin, end) {
  if (end < begin) return new Float64Array(0);
  const places = lists.map((list) => firstNot(list.length, (place) => list[place] <= begin));
  const found = new Float64Array(lists.reduce((sum, list) => sum + list.length, 2));
  let count = 1;
  for (let now = (found[0] = begin); now < end; found[count++] = now) {
    let next = end;
    for (let which = 0; which < lists.length; which++) {
      const list = lists[which];
      while (list[places[which]] <= now) places[which]++;
      if (list[places[which]] < next) next = list[places[which]];
    }
    now = next;
  }
  return found.subarray(0, count);
}

function periodsOf(flow, arrived, sent, limit, end) {
  const base = sent ?? arrived;
  if (!base.times.length) return [];
  const begin = base.times[0];
  const at = instants([arrived, sent].filter(Boolean).flatMap((course) => course.edges(limit)), begin, end);
  const around = [at.map((time) => Math.max(begin, time - limit)), at.map((time) => Math.min(end, time + limit))];
  const now = arrived.rates(...around);
  const before = sent ? sent.rates(...around) : arrived.rates(at.map((time) => Math.max(begin, time - BEFORE * limit)), at);
  const size = base.whole.at(-1) / base.times.length;
  before.forEach((rate, place) => {
    if ((!sent && at[place] - begin < limit) || rate * 2 * limit < LEAST_PKTS * size) before[place] = 0;
  });
  const joined = [];
  for (const span of slowSpans(at, now, before, !sent)) {
    const last = joined.at(-1);
    if (last && span.start - last.end < limit) last.end = span.end;
    else joined.push(span);
  }
  return joined
    .filter((span) => span.end - span.start > limit)
    .map(({ start, end: stop, rate }) => {
      const [of] = arrived.rates([start], [stop]);
      return { flow, start, end: stop, beforeBps: 8e9 * rate, rateBps: 8e9 * of, cutOff: stop >= end };
    });
}

/** Spans in which `now` is below half of `before`; `fixed`: of the value of `before` where the span begins. */
function slowSpans(at, now, before, fixed) {
  const found = [];
  for (let place = 0; place < at.length; place++) {
    if (!(now[place] < before[place] / 2)) continue;
    let last = place;
    while (last + 1 < at.length && now[last] < before[fixed ? place : last] / 2) last++;
    found.push({ start: at[place], end: at[last], rate: before[place] });
    place = Math.max(last, place + 1) - 1;
  }
  return found;
}

/** The stalls and the slow periods without one, longest first, with what is suspected. */
function explain(record) {
  const { flows } = record.tables;
  const names = Array.from({ length: flows.rows }, (_, row) => flows.word("flow", row));
  const found = names.flatMap((flow) => {
    const silent = stallsOf(record, flow).sort((one, other) => length(other) - length(one) || one.start - other.start);
    const slow = slowPeriods(record, flow);
    const met = silent.map((stall) => {
      const meets = slow.filter((each) => each.start < stall.end && stall.start < each.end);
      return { stall, slow: meets.sort((one, other) => length(other) - length(one))[0] ?? null };
    });
    const { trip } = arrivalsOf(record, flow);
    const alone = slow.filter((each) => !met.some((one) => one.slow === each));
    return [...met, ...alone.map((each) => ({ stall: { ...each, trip, isSlow: true }, slow: each }))];
  });
  found.sort((one, other) => one.stall.isSlow - other.stall.isSlow || length(other.stall) - length(one.stall) || one.stall.start - other.stall.start);
  const search = found.length ? new Search(record) : null;
  return found.map(({ stall, slow }, place) => {
    const suspects = search.of(stall);
    const word = stall.isSlow ? "slow period" : "stall";
    return { number: place + 1, word, stall, slow, suspects, sentences: sentences(record, stall, slow, suspects, search) };
  });
}

function length(span) {
  return span.end - span.start;
}

/** The packets of the flow that were lost in a stall or within a round trip before it. */
function lossesOf(record, stall) {
  const { drops } = record.tables;
  const early = stall.start - Math.max(stall.trip, FLOOR_NS);
  const time = drops.column("time_ns");
  return rowsOf(drops, { flow: stall.flow }).filter(
    (row) => time[row] >= early && time[row] <= stall.end && !NO_LOSS.includes(drops.word("reason", row)),
  );
}

/** The flow's retransmission timeouts in a stall, or shortly before it. */
function timeoutsOf(record, stall) {
  const { tcp } = record.tables;
  const time = tcp.column("time_ns");
  return rowsOf(tcp, { flow: stall.flow, event: "timeout" }).filter((row) => time[row] >= stall.start - SETTLE_NS && time[row] <= stall.end);
}

/** Looks in the record for what may have led to a stall. */
class Search {
  constructor(record) {
    this.record = record;
    const { causes, signalling, deliveries } = record.tables;
    const words = ["kind", "name", "place", "host", "flow"];
    const numbers = ["time_ns", "seq", "serial", "cause"];
    this.causes = Array.from({ length: causes.rows }, (_, id) => ({
      id,
      ...Object.fromEntries(words.map((name) => [name, causes.word(name, id)])),
      ...Object.fromEntries(numbers.map((name) => [name, causes.column(name)[id]])),
    }));
    const serial = signalling.column("serial");
    this.messages = new Map();
    for (let row = 0; row < signalling.rows; row++) {
      this.messages.set(serial[row], [signalling.word("message", row), signalling.word("host", row)]);
    }
    const { handovers } = record.tables;
    this.moves = Array.from({ length: handovers.rows }, (_, row) => ({
      time: handovers.column("time_ns")[row],
      visit: handovers.column("visit")[row],
      ...Object.fromEntries(["host", "phase"].map((name) => [name, handovers.word(name, row)])),
    }));
    const visits = new Map(record.network.hosts.map(({ name, visits: listed = [] }) => [name, listed]));
    const cellOf = ({ host, visit }) => visits.get(host)?.[visit]?.cell ?? "its cell";
    this.cells = new Map(this.moves.map((row) => [`${row.time} ${row.phase} ${row.host}`, cellOf(row)]));
    const [came, at] = [deliveries.column("serial"), deliveries.column("time_ns")];
    this.arrival = (wanted) => at[came.findLastIndex((each) => each === wanted)] ?? 0;
  }

  of(stall) {
    const { drops, tcp, flows } = this.record.tables;
    const [row] = rowsOf(flows, { flow: stall.flow });
    Object.assign(this, { stall, found: new Map(), hosts: [flows.word("source", row), flows.word("destination", row)] });
    const [early, near] = [stall.start - SETTLE_NS, stall.start - Math.max(stall.trip, FLOOR_NS)];
    for (const lost of lossesOf(this.record, stall)) this.walk(drops.column("cause")[lost]);
    for (const filled of [...this.found.values()].filter((each) => this.isLate(each))) this.walkAbsent(filled, near);
    for (const expired of timeoutsOf(this.record, stall)) {
      const cause = tcp.column("cause")[expired];
      this.walk(cause);
      const kind = tcp.word("timeout", expired) === "spurious" ? "spurious timeout" : "long timeout";
      const about = { name: "", place: "", host: "", flow: stall.flow, time_ns: tcp.column("time_ns")[expired], serial: 0 };
      this.note(kind, about, this.chain(cause));
    }
    for (const row of this.causes) {
      const host = this.messages.get(row.serial)?.[1] ?? row.host;
      if (early <= row.time_ns && row.time_ns <= stall.end && this.hosts.includes(host)) {
        this.forced(row);
        if (row.name === "link-down" && row.time_ns >= near) this.note("handover", row, this.chain(row.id));
      } else if (row.kind === "link-outage" && this.meets(row, near)) this.note("link outage", row, [row]);
    }
    const rank = (found) => (this.isLate(found) ? LATE : RANKS[found.kind]);
    const order = (one, other) => rank(one) - rank(other) || other.count - one.count || one.time_ns - other.time_ns;
    return [...this.found.values()].sort(order);
  }

  /** A queue that lost nothing of the flow when the stall began. */
  isLate(found) {
    return QUEUES.includes(found.kind) && found.time_ns > this.stall.start + Math.max(this.stall.trip, FLOOR_NS);
  }

  /** Suspects what took hosts away whose packets were lost at the head of a queue before it was full. */
  walkAbsent(filled, near) {
    for (const row of this.causes) {
      const lost = row.name === "detached" && row.place === filled.place;
      if (lost && near <= row.time_ns && row.time_ns <= filled.time_ns) this.walk(row.cause);
    }
  }

  /** The rows of `causes` from one to its root. */
  chain(cause) {
    const rows = [];
    for (let at = cause; at >= 0; at = rows.at(-1).cause) rows.push(this.causes[at]);
    return rows;
  }

  /** Suspects everything on the chain of a row. */
  walk(cause) {
    const chain = this.chain(cause);
    chain.forEach((row, depth) => {
      const rest = chain.slice(depth);
      if (row.kind === "loss" && row.name in LOSSES) this.note(LOSSES[row.name], row, rest);
      else if (row.kind === "loss" && row.name === "forced-loss" && row.flow === this.stall.flow) this.note("packet lost", row, rest);
      else if (row.kind === "link-change" || row.kind === "link-outage") this.note(row.kind.replace("-", " "), row, chain);
      else if (MOVES.includes(row.kind) && (row.kind !== "prediction" || this.cameTrue(row))) this.note("handover", row, chain);
      else this.forced(row, chain.slice(0, depth + 1));
    });
  }

  /** Suspects a message that a fault struck, and a prediction. */
  forced(row, chain = [row]) {
    let kind = "";
    if (row.kind === "loss" && this.messages.has(row.serial)) {
      kind = LOSSES[row.name] ?? (row.name === "forced-loss" ? "message lost" : "");
    } else if (row.kind === "delayed-message") kind = "message late";
    else if (row.kind === "prediction" && !this.cameTrue(row)) kind = "wrong prediction";
    if (kind) this.note(kind, row, chain);
  }

  /** An outage of a recorded link on the flow's way is not over before the stall. */
  meets(outage, near) {
    if (outage.time_ns > this.stall.end) return false;
    if (outage.flow !== this.stall.flow && !this.isNear(outage.place)) return false;
    return outage.time_ns >= near || this.arrival(outage.serial) > this.stall.start;
  }

  /** The place is the air of a cell that a host at the flow's ends visits, or that host's uplink. */
  isNear(place) {
    const own = this.record.network.hosts.filter((host) => this.hosts.includes(host.name));
    const cells = own.flatMap((host) => (host.visits ?? []).map((visit) => visit.cell));
    return cells.includes(place.split("/")[0]) || this.hosts.includes(place.split("->")[0]);
  }

  /** The host left its cell soon after it was predicted to. */
  cameTrue(prediction) {
    const at = prediction.time_ns;
    return this.causes.some(
      (row) => row.name === "link-down" && row.host === prediction.host && at <= row.time_ns && row.time_ns < at + SETTLE_NS,
    );
  }

  note(kind, row, chain) {
    const single = MESSAGES.includes(kind);
    const key = JSON.stringify([kind, row.place, row.host, single ? row.serial : ""]);
    if (!this.found.has(key)) {
      const { name, place, host, flow, time_ns, serial } = row;
      this.found.set(key, { kind, name, place, host, flow, time_ns, serial, chain, count: 0 });
    }
    const found = this.found.get(key);
    found.count++;
    if (single && this.messages.has(found.serial)) [found.name, found.host] = this.messages.get(found.serial);
  }
}

/** The chain of a stall: what the receiver saw, the sender's timer, the losses, and what led to them. */
function sentences(record, stall, slow, suspects, search) {
  const { flows, tcp, drops } = record.tables;
  const receiver = flows.word("destination", rowsOf(flows, { flow: stall.flow })[0]);
  const span = (of) => `${seconds(of.start, 3)} to ${seconds(of.end, 3)} s${of.cutOff ? ", the end of the run" : ""}`;
  const told = [];
  if (!stall.isSlow) told.push(`${receiver} received nothing new of ${stall.flow} for ${seconds(length(stall), 3)} s, ${span(stall)}`);
  if (slow) {
    const [rate, before] = [slow.rateBps, slow.beforeBps].map((bps) => general(bps / 1e6, 3));
    told.push(`${receiver} received less than half of ${stall.flow} for ${seconds(length(slow), 3)} s, ${span(slow)}: ${rate} instead of ${before} Mbit/s`);
  }
  const expired = timeoutsOf(record, stall);
  if (expired.length) {
    const at = Array.from(expired, (row) => `${seconds(tcp.column("time_ns")[row], 3)} s (${tcp.word("timeout", row)})`);
    told.push(`the retransmission timer expired at ${at.join(", ")}; RTO then ${general(tcp.column("rto_ns")[expired.at(-1)] / 1e9, 3)} s`);
  }
  const waited = waitOf(record, stall, search);
  if (waited) {
    const what = waited.isLink ? `the link ${waited.where} was up again` : `${waited.where} was in a cell again`;
    const later = `the retransmission timer expired ${seconds(waited.expired - waited.back, 3)} s later`;
    told.push(`${what} at ${seconds(waited.back, 3)} s, and ${later}: this part of the stall is the timer's`);
  }
  const groups = new Map();
  for (const row of lossesOf(record, stall)) {
    const what = `${drops.word("place", row)}: ${drops.word("reason", row)}`;
    groups.set(what, [...(groups.get(what) ?? []), row]);
  }
  for (const [what, rows] of [...groups].sort(([, one], [, other]) => other.length - one.length)) {
    const times = rows.map((row) => drops.column("time_ns")[row]);
    const [first, last] = [Math.min(...times), Math.max(...times)].map((time) => seconds(time, 3));
    const packets = rows.length === 1 ? "1 packet of it was" : `${rows.length} packets of it were`;
    told.push(`${packets} lost at ${what}, ${first === last ? `at ${first}` : `${first} to ${last}`} s`);
  }
  const dropped = suspects.filter((each) => each.kind === "early drop").map((each) => each.time_ns);
  told.push(...earlySentences(record, stall, Math.min(stall.start - Math.max(stall.trip, FLOOR_NS), ...dropped)));
  if (!suspects.length) return [...told, "the record names nothing that led to it"];
  const [first] = suspects;
  told.push(`suspected first: ${named(first)}, ${seconds(first.time_ns, 3)} s`);
  const steps = first.chain.filter((row) => row.time_ns <= stall.end).map((row) => `because ${stepOf(search, row)}`);
  return [...told, ...steps.filter((step, place) => step !== steps[place - 1])];
}

/** A row of `causes` in plain English: what happened, when, and of a loss why. */
function stepOf({ messages, cells }, row) {
  const { kind, name, host, flow, time_ns: time } = row;
  const at = (phase) => cells.get(`${time} ${phase} ${host}`);
  let what = kind === "phase" && name in STEPS ? name : kind;
  if (kind === "motion") what = ["link-down", "link-up"].find(at) ?? kind;
  const [message] = messages.get(row.serial) ?? [];
  const packet = message ? `the message ${message}` : flow ? `a packet of ${flow}` : "a packet";
  const values = { ...row, packet, cell: at(what) ?? "its cell" };
  const template = host ? STEPS[what] : STEPS[what].replace(" for {host}", "");
  const said = template.replace(/\{(\w+)\}/g, (_, key) => values[key]);
  return `${said} at ${seconds(time, 3)} s${kind === "loss" ? `: ${REASONS[name]}` : ""}`;
}

/** Part of a stall that was due to the timer: the path was back, and the sender sent nothing before its timer expired; null: nothing. */
function waitOf(record, stall, { hosts, moves }) {
  const { tcp, drops, packets } = record.tables;
  const last = Array.from(timeoutsOf(record, stall), (row) => tcp.column("time_ns")[row]).findLast((time) => time > stall.start);
  if (stall.isSlow || last === undefined) return null;
  const found = moves.filter((row) => row.phase === "link-up" && hosts.includes(row.host) && row.time > stall.start);
  const back = found.map(({ time, host }) => ({ back: time, where: host, isLink: false }));
  const lost = new Map();
  for (const row of lossesOf(record, stall)) {
    if (drops.word("reason", row) === "link-down") lost.set(drops.word("place", row), drops.column("time_ns")[row]);
  }
  for (const [where, time] of lost) {
    for (const { between, changes = [] } of record.network.links ?? []) {
      if (![between.join("->"), [...between].reverse().join("->")].includes(where)) continue;
      const up = changes.filter((each) => each.up).map((each) => nanoseconds(each.at));
      const next = up.filter((at) => at > time).sort((one, other) => one - other)[0];
      if (next !== undefined) back.push({ back: next, where, isLink: true });
    }
  }
  const before = back.filter((each) => each.back < last);
  if (!before.length) return null;
  const order = (one, other) => one.back - other.back || (one.where < other.where ? -1 : 1);
  const latest = before.sort(order).at(-1);
  const time = packets.column("time_ns");
  if (sentOf(record, stall.flow).some((row) => time[row] >= latest.back && time[row] < last)) return null;
  return { ...latest, expired: last };
}

/** A sentence for each queue that dropped packets of the flow early, or that marked some in a slow period. */
function earlySentences(record, stall, begin) {
  const { drops, packets } = record.tables;
  const within = (table, rows) => rows.filter((row) => table.column("time_ns")[row] >= begin && table.column("time_ns")[row] <= stall.end);
  const dropped = within(drops, rowsOf(drops, { flow: stall.flow, reason: "early-drop" }));
  const told = sentencesOfQueues(record, "dropped", drops, dropped);
  if (!stall.isSlow) return told;
  const [serial, seen] = [packets.column("serial"), new Set()];
  const first = rowsOf(packets, { flow: stall.flow, event: "mark" }).filter((row) => !seen.has(serial[row]) && seen.add(serial[row]));
  return [...told, ...sentencesOfQueues(record, "marked", packets, within(packets, first))];
}

function sentencesOfQueues(record, verb, table, rows) {
  const times = new Map();
  for (const row of rows) {
    const place = table.word("place", row);
    times.set(place, [...(times.get(place) ?? []), table.column("time_ns")[row]]);
  }
  return [...times].sort(([one], [other]) => (one < other ? -1 : 1)).map(([place, at]) => {
    const [spec, first] = [queueSpec(record.network, place), Math.min(...at)];
    const kind = spec.kind ?? "the queue";
    const [title, parts] = DISCIPLINES[kind] ?? [kind, []];
    const gauges = gaugesAt(record, place, first);
    const why = gauges ? filled([...parts, WAITING], { ...spec, ...gauges }).join(", ") : `write "${place}" into \`record.queues\` to see why`;
    return `${title} at ${place} ${verb} ${at.length} packet${at.length === 1 ? "" : "s"} of it early, at ${seconds(first, 3)} s first: ${why}`;
  });
}

/** The parts with their values, without those that lack one. "0 pkt" is a threshold that RED derives from the link. */
function filled(parts, values) {
  const lacks = (name) => name !== "packets" && (values[name] ?? "0 pkt") === "0 pkt";
  const complete = parts.filter((part) => !Array.from(part.matchAll(/\{(\w+)\}/g), ([, name]) => name).some(lacks));
  return complete.map((part) => part.replace(/\{(\w+)\}/g, (_, name) => values[name]));
}

/** The gauges of a queue at a time, with units; null: it is not recorded. */
function gaugesAt(record, place, time) {
  const { queue } = record.tables;
  if (!queue.spec.queue.names.includes(place)) return null;
  const row = rowsOf(queue, { queue: place }).findLast((each) => queue.column("time_ns")[each] <= time);
  if (row === undefined) return null;
  const [packets, average, probability, coupled, sojourn] = ["packets", "average", "probability", "coupled", "sojourn_ns"].map(
    (name) => queue.column(name)[row],
  );
  return {
    packets: String(packets),
    average: hundredths(average),
    probability: `${hundredths(100 * probability)} %`,
    coupled: `${hundredths(100 * coupled)} %`,
    sojourn_ns: `${hundredths(sojourn / 1e6)} ms`,
  };
}

/** Two decimals, rounded as in Python. */
function hundredths(value) {
  const number = Math.floor(100 * value + 0.5);
  return `${Math.floor(number / 100)}.${String(number % 100).padStart(2, "0")}`;
}

/** The queue of a link, cell or bearer in an expanded scenario; empty: there is none of this name. */
function queueSpec(network, place) {
  const cells = network.cells ?? {};
  const [cell, air, host] = place.split("/");
  if (air) {
    const { queue = {}, bearers = {} } = cells[cell] ?? {};
    return host === undefined ? queue : (bearers.hosts?.[host]?.queue ?? bearers.queue ?? {});
  }
  const common = network.network;
  const ends = place.split("->");
  for (const { between, queue, reverse_queue: back } of network.links ?? []) {
    if (between.join("->") === place) return queue ?? common.queue;
    if ([...between].reverse().join("->") === place) return back ?? common.queue;
  }
  for (const [name, { router, backhaul }] of Object.entries(cells)) {
    if (ends[0] === router && ends[1] === name) return backhaul.queue ?? common.queue;
    if (ends[0] === name && ends[1] === router) return backhaul.reverse_queue ?? common.queue;
  }
  return common.uplink_queue;
}

/** A suspect: its kind, the message, the host and the place, each if it adds information. */
function named({ kind, name, host, place }) {
  const subject = MESSAGES.includes(kind) && name ? `${kind}: ${name}` : kind;
  const whose = host && !Object.values(LOSSES).includes(kind) ? ` of ${host}` : "";
  return `${subject}${whose}${place && place !== host ? ` at ${place}` : ""}`;
}

/** A number with this number of digits and no zeros at the end. */
function general(value, digits) {
  const [mantissa, power] = value.toExponential(digits - 1).split("e").map(Number);
  if (value === 0 || (power >= -4 && power < digits)) return String(Number(value.toPrecision(digits)));
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
