// The page: lanes side by side for each run, one time for all, the pointer, the keys, and the description of
// the chosen item.

const LEFT = 52;
const RIGHT = 8;
const NAMES = ["ink", "quiet", "line", "line2", "link", "warn", "ack", "sent", "again", "forwarded", "lost", "stall", "slow", "cell1", "cell2"];

class Explorer {
  constructor(runs) {
    this.runs = runs;
    this.begin = Math.min(...runs.map((run) => run.begin_ns));
    this.end = Math.max(...runs.map((run) => run.end_ns));
    this.view = { begin: this.begin, end: this.end };
    this.cursor = null;
    this.root = document.getElementById("lanes");
    this.columns = runs.map((run) => new Column(this, run));
    this.stops = stopsOf(runs);
    this.chosen = -1;
    this.readTheme();
    this.list();
    this.listen();
    this.follow();
    this.redraw();
  }

  /** Shows the time that the address names: `#t=9.8-10.6`, in s. */
  follow() {
    const [, begin, end] = location.hash.match(/[#&]t=([0-9.]+)-([0-9.]+)$/) ?? [];
    if (Number(begin) < Number(end)) this.show(Number(begin) * 1e9, Number(end) * 1e9);
  }

  /** Writes the time shown into the address, so that it can be copied. */
  address() {
    const { begin, end } = this.view;
    const whole = begin === this.begin && end === this.end;
    const moment = whole ? location.pathname + location.search : `#t=${seconds(begin, 6)}-${seconds(end, 6)}`;
    history.replaceState(null, "", moment);
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    this.theme = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.theme.font = `11px ${style.getPropertyValue("--font")}`;
  }

  /** Draws at the next frame. */
  redraw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.draw();
    });
  }

  /** `all`: also what is scrolled out of the window. */
  draw(all = false) {
    const limits = new Map();
    for (const column of this.columns) {
      column.scale();
      for (const lane of column.lanes) {
        const range = lane.limits(column.x);
        if (!range) continue;
        const [least, most] = limits.get(lane.axis) ?? range;
        limits.set(lane.axis, [Math.min(least, range[0]), Math.max(most, range[1])]);
      }
    }
    for (const column of this.columns) column.draw(limits, this.theme, all);
    this.point();
    const { begin, end } = this.view;
    const shown = `${seconds(begin, 3)} to ${seconds(end, 3)} s of ${seconds(this.end, 3)} s`;
    document.getElementById("shown").textContent = shown;
  }

  /** The cursor's line, and the values at its time. */
  point() {
    for (const column of this.columns) column.point(this.cursor);
  }

  /** Shows from `begin` to `end`, within the run and no less than a microsecond. */
  show(begin, end) {
    const span = Math.min(this.end - this.begin, Math.max(1000, end - begin));
    const from = Math.min(this.end - span, Math.max(this.begin, begin));
    this.view = { begin: from, end: from + span };
    // Browsers refuse many changes of the address in a short time.
    clearTimeout(this.settled);
    this.settled = setTimeout(() => this.address(), 300);
    this.redraw();
  }

  zoom(factor, time = this.cursor ?? (this.view.begin + this.view.end) / 2) {
    const { begin, end } = this.view;
    this.show(time - (time - begin) * factor, time + (end - time) * factor);
  }

  pan(share) {
    const { begin, end } = this.view;
    const step = (end - begin) * share;
    this.show(begin + step, end + step);
  }

  /** Moves the cursor by a share of the time shown. */
  step(share) {
    const { begin, end } = this.view;
    const from = this.cursor ?? (begin + end) / 2;
    this.cursor = Math.min(end, Math.max(begin, from + (end - begin) * share));
    this.redraw();
  }

  /** Zooms to a stall or a handover, and tells what is known of it. */
  choose(number) {
    if (!this.stops.length) return;
    this.chosen = (number + this.stops.length) % this.stops.length;
    const { run, flow, begin, end, detail } = this.stops[this.chosen];
    if (flow) this.columns[this.runs.indexOf(run)].open(flow);
    const margin = 0.3 * (end - begin);
    this.show(begin - margin, end + margin);
    this.tell(detail);
  }

  /** Shows other runs in the place of these, whose lines stay as shadows; `keep`: the shadows that are there stay. */
  replace(runs, keep = false) {
    this.runs = runs;
    this.begin = Math.min(...runs.map((run) => run.begin_ns));
    this.end = Math.max(...runs.map((run) => run.end_ns));
    this.columns.forEach((column, place) => column.take(runs[place], keep));
    this.stops = stopsOf(runs);
    this.chosen = -1;
    this.list();
    const { begin, end } = this.view;
    if (end > this.end) this.show(begin, end);
    this.redraw();
  }

  /** The stalls and handovers: what the page is asked first. */
  list() {
    const place = document.getElementById("stops");
    place.replaceChildren();
    this.stops.forEach(({ run, kind, lead, words }, number) => {
      const button = append(append(place, "li"), "button", "", kind);
      button.type = "button";
      append(button, "b", lead);
      button.append(` ${this.runs.length > 1 ? `${run.name}: ` : ""}${words}`);
      button.addEventListener("click", () => this.choose(number));
    });
  }

  tell(detail) {
    const place = document.getElementById("detail");
    place.replaceChildren();
    place.hidden = !detail;
    if (!detail) return;
    const head = append(place, "header");
    append(head, "h2", detail.title);
    const close = append(head, "button", "Close");
    close.type = "button";
    close.addEventListener("click", () => this.tell(null));
    const rows = append(place, "ol");
    for (const row of detail.rows) append(rows, "li", row);
  }

  listen() {
    for (const [id, act] of Object.entries(this.acts())) document.getElementById(id).addEventListener("click", act);
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.redraw()).observe(this.root);
    for (const name of ["resize", "scroll"]) addEventListener(name, () => this.redraw(), { passive: true });
    addEventListener("hashchange", () => this.follow());
    addEventListener("beforeprint", () => this.draw(true));
    for (const query of ["(prefers-color-scheme: dark)", "(min-resolution: 1.5dppx)"]) {
      matchMedia(query).addEventListener("change", () => {
        this.readTheme();
        this.redraw();
      });
    }
  }

  acts() {
    return {
      nearer: () => this.zoom(0.5),
      further: () => this.zoom(2),
      earlier: () => this.pan(-0.25),
      later: () => this.pan(0.25),
      whole: () => this.show(this.begin, this.end),
      next: () => this.choose(this.chosen + 1),
    };
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.target.isContentEditable) return;
    const keys = {
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      ArrowLeft: () => this.pan(-0.1),
      ArrowRight: () => this.pan(0.1),
      ",": () => this.step(-0.01),
      ".": () => this.step(0.01),
      0: () => this.show(this.begin, this.end),
      n: () => this.choose(this.chosen + 1),
      p: () => this.choose(this.chosen - 1),
      Escape: () => this.tell(null),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

function isInWindow(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > -50 && top < innerHeight + 50;
}

function stopsOf(runs) {
  return runs.flatMap((run) => [...run.stalls.map((stall) => stallStop(run, stall)), ...handoverStops(run)]);
}

function stallStop(run, stall) {
  const { flow, since_ns: begin, end_ns: end } = stall;
  const words = `${flow}, from ${seconds(stall.start_ns, 3)} s${stall.suspect ? `: ${stall.suspect}` : ""}`;
  return { run, kind: "stall", flow, begin, end, lead: `${capital(stall.word)} ${stall.length_s.toFixed(2)} s`, words, detail: stallDetail(stall) };
}

/** The entries of further cells of a run's hosts. */
function handoverStops(run) {
  const all = run.hosts.flatMap((host) =>
    host.visits.slice(1).map((visit, before) => {
      const phases = host.phases.filter((phase) => phase.visit === before + 1);
      const begin = Math.min(visit.from_ns, host.visits[before].to_ns, ...phases.map((phase) => phase.time_ns));
      const end = Math.max(begin + 2e8, ...phases.map((phase) => Math.min(phase.time_ns, visit.from_ns + 5e8)));
      const words = `${host.name}, ${host.visits[before].cell} to ${visit.cell}, ${seconds(begin, 3)} s`;
      return { run, kind: "handover", begin, end, lead: "Handover", words, detail: visitDetail(host, before + 1) };
    }),
  );
  const inside = all.filter(({ begin, end }) => end >= run.begin_ns && begin <= run.end_ns);
  return inside.sort((one, other) => one.begin - other.begin).slice(0, MOST_HANDOVERS);
}

const MOST_HANDOVERS = 40;

/** The lanes of one run. */
class Column {
  constructor(explorer, run) {
    Object.assign(this, { explorer, run });
    this.element = append(explorer.root, "div", "", "column");
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", `Lanes of ${run.name}`);
    this.title = append(this.element, "h2", run.title);
    this.place = append(this.element, "div", "", "stack");
    this.shown = new Set([...run.shown_flows.map((name) => `flow ${name}`), ...run.shown_queues.map((name) => `queue ${name}`)]);
    this.choice();
    this.line = append(this.place, "div", "", "cursor");
    this.axis = append(this.place, "canvas", "", "axis");
    this.axis.setAttribute("role", "img");
    this.axis.setAttribute("aria-label", "time [s]");
    this.made = new Map();
    this.build();
    this.follow();
  }

  /** Which flows and queues are shown. */
  choice() {
    const all = this.all();
    if (all.length < 2) return;
    const fold = (this.fold = append(this.element, "details"));
    this.place.before(fold);
    this.summary = append(fold, "summary");
    const fields = append(fold, "div", "", "choice");
    this.boxes = new Map();
    for (const name of all) {
      const label = append(fields, "label");
      const box = append(label, "input");
      box.type = "checkbox";
      box.checked = this.shown.has(name);
      label.append(` ${name}`);
      this.boxes.set(name, box);
      box.addEventListener("change", () => this.toggle(name, box.checked));
    }
    this.count();
  }

  /** Flows and queues. */
  all() {
    const { flows, queues } = this.run;
    return [...flows.map((name) => `flow ${name}`), ...queues.map((name) => `queue ${name}`)];
  }

  /** Shows another run. */
  take(run, keep) {
    const before = new Map(this.lanes.map((lane) => [lane.name, lane]));
    const known = [...(this.boxes?.keys() ?? [])].sort().join();
    Object.assign(this, { run, made: new Map(), second: null });
    this.title.textContent = run.title;
    if (this.all().sort().join() !== known) {
      this.fold?.remove();
      const all = this.all();
      this.shown = new Set([...this.shown].filter((name) => all.includes(name)));
      if (!this.shown.size) for (const name of run.shown_flows) this.shown.add(`flow ${name}`);
      this.choice();
    }
    run.before = before;
    this.build();
    delete run.before;
    for (const lane of this.lanes) lane.follow(before.get(lane.name), keep);
  }

  count() {
    this.summary.textContent = `Shown: ${this.shown.size} of ${this.boxes.size} flows and queues`;
  }

  toggle(name, on) {
    if (on) this.shown.add(name);
    else this.shown.delete(name);
    this.count();
    this.build();
    this.explorer.redraw();
  }

  /** Shows a flow that may be hidden. */
  open(flow) {
    const name = `flow ${flow}`;
    if (this.shown.has(name)) return;
    this.boxes.get(name).checked = true;
    this.toggle(name, true);
  }

  build() {
    const { run } = this;
    const make = (name, maker) => {
      if (!this.made.has(name)) this.made.set(name, maker());
      return this.made.get(name);
    };
    this.lanes = [
      ...(run.hosts.length ? make("hosts", () => [new HostLane(run)]) : []),
      ...make("bearers", () => bearerLanes(run)),
      ...run.flows
        .filter((flow) => this.shown.has(`flow ${flow}`))
        .flatMap((flow) => make(`flow ${flow}`, () => [new SequenceLane(run, flow), ...tcpLanes(run, flow), ...capturedLanes(run, flow)])),
      ...run.queues
        .filter((queue) => this.shown.has(`queue ${queue}`))
        .flatMap((queue) => make(`queue ${queue}`, () => queueLanes(run, queue))),
      ...(run.nodes.length ? make("signalling", () => [new SignallingLane(run)]) : []),
    ];
    this.pair();
    const parts = [this.line, this.axis, ...this.lanes.map((lane) => lane.element)];
    const same = parts.length === this.place.children.length && parts.every((part, at) => part === this.place.children[at]);
    if (!same) this.place.replaceChildren(...parts);
  }

  /** A run of the same scenario with another seed: between its lines and those shown lies a band. null: none. */
  beside(second) {
    this.second = second;
    this.pair();
    this.explorer.redraw();
  }

  pair() {
    const { second } = this;
    const drawn = (kind, names) => names.filter((name) => second && this.shown.has(`${kind} ${name}`));
    const flows = drawn("flow", second?.flows ?? []).flatMap((flow) => tcpLanes(second, flow));
    const twins = [...flows, ...drawn("queue", second?.queues ?? []).flatMap((queue) => queueLanes(second, queue))];
    for (const lane of this.lanes) lane.twin = twins.find((each) => each.name === lane.name && lane instanceof LineLane) ?? null;
  }

  scale() {
    const { begin, end } = this.explorer.view;
    this.x = new TimeScale(begin, end, LEFT, Math.max(50, this.place.clientWidth - LEFT - RIGHT));
  }

  draw(limits, theme, all) {
    // Lanes outside the window are drawn when they come back.
    const seen = this.lanes.filter((lane) => all || isInWindow(lane.element));
    for (const lane of seen) lane.draw(this.x, limits.get(lane.axis) ?? null, theme);
    const pen = this.axis.getContext("2d");
    clear(this.axis, pen);
    drawTimes(pen, this.x, 22, theme, true);
    pen.textAlign = "left";
    pen.fillText("time [s]", 2, 7);
  }

  point(time) {
    const inside = time !== null && time >= this.x.begin && time <= this.x.end;
    this.line.hidden = !inside;
    if (inside) this.line.style.transform = `translateX(${this.x.pixel(time)}px)`;
    for (const lane of this.lanes) lane.reading.textContent = inside ? lane.at(time) : "";
    if (inside && this.lanes.length) this.lanes[0].reading.textContent = `${seconds(time)} s: ${this.lanes[0].at(time)}`;
  }

  /** The pointer: moves the cursor, drags the time, zooms by wheel or two fingers, and asks by a click. */
  follow() {
    const { explorer, place } = this;
    const fingers = new Map();
    let moved = 0;
    const where = (event) => event.clientX - place.getBoundingClientRect().left;
    place.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !(event.target instanceof HTMLCanvasElement)) return;
      fingers.set(event.pointerId, where(event));
      place.setPointerCapture(event.pointerId);
      this.target = event.target;
      moved = 0;
    });
    place.addEventListener("pointermove", (event) => {
      const right = where(event);
      explorer.cursor = Math.min(this.x.end, Math.max(this.x.begin, this.x.time(right)));
      if (fingers.has(event.pointerId)) {
        const before = [...fingers.values()];
        moved += Math.abs(right - fingers.get(event.pointerId));
        fingers.set(event.pointerId, right);
        this.drag(before, [...fingers.values()]);
      }
      explorer.pending ?? explorer.point();
    });
    const lift = (event) => {
      if (!fingers.delete(event.pointerId)) return;
      if (event.type === "pointerup" && moved < 4 && !fingers.size) this.ask(event);
    };
    place.addEventListener("pointerup", lift);
    place.addEventListener("pointercancel", lift);
    place.addEventListener("pointerleave", () => {
      explorer.cursor = null;
      explorer.point();
    });
    place.addEventListener(
      "wheel",
      (event) => {
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) explorer.pan(event.deltaX / 1000);
        else if (event.ctrlKey || event.shiftKey || event.target instanceof HTMLCanvasElement) {
          explorer.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 400))), this.x.time(where(event)));
        } else return;
        event.preventDefault();
      },
      { passive: false },
    );
  }

  /** From where the fingers were to where they are. */
  drag(before, now) {
    const times = before.map((right) => this.x.time(right));
    const { begin, end } = this.x;
    if (now.length === 1) {
      const step = times[0] - this.x.time(now[0]);
      this.explorer.show(begin + step, end + step);
    } else if (Math.abs(now[0] - now[1]) > 10) {
      const factor = Math.abs((before[0] - before[1]) / (now[0] - now[1]));
      this.explorer.zoom(factor, (times[0] + times[1]) / 2);
    }
    this.scale();
  }

  ask(event) {
    const lane = this.lanes.find((each) => each.canvas === this.target);
    if (!lane) return;
    const box = lane.canvas.getBoundingClientRect();
    this.explorer.tell(lane.hit(event.clientX - box.left, event.clientY - box.top, this.x));
  }
}

async function start() {
  const specs = JSON.parse(document.getElementById("runs").textContent);
  const bytes = await inflate(document.getElementById("columns").textContent.trim());
  window.explorer = new Explorer(specs.map((spec) => new Run(spec, bytes)));
  document.documentElement.dataset.ready = "yes";
}
if (document.getElementById("runs")) start();
