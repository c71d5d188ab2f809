// Messages between nodes, in the time of all lanes.

/** Signalling as a sequence chart: a line for each node, a slope for each message. */
class SignallingLane extends Lane {
  constructor(run) {
    super(run, {
      name: "Signalling",
      unit: "",
      height: 26 * run.nodes.length + 14,
      key: [["line", "link", "about a host"], ["line", "line2", "about no host (when zoomed in)"], ["cross", "lost", "lost"]],
      about: `${run.tables.signalling.rows} messages between ${run.nodes.join(", ")}`,
    });
    const { signalling, drops } = run.tables;
    const serials = signalling.column("serial");
    const lost = new Map();
    const serial = drops.column("serial");
    for (let row = 0; row < drops.rows; row++) lost.set(serial[row], drops.column("time_ns")[row]);
    const place = (word) => run.nodes.indexOf(word);
    const rowOf = Object.fromEntries(
      ["source", "destination"].map((name) => [name, signalling.spec[name].names.map(place)]),
    );
    const [sent, arrived] = ["sent_ns", "arrived_ns"].map((name) => signalling.column(name));
    const [from, to, host] = ["source", "destination", "host"].map((name) => signalling.column(name));
    const none = signalling.code("host", "");
    this.messages = Array.from({ length: signalling.rows }, (_, row) => {
      const source = rowOf.source[from[row]];
      const known = rowOf.destination[to[row]];
      const gone = arrived[row] < 0 ? lost.get(serials[row]) : undefined;
      const end = arrived[row] >= 0 ? arrived[row] : (gone ?? sent[row]);
      const destination = known < 0 ? source : known;
      return { row, begin: sent[row], end, source, destination, lost: gone !== undefined, hostless: host[row] === none };
    }).sort((one, other) => one.begin - other.begin);
    this.longest = this.messages.reduce((most, each) => Math.max(most, each.end - each.begin), 0);
  }

  line(node) {
    return 12 + 26 * node;
  }

  paint(x, _, theme) {
    const { pen } = this;
    pen.font = theme.font;
    pen.lineWidth = 1;
    pen.strokeStyle = theme.line;
    for (let node = 0; node < this.run.nodes.length; node++) {
      const down = this.line(node) + 0.5;
      pen.beginPath();
      pen.moveTo(x.left, down);
      pen.lineTo(x.left + x.width, down);
      pen.stroke();
    }
    const drawn = new Set();
    const free = new Map();
    const seen = [...this.visible(x)];
    const hostless = seen.filter((each) => each.hostless);
    // Beacons of a whole run would be a grey ground.
    if (hostless.length <= x.width / 4) for (const each of hostless) this.message(each, x, theme, drawn, free);
    for (const each of seen) if (!each.hostless) this.message(each, x, theme, drawn, free);
  }

  draw(x, limits, theme) {
    super.draw(x, limits, theme);
    this.pen.fillStyle = theme.quiet;
    this.pen.textAlign = "right";
    this.pen.textBaseline = "middle";
    this.run.nodes.forEach((node, row) => {
      this.pen.fillText(node === "*" ? "all" : node, x.left - 5, this.line(row), x.left - 6);
    });
  }

  *visible(x) {
    const begin = x.begin - this.longest;
    let low = firstNot(this.messages.length, (at) => this.messages[at].begin < begin);
    for (; low < this.messages.length && this.messages[low].begin <= x.end; low++) yield this.messages[low];
  }

  message(each, x, theme, drawn, free) {
    const { pen } = this;
    const [from, to] = [x.pixel(each.begin), x.pixel(each.end)];
    // Messages between the same nodes within one pixel are one line.
    const same = `${Math.round(from)} ${each.source} ${each.destination} ${each.hostless}`;
    if (drawn.has(same)) return;
    drawn.add(same);
    const [up, down] = [this.line(each.source), this.line(each.destination)];
    const stop = each.lost ? (up + down) / 2 : down;
    const colour = each.hostless ? theme.line2 : theme.link;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(from, up);
    pen.lineTo(to, stop);
    pen.stroke();
    if (each.lost) {
      pen.strokeStyle = theme.lost;
      pen.lineWidth = 1.8;
      pen.translate(to, stop);
      pen.stroke(SHAPES.cross.drawn);
      pen.translate(-to, -stop);
      pen.lineWidth = 1;
    } else {
      pen.fillRect(to - 1.5, stop - 1.5, 3, 3);
    }
    if (each.hostless) return;
    const words = this.run.tables.signalling.word("message", each.row);
    const above = Math.min(up, stop);
    const place = Math.max((from + to) / 2 + 4, free.get(above) ?? -Infinity);
    if (place > (from + to) / 2 + 40) return;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillStyle = theme.quiet;
    pen.fillText(words, place, above + 13);
    free.set(above, place + pen.measureText(words).width + 8);
  }

  at(time) {
    const { signalling } = this.run.tables;
    const under = [];
    for (const each of this.messages) {
      if (each.begin > time) break;
      if (each.end >= time && !each.hostless) under.push(signalling.word("message", each.row));
    }
    return under.length ? `under way: ${under.slice(0, 3).join(", ")}` : "";
  }

  hit(right, down, x) {
    let best = null;
    for (const each of this.visible(x)) {
      const distance = distanceTo(
        [right, down],
        [x.pixel(each.begin), this.line(each.source)],
        [x.pixel(each.end), this.line(each.destination)],
      );
      if (distance < 7 && distance < (best?.distance ?? Infinity)) best = { distance, row: each.row };
    }
    if (!best) return null;
    const { signalling } = this.run.tables;
    const host = signalling.word("host", best.row);
    const title = `${signalling.word("message", best.row)}${host ? ` of ${host}` : ""}`;
    const way = this.run.way(signalling.column("serial")[best.row]);
    const size = `${signalling.column("size_bytes")[best.row]} B`;
    return { title, rows: [size, ...way.map((step) => `${seconds(step.time)} s: ${step.text}`)] };
  }
}

/** How far a point is from a line between two points. */
function distanceTo([right, down], [fromRight, fromDown], [toRight, toDown]) {
  const [across, along] = [toRight - fromRight, toDown - fromDown];
  const length = across * across + along * along || 1;
  const share = Math.max(0, Math.min(1, ((right - fromRight) * across + (down - fromDown) * along) / length));
  return Math.hypot(right - fromRight - share * across, down - fromDown - share * along);
}
