// The moving picture of the README, from the record of a run: `make picture` writes docs/img/handover.svg.
//   node handover.js ENGINE PACKAGE SCENARIO [FIELD VALUE] > handover.svg
// Each hop of a packet is an element with its animation. With reduced motion a browser shows one instant.

const { readFileSync } = require("node:fs");
const vm = require("node:vm");

const [engineFolder, packageFolder, scenario, field, value] = process.argv.slice(2);
const sources = [
  `${engineFolder}/roamlab_wasm.js`,
  ...["explorer/model.js", "playground/worker/engine.js", "playground/worker/facts.js", "playground/film.js"].map((name) => `${packageFolder}/${name}`),
];
vm.runInThisContext(sources.map((name) => readFileSync(name, "utf8")).join("\n"));
globalThis.bytes = readFileSync(`${engineFolder}/roamlab_wasm_bg.wasm`);
const engine = vm.runInThisContext("new Engine(new WebAssembly.Module(bytes))");
const { wasm_bindgen, recordOf, filmOf, PACKET, FATE } = vm.runInThisContext("({ wasm_bindgen, recordOf, filmOf, PACKET, FATE })");

const [WIDTH, HEIGHT] = [760, 320];
const [LEFT, RIGHT, TOP, BOTTOM] = [60, 700, 44, 250];
/** How much slower the picture is than the run. */
const SLOWER = 6;
/** In s of the run: before the host leaves, after data comes again, and how long a lost packet is shown. */
const [BEFORE, AFTER, LOST] = [0.06, 0.3, 0.09];
/** Per cent: behind it there is a place for what ends with the picture. */
const [LAST, SHORT] = [99.98, 0.01];
const CLASSES = { [PACKET.data]: "data", [PACKET.ack]: "ack", [PACKET.again]: "again", [PACKET.forwarded]: "forwarded", [PACKET.signal]: "signal" };
const STYLE = `
svg{--ground:#fff;--ink:#1b1f24;--quiet:#57606a;--line:#c4cbd3;--data:#0072b2;--ack:#009e73;--again:#b8409a;--forwarded:#e69f00;--lost:#c00020}
@media(prefers-color-scheme:dark){svg{--ground:#14181d;--ink:#e8ebee;--quiet:#a4adb7;--line:#4b5560;--data:#58b4ea;--ack:#3fd0a4;--again:#e58cc9;--forwarded:#f0b53a;--lost:#ff6b7d}}
.ground{fill:var(--ground)}text{font:13px 'DejaVu Sans',Verdana,sans-serif;fill:var(--ink);text-anchor:middle}
.small{font-size:11px;fill:var(--quiet)}.story{font-size:15px}.wire{stroke:var(--line);stroke-width:1.5}
.air{stroke:var(--data);stroke-width:1.5;stroke-dasharray:3 4}.node{fill:var(--ground);stroke:var(--ink);stroke-width:2}
.cell{stroke:var(--data)}.host{fill:var(--ink)}.data{fill:var(--data)}.ack{fill:var(--ack)}.again{fill:var(--again)}
.forwarded{fill:var(--forwarded)}.signal{fill:var(--quiet)}.lost{stroke:var(--lost);stroke-width:2;fill:none}
.p,.s{opacity:0}.p,.s,.m{animation:TIME linear infinite}
@media(prefers-reduced-motion:reduce){.p,.s,.m{animation-play-state:paused;animation-delay:-STILL}}`;

function main() {
  const text = readFileSync(scenario, "utf8");
  const checked = engine.check(field ? wasm_bindgen.set(text, field.split("."), JSON.stringify(value)) : text, scenario);
  checked.recordPackets(true);
  const record = recordOf(checked, 1, 0, checked.duration, engine.run(checked, { seed: 1 }));
  const [{ stall }] = record.explain().told;
  const film = filmOf(record);
  const { handovers } = record.tables;
  const when = (phase) => handovers.column("time_ns")[handovers.where((row) => handovers.word("phase", row) === phase && handovers.column("visit")[row] >= (phase === "link-up"))[0]];
  const [leaves, enters] = [when("link-down"), when("link-up")];
  const [begin, end] = [leaves - BEFORE * 1e9, stall.end_ns + AFTER * 1e9];
  const drawing = new Drawing(film, begin, end);
  const s = (time) => `${(time / 1e9).toFixed(2)} s`;
  const lost = film.hops.fate.reduce((count, fate, row) => count + (fate === FATE.lost && film.hops.end[row] >= leaves && film.hops.end[row] <= stall.end_ns), 0);
  drawing.story([
    [begin, leaves, `A phone downloads a file`],
    [leaves, enters, `${s(leaves)}: it leaves its cell. The base station keeps what it has room for`],
    [enters, enters + 1.5e8, `${s(enters)}: it is in the next cell. ${lost} packets are lost (×), the kept ones are forwarded`],
    [enters + 1.5e8, stall.end_ns, `Nothing new arrives: the sender waits for its retransmission timer`],
    [stall.end_ns, end, `${s(stall.end_ns)}: the timer has expired. The stall took ${s(stall.end_ns - stall.start_ns)}`],
  ]);
  process.stdout.write(drawing.svg(leaves, enters, lost));
}

class Drawing {
  constructor(film, begin, end) {
    Object.assign(this, { film, begin, end, rules: [], parts: [] });
  }

  /** When in the picture's turn an instant is, in per cent. */
  share(time) {
    const share = (100 * (time - this.begin)) / (this.end - this.begin);
    return Number(Math.min(LAST, Math.max(0, share)).toFixed(3));
  }

  place({ x, y }) {
    return [LEFT + x * (RIGHT - LEFT), TOP + y * (BOTTOM - TOP)];
  }

  /** Texts, each in its time. */
  story(parts) {
    parts.forEach(([from, to, words], number) => {
      const [first, last] = [this.share(from), this.share(to)];
      this.rules.push(`@keyframes t${number}{0%,${first}%{opacity:0}${percent(first + SHORT)},${percent(last - SHORT)}{opacity:1}${last}%,to{opacity:0}}`);
      this.parts.push(`<text class="s story" x="${WIDTH / 2}" y="30" style="animation-name:t${number}">${words}</text>`);
    });
  }

  svg(leaves, enters, lost) {
    const { film } = this;
    const places = film.nodes.map((node) => this.place(node));
    const number = (name) => film.nodes.findIndex((node) => node.name === name);
    const host = number(film.hosts[0].name);
    const cells = film.hosts[0].visits.map(({ cell }) => number(cell));
    const spots = cells.map((cell) => [RIGHT, places[cell][1]]);
    const wires = film.links.map(([from, to]) => line("wire", places[from], places[to]));
    this.move(host, spots, leaves, enters);
    this.hops(places, host, cells, spots);
    const took = (from, to) => `${(((to - from) / 1e9) * SLOWER).toFixed(2)}s`;
    const nodes = film.nodes.map((node, at) => (at === host ? "" : shape(node, places[at])));
    const axis = this.axis();
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title"><title id="title">A phone changes cells during a download: ${lost} packets are lost, and the download stalls until the sender's retransmission timer expires</title>
<style>${STYLE.replace("TIME", took(this.begin, this.end)).replace("STILL", took(this.begin, enters + 1e7))}
${this.rules.join("\n")}</style>
<rect class="ground" width="${WIDTH}" height="${HEIGHT}" rx="6"/>
${wires.join("")}${nodes.join("")}
${this.parts.join("\n")}
${axis}
</svg>
`;
  }

  /** The host goes from one cell to the next; between them it has none. */
  move(host, [[right, from], [, to]], leaves, enters) {
    const [gone, there] = [this.share(leaves), this.share(enters)];
    this.rules.push(`@keyframes host{0%,${gone}%{transform:translateY(0)}${there}%,to{transform:translateY(${(to - from).toFixed(1)}px)}}`);
    this.rules.push(`@keyframes air{0%,${gone}%{opacity:1}${percent(gone + SHORT)},${there}%{opacity:0}${percent(there + SHORT)},to{opacity:1}}`);
    const cell = this.film.nodes.find((node) => node.kind === "cell");
    const reach = this.place(cell)[0] - right;
    this.parts.push(
      `<g class="m" style="animation-name:host"><line class="air m" x1="${right}" y1="${from}" x2="${right + reach}" y2="${from}" style="animation-name:air"/>` +
        `<rect class="host" x="${right - 6}" y="${from - 10}" width="12" height="20" rx="2"/><text x="${right}" y="${from + 26}">${this.film.nodes[host].name}</text></g>`,
    );
  }

  /** Packets: each waits, travels and continues, or is lost. */
  hops(places, host, [before, after], spots) {
    const { hops } = this.film;
    const queued = new Map();
    let count = 0;
    for (let row = 0; row < hops.count; row++) {
      const { [row]: end } = hops.end;
      const isLost = hops.fate[row] === FATE.lost;
      const gone = end + (isLost ? LOST * 1e9 : 0);
      if (gone < this.begin || hops.begin[row] > this.end || hops.kind[row] === PACKET.signal) continue;
      const at = (node, other) => (node === host ? spots[other === after ? 1 : 0] : places[node]);
      const [from, to] = [at(hops.from[row], hops.to[row]), at(hops.to[row], hops.from[row])];
      const [start, stop] = [aside(from, to, 0), aside(from, to, 1)];
      const spot = isLost && end >= hops.arrive[row] ? [...stop] : start;
      // Those that wait at one node are drawn next to each other.
      if (isLost || hops.go[row] - hops.begin[row] > 2e6) {
        const key = spot === start ? hops.from[row] : hops.to[row];
        const place = queued.get(key) ?? 0;
        queued.set(key, place + 1);
        spot[0] += 4 * (place % 12) - 24;
        spot[1] -= 14 + 5 * (Math.floor(place / 12) % 2);
      }
      const name = `p${count++}`;
      const [begin, go, arrive, last] = [hops.begin[row], hops.go[row], Math.min(hops.arrive[row], end), end].map((time) => this.share(time));
      this.rules.push(isLost ? this.fall(name, spot, last, this.share(gone)) : this.travel(name, start, go < arrive ? stop : start, [begin, go, arrive, last]));
      this.parts.push(isLost ? `<path class="p lost" d="M-4-4L4 4M-4 4L4-4" style="animation-name:${name}"/>` : `<circle class="p ${CLASSES[hops.kind[row]]}" r="${hops.kind[row] === PACKET.ack ? 2 : 3}" style="animation-name:${name}"/>`);
    }
  }

  travel(name, from, to, [begin, go, arrive, end]) {
    const on = begin + SHORT;
    const [leaves, there, last] = [Math.max(on, go), Math.max(on, arrive), Math.max(on, end)];
    return `@keyframes ${name}{0%,${begin}%{opacity:0;transform:${shift(from)}}${percent(on)}{opacity:1}${percent(leaves)}{transform:${shift(from)}}${percent(there)}{transform:${shift(to)}}${percent(last)}{opacity:1;transform:${shift(to)}}${percent(last + SHORT)},to{opacity:0;transform:${shift(to)}}}`;
  }

  /** Lost packets fall from their place. */
  fall(name, [right, down], at, gone) {
    return `@keyframes ${name}{0%,${at}%{opacity:0;transform:${shift([right, down])}}${percent(at + SHORT)}{opacity:1}${percent(Math.max(gone, at + SHORT))},to{opacity:0;transform:${shift([right, down + 34])}}}`;
  }

  /** The time of the run, and where the picture is. */
  axis() {
    const y = HEIGHT - 38;
    const x = (time) => LEFT + ((time - this.begin) / (this.end - this.begin)) * (RIGHT - LEFT);
    this.rules.push(`@keyframes now{0%{transform:translateX(0)}to{transform:translateX(${RIGHT - LEFT}px)}}`);
    const marks = [];
    for (let tenth = Math.ceil(this.begin / 2e8); tenth * 2e8 <= this.end; tenth++) {
      const at = x(tenth * 2e8).toFixed(1);
      marks.push(`<path class="wire" d="M${at} ${y}v5"/><text class="small" x="${at}" y="${y + 18}">${(tenth / 5).toFixed(1)} s</text>`);
    }
    return `<path class="wire" d="M${LEFT} ${y}H${RIGHT}"/>${marks.join("")}<path class="host m" d="M${LEFT} ${y}l-5-9h10z" style="animation-name:now"/>
<text class="small" x="${WIDTH / 2}" y="${HEIGHT - 4}">a simulated run, ${SLOWER} times slower: data blue, forwarded orange, sent again pink, acknowledgements green</text>`;
  }
}

function shape({ name, kind }, [right, down]) {
  const drawn = kind === "cell" ? `<path class="node cell" d="M${right} ${down - 9}l9 16h-18z"/>` : `<circle class="node" cx="${right}" cy="${down}" r="8"/>`;
  return `${drawn}<text x="${right}" y="${down + 26}">${name}</text>`;
}

function line(kind, [fromRight, fromDown], [toRight, toDown]) {
  return `<path class="${kind}" d="M${fromRight} ${fromDown}L${toRight} ${toDown}"/>`;
}

/** A place on the way from one point to another, to the right of it. */
function aside(from, to, share) {
  const [across, along] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(across, along) || 1;
  return [from[0] + share * across - (4 * along) / length, from[1] + share * along + (4 * across) / length];
}

function percent(share) {
  return `${Number(share.toFixed(3))}%`;
}

function shift([right, down]) {
  return `translate(${Number(right.toFixed(1))}px,${Number(down.toFixed(1))}px)`;
}

main();
