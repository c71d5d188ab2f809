// The film on a canvas: packets as dots that travel, wait, are forwarded and are lost. It moves only when it is asked to.

const SPEEDS = [0.01, 0.03, 0.1, 0.3, 1];
const COLOURS = { [PACKET.data]: "link", [PACKET.ack]: "ack", [PACKET.again]: "again", [PACKET.forwarded]: "forwarded", [PACKET.signal]: "warn" };
/** Time for which lost packets stay in the picture, in s of real time. */
const LOST_S = 0.5;
const ROW = 12;
/** Pixels from one host to the next below it, with the name of the first between them. */
const LABELLED = 34;

class Player {
  /** `moved(time)` is called when the film is at another time. */
  constructor(root, moved) {
    const find = (name) => root.querySelector(`[data-film=${name}]`);
    Object.assign(this, { root, moved, canvas: find("canvas"), seek: find("seek"), clock: find("clock"), button: find("play"), speed: find("speed"), left: find("left") });
    this.pen = this.canvas.getContext("2d");
    this.time = 0;
    this.film = null;
    this.playing = false;
    this.button.addEventListener("click", () => this.play(!this.playing));
    find("back").addEventListener("click", () => this.step(-1));
    find("step").addEventListener("click", () => this.step(1));
    this.seek.addEventListener("input", () => this.show(Number(this.seek.value) * 1e6));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** Another film; null: none yet. */
  set(film, theme) {
    this.film = film;
    this.theme = theme;
    this.root.dataset.ready = film ? "yes" : "no";
    this.left.textContent = film?.left ? `the ${film.nodes.length} nodes that most packets pass` : "";
    this.draw();
  }

  /** The span that the slider goes over. */
  span(begin, end) {
    Object.assign(this.seek, { min: Math.floor(begin / 1e6), max: Math.ceil(end / 1e6) });
    [this.begin, this.end] = [begin, end];
    if (!this.playing && (this.time < begin || this.time > end)) this.show(begin);
    else this.tell();
  }

  show(time) {
    this.time = Math.min(this.end, Math.max(this.begin, time));
    this.tell();
    this.draw();
    this.moved(this.time);
  }

  tell() {
    const value = String(Math.round(this.time / 1e6));
    if (this.seek.value !== value) this.seek.value = value;
    const words = `${seconds(this.time, 3)} s`;
    if (this.clock.textContent !== words) this.clock.textContent = words;
    this.seek.setAttribute("aria-valuetext", words);
  }

  play(on) {
    if (on && this.time >= this.end) this.time = this.begin;
    this.playing = on;
    this.button.textContent = on ? "Pause" : "Play";
    this.last = null;
    if (on) this.frame = requestAnimationFrame((now) => this.advance(now));
    else cancelAnimationFrame(this.frame);
  }

  advance(now) {
    if (!this.playing) return;
    const elapsed = this.last === null ? 0 : Math.min(100, now - this.last);
    this.last = now;
    this.show(this.time + elapsed * 1e6 * SPEEDS[this.speed.value]);
    if (this.time >= this.end) this.play(false);
    else this.frame = requestAnimationFrame((then) => this.advance(then));
  }

  /** To the next time at which something begins, goes or arrives, or to the one before. */
  step(way) {
    this.play(false);
    if (!this.film) return;
    const { hops } = this.film;
    let best = way > 0 ? this.end : this.begin;
    for (const row of this.near(this.time - 5e8, this.time + 5e8)) {
      for (const at of [hops.begin[row], hops.go[row], hops.arrive[row]]) {
        if (way > 0 ? at > this.time && at < best : at < this.time && at > best) best = at;
      }
    }
    this.show(best);
  }

  /** The hops that may be in the picture from one time to another. */
  *near(begin, end) {
    const { hops } = this.film;
    for (let row = firstNot(hops.count, (at) => hops.begin[at] < begin - hops.longest); row < hops.count && hops.begin[row] <= end; row++) {
      if (hops.end[row] >= begin) yield row;
    }
  }

  place({ x, y }) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const side = Math.min(70, width * 0.12);
    return [side + x * (width - 2 * side), 22 + y * (height - 50)];
  }

  /** Present positions of nodes: a host next to the cell that it is in. */
  places() {
    const { nodes, hosts } = this.film;
    const cells = new Map(nodes.filter((node) => node.kind === "cell").map((node) => [node.name, node]));
    this.inside = new Map();
    const found = nodes.map((node) => {
      const host = node.kind === "host" && hosts.find((each) => each.name === node.name);
      if (!host) return this.place(node);
      const visit = host.visits.findLast((each) => each.from_ns <= this.time);
      const cell = visit && cells.get(visit.cell);
      if (cell && this.time < visit.to_ns) this.inside.set(node.name, cell);
      const [right, down] = this.place(node);
      return cell ? [right, 0.65 * this.place(cell)[1] + 0.35 * down] : [right, down];
    });
    this.spread(found.filter((_, at) => nodes[at].kind === "host"));
    // Names below cells that are near each other would lie on the next cell: they are to the left then.
    const down = found.filter((_, at) => nodes[at].kind === "cell").map((place) => place[1]).sort((one, other) => one - other);
    this.crowded = down.some((place, at) => at && place - down[at - 1] < LABELLED);
    return found;
  }

  /** Moves hosts apart that would cover each other; where they are many, their names are to the right of them. */
  spread(hosts) {
    const [top, bottom] = [this.place({ x: 0, y: 0 })[1], this.place({ x: 0, y: 1 })[1]];
    this.apart = Math.min(LABELLED, (bottom - top) / Math.max(1, hosts.length - 1));
    hosts.sort((one, other) => one[1] - other[1]);
    hosts.forEach((host, at) => (host[1] = Math.max(host[1], at ? hosts[at - 1][1] + this.apart : top)));
    hosts.forEach((host, at) => (host[1] = Math.min(host[1], bottom - (hosts.length - 1 - at) * this.apart)));
  }

  draw() {
    const { pen, film, theme } = this;
    clear(this.canvas, pen);
    if (!film) return;
    const places = this.places();
    pen.font = theme.font;
    this.drawLinks(places);
    this.drawHops(places);
    this.drawNodes(places);
  }

  drawLinks(places) {
    const { pen, theme, film } = this;
    const line = ([fromRight, fromDown], [toRight, toDown]) => {
      pen.beginPath();
      pen.moveTo(fromRight, fromDown);
      pen.lineTo(toRight, toDown);
      pen.stroke();
    };
    pen.lineWidth = 1;
    pen.strokeStyle = theme.line2;
    for (const [from, to] of film.links) line(places[from], places[to]);
    pen.setLineDash([3, 4]);
    pen.strokeStyle = theme.link;
    film.nodes.forEach((node, at) => {
      const cell = this.inside.get(node.name);
      if (cell) line(places[at], places[film.nodes.indexOf(cell)]);
    });
    pen.setLineDash([]);
  }

  drawHops(places) {
    const { pen, theme, time, film } = this;
    const { hops } = film;
    const shown = LOST_S * 1e9 * SPEEDS[this.speed.value];
    const lines = new Map();
    this.seen = { travel: 0, wait: 0, lost: 0 };
    for (const row of this.near(time - shown, time)) {
      const isLost = hops.fate[row] === FATE.lost && time >= hops.end[row];
      if (hops.begin[row] > time || (!isLost && time >= hops.end[row])) continue;
      const [from, to] = [places[hops.from[row]], places[hops.to[row]]];
      const at = isLost ? hops.end[row] : time;
      pen.fillStyle = theme[COLOURS[hops.kind[row]]];
      if (at >= hops.go[row] && at < hops.arrive[row]) {
        const share = (at - hops.go[row]) / (hops.arrive[row] - hops.go[row]);
        this.dot(beside(from, to, share, hops.kind[row] === PACKET.signal ? 0 : 4), hops.kind[row], isLost);
        this.seen[isLost ? "lost" : "travel"]++;
        continue;
      }
      // In the queue of a link next to its beginning, in a buffer above the node.
      const buffered = at >= hops.arrive[row];
      const key = buffered ? `${hops.to[row]}` : `${hops.from[row]} ${hops.to[row]}`;
      const number = lines.get(key) ?? 0;
      lines.set(key, number + 1);
      const [right, down] = buffered ? to : from;
      const lead = buffered ? [right - 3 * ROW, down - 26] : beside(from, to, Math.min(0.3, 22 / distance(from, to)), 9);
      this.dot([lead[0] + 4 * (number % ROW), lead[1] - 4 * Math.floor(number / ROW)], hops.kind[row], isLost, 1.7);
      this.seen[isLost ? "lost" : "wait"]++;
    }
  }

  dot([right, down], kind, isLost, size = 2.6) {
    const { pen, theme } = this;
    if (isLost) {
      pen.strokeStyle = theme.lost;
      pen.lineWidth = 2;
      pen.translate(right, down);
      pen.stroke(SHAPES.cross.drawn);
      pen.translate(-right, -down);
    } else if (kind === PACKET.signal) pen.fillRect(right - 4, down - 4, 8, 8);
    else {
      pen.beginPath();
      pen.arc(right, down, size, 0, 7);
      pen.fill();
    }
  }

  drawNodes(places) {
    const { pen, theme } = this;
    const half = Math.min(8, 0.35 * this.apart);
    this.film.nodes.forEach(({ name, kind }, at) => {
      const [right, down] = places[at];
      pen.lineWidth = 2;
      pen.fillStyle = kind === "host" ? theme.ink : theme.ground;
      pen.strokeStyle = kind === "cell" ? theme.link : theme.ink;
      pen.beginPath();
      if (kind === "cell") pen.moveTo(right, down - 8), pen.lineTo(right + 8, down + 6), pen.lineTo(right - 8, down + 6), pen.closePath();
      else if (kind === "host") pen.rect(right - 5, down - half, 10, 2 * half);
      else pen.arc(right, down, 7, 0, 7);
      pen.fill();
      pen.stroke();
      pen.fillStyle = theme.ink;
      pen.strokeStyle = theme.ground;
      pen.lineWidth = 3;
      const write = (align, baseline, place, ...rest) => {
        [pen.textAlign, pen.textBaseline] = [align, baseline];
        // Lines do not cross the letters.
        pen.strokeText(name, ...place, ...rest);
        pen.fillText(name, ...place, ...rest);
      };
      if (kind === "host" && this.apart < LABELLED) write("left", "middle", [right + 9, down], this.canvas.clientWidth - right - 10);
      else if (kind === "cell" && this.crowded) write("right", "middle", [right - 11, down]);
      else write("center", "top", [right, down + 11]);
    });
  }
}

function distance([fromRight, fromDown], [toRight, toDown]) {
  return Math.hypot(toRight - fromRight, toDown - fromDown) || 1;
}

/** A place on the way from one point to another, to the right of it. */
function beside(from, to, share, aside) {
  const [across, along] = [to[0] - from[0], to[1] - from[1]];
  const length = distance(from, to);
  return [from[0] + share * across - (aside * along) / length, from[1] + share * along + (aside * across) / length];
}
