// The page: the scenario on one side, its run on the other, and what leads from one to the other.

const TYPING_MS = 250;
const REST_MS = 200;

/** The explorer of a run that changes; its address is the playground's. */
class LiveExplorer extends Explorer {
  constructor(runs, page) {
    super(runs);
    this.page = page;
    page.film.span(this.view.begin, this.view.end);
  }

  address() {
    this.page?.address();
  }

  show(begin, end) {
    super.show(begin, end);
    this.page?.film.span(this.view.begin, this.view.end);
  }

  choose(number) {
    super.choose(number);
    this.page.film.show(this.view.begin);
  }
}

class Playground {
  /** `runner` makes runs, `filmer` their films. */
  constructor(runner, filmer, schema, states) {
    Object.assign(this, { runner, filmer, schema, states, names: [], changes: Promise.resolve(), run: 0, touched: 0 });
    const find = (id) => document.getElementById(id);
    this.find = find;
    this.editor = new Editor(find("editor"), document.body.dataset.nonce, {
      changed: () => this.soon(),
      offer: completions(schema, () => this.names),
    });
    this.controls = new Controls(find("controls"), (control, value, done) => this.change(control, value, done));
    this.film = new Player(find("film"), (time) => this.point(time));
    this.captures = new Captures(this);
    this.list(find("examples"));
    find("examples").addEventListener("change", () => this.open(states[find("examples").value]));
    find("seed").addEventListener("change", () => this.make());
    find("cancel").addEventListener("click", () => [runner, filmer].forEach((each) => each.cancel()));
    find("try").addEventListener("click", () => this.remedy());
    find("band").addEventListener("change", () => this.beside());
    find("copy").addEventListener("click", () => this.copy());
    addEventListener("hashchange", ({ newURL }) => this.follow(new URL(newURL).hash));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.film.set(this.film.film, this.theme()));
  }

  /** The list of scenarios: those of a group below its name. */
  list(root) {
    const groups = new Map([[undefined, root]]);
    for (const [number, { group, label, name }] of this.states.entries()) {
      if (!groups.has(group)) {
        groups.set(group, append(root, "optgroup"));
        groups.get(group).label = group;
      }
      append(groups.get(group), "option", label ?? name).value = number;
    }
  }

  /** Opens what the address holds, or else the first scenario; nothing if the address holds one that cannot be read. */
  async begin() {
    const state = await this.linked(location.hash);
    if (state || !/[#&][sq]=/.test(location.hash)) this.open(state ?? this.states[0]);
    else this.find("examples").value = "";
  }

  /** The scenario in an address, `#s=` and the scenario or `#q=` and the id of one of the page's, with the place of a case;
   * null: there is none, or none that can be read. */
  async linked(fragment) {
    const [, named] = /(?:^|[#&])q=([^&]*)/.exec(fragment) ?? [];
    const [, id, place] = /^([\w-]+)(?:\.(\d))?$/.exec(named ?? "") ?? [];
    const listed = this.states.find((each) => id && each.id === id);
    if (named !== undefined && !listed) {
      this.say("The link cannot be read: it names a question that this page does not have", true);
      return null;
    }
    if (listed) return { ...listed, place: Math.min(Number(place ?? 0), listed.cases.length - 1) };
    try {
      return await decodeLink(fragment);
    } catch (error) {
      this.say(`The link cannot be read: ${error.message}`, true);
      return null;
    }
  }

  /** Goes where the address has been changed to. */
  async follow(fragment) {
    if (fragment.slice(1) === this.written) return;
    clearTimeout(this.settled);
    this.run++;
    const state = await this.linked(fragment);
    if (state) await this.open(state);
    this.explorer?.follow();
    this.opened = (this.opened ?? 0) + 1;
  }

  /** Opens a scenario. One that is none of the page's own has no name in its list. */
  open(state) {
    const { name, seed, files, id } = state;
    this.captures.close();
    Object.assign(this, { name, files, fresh: true });
    this.find("seed").value = seed;
    this.find("asked").querySelector("details").open = false;
    const place = this.states.findIndex((each) => each === state || (id && each.id === id));
    this.find("examples").value = place < 0 ? "" : String(place);
    return this.offer(state, state.place ?? 0);
  }

  /** The cases of a question, of which one is shown. The run of the one before stays as a shadow. */
  async offer(state, place) {
    const { text, label, answer, cases = [] } = state;
    const [asked, root] = ["asked", "cases"].map(this.find);
    root.replaceChildren();
    asked.hidden = cases.length < 2;
    const [question, told] = asked.querySelectorAll("p");
    [question.textContent, told.textContent] = [label ?? "", answer ?? ""];
    cases.forEach((each, number) => {
      const button = append(root, "button", each.name);
      button.type = "button";
      button.setAttribute("aria-pressed", String(number === place));
      button.addEventListener("click", () => {
        this.offer(state, number);
        // The buttons are new, and the run has only begun.
        root.children[number].focus();
      });
    });
    const { changes } = cases[place] ?? { changes: [] };
    const { text: changed } = changes.length ? await this.runner.ask({ ask: "set", text, changes }, { first: true }) : { text };
    this.editor.set(changed);
    return this.make();
  }

  /** The scenario makes room: its runs are out of date. The number of what comes. */
  leave() {
    for (const timer of [this.typed, this.resting, this.settled]) clearTimeout(timer);
    return ++this.run;
  }

  get state() {
    return { text: this.editor.text, name: this.name, seed: isSeed(this.find("seed").valueAsNumber) ? this.find("seed").valueAsNumber : 1, files: this.files };
  }

  soon() {
    clearTimeout(this.typed);
    this.typed = setTimeout(() => this.make(), TYPING_MS);
  }

  /** A control has moved: its field in the text, then the run. Those that come meanwhile are one. */
  change(control, value, done) {
    this.moved = { control, value, at: performance.now(), touched: ++this.touched };
    this.changes = this.changes.then(async () => {
      const moved = this.moved;
      this.moved = null;
      if (moved) await this.edit(moved).catch((error) => error.outdated || this.say(error.message));
    });
    if (done) this.changes.then(() => (this.gesture = null));
  }

  async edit({ control, value, at, touched }) {
    const { text, files } = this.state;
    let changes = changesOf(control, value);
    if (control.table) {
      const choices = kindChanges(this.echo, this.schema, control, value);
      const { fits } = await this.runner.ask({ ask: "fits", text, files, choices }, { first: true });
      changes = choices[Math.max(0, fits.indexOf(true))];
    }
    const { text: changed } = await this.runner.ask({ ask: "set", text, changes }, { first: true });
    this.editor.set(changed);
    const keep = this.gesture === control.path.join();
    this.gesture = control.path.join();
    this.make({ at, keep, touched });
  }

  /** Runs the scenario and shows it. `at`: when it was asked for; `keep`: the shadow stays. */
  async make({ at = performance.now(), keep = false, touched = this.touched } = {}) {
    clearTimeout(this.typed);
    // The film of the run before would be made of this text.
    clearTimeout(this.resting);
    const asked = ++this.run;
    // If this run is out of date before it ends, the next one has the new shadow.
    if (!keep) this.begins = asked;
    const busy = setTimeout(() => this.busy(0), 300);
    try {
      const made = await this.runner.ask({ ask: "run", ...this.state }, { progress: (share) => this.busy(share) });
      this.show(made, asked);
      await this.offerControls(asked, touched);
      this.took(at, made);
    } catch (error) {
      if (!error.outdated) this.refuse(error);
    } finally {
      clearTimeout(busy);
      if (asked === this.run) this.busy(null);
    }
  }

  /** How long it took until the picture was there. */
  took(at, made) {
    requestAnimationFrame(() => {
      const frame = new MessageChannel();
      frame.port1.onmessage = () => {
        const ms = performance.now() - at;
        document.body.dataset.took = String(Math.round(ms));
        this.say(made.cut ? `Stopped after ${seconds(made.facts.end_ns, 1)} s of the run: it took too long for a page.` : `Run in ${Math.round(made.ms)} ms, shown in ${Math.round(ms)} ms.`);
        document.documentElement.dataset.ready = String(this.run);
      };
      frame.port2.postMessage(0);
    });
  }

  /** The controls that the scenario takes: a slider whose next stop would be an error is none. */
  async offerControls(asked, touched) {
    // A control that has moved since stays where it is, also if it moves while the engine answers.
    const isMoved = () => touched !== this.touched;
    if (isMoved()) return;
    const controls = controlsOf(this.echo, this.schema);
    const { text, files } = this.state;
    const choices = controls.map((control) => (control.unit ? changesOf(control, nextStop(control)) : []));
    const { fits } = await this.runner.ask({ ask: "fits", text, files, choices }, { first: true });
    if (asked === this.run && !isMoved()) this.controls.show(controls.filter((_, place) => fits[place]));
  }

  show({ facts, tables, echo, warnings }, asked) {
    const keep = asked < this.begins;
    if (!keep) this.begins = Infinity;
    this.echo = echo;
    this.names = [...facts.nodes, ...Object.keys(echo.cells), ...echo.links.flatMap((link) => link.between)].filter((name, at, all) => all.indexOf(name) === at);
    this.find("headline").replaceChildren(...whole(facts.headline));
    // A gesture is compared with what was before it.
    if (!keep) this.before = this.fresh ? null : this.facts;
    Object.assign(this, { facts, second: null });
    this.find("tried").replaceChildren();
    this.tell();
    this.editor.mark([], warnings);
    const made = new Run({ ...facts, tables }, null);
    if (!this.explorer || this.fresh) this.explore(made);
    else this.explorer.replace([made], keep);
    this.fresh = false;
    this.find("result").dataset.stale = "no";
    this.address();
    this.beside();
  }

  /** The numbers next to the sentence. */
  tell() {
    const place = this.find("figures");
    place.replaceChildren();
    for (const line of figureLines(this.facts, this.before, this.second, this.state.seed + 1)) append(place, "span", line);
  }

  /** The run with the next seed lies as a band around this one's lines, if it is asked for; then comes the film. */
  async beside() {
    const asked = this.run;
    const column = this.explorer?.columns[0];
    if (!column) return;
    this.find("banded").hidden = !this.find("band").checked;
    if (this.find("band").checked) {
      try {
        const { state } = this;
        const { facts, tables } = await this.filmer.ask({ ask: "run", ...state, seed: state.seed + 1 });
        if (asked !== this.run || !this.find("band").checked) return;
        this.second = facts;
        column.beside(new Run({ ...facts, tables }, null));
      } catch (error) {
        if (!error.outdated && asked === this.run) this.say(error.message, true);
      }
    } else {
      this.second = null;
      column.beside(null);
    }
    this.tell();
    this.shoot();
  }

  /** Tries settings against the longest stall, and offers those that are remedies. */
  async remedy() {
    const asked = this.run;
    const place = this.find("tried");
    place.replaceChildren();
    append(place, "p", "Settings are being tried …");
    this.find("try").disabled = true;
    try {
      const found = await this.runner.ask({ ask: "remedies", ...this.state });
      if (asked !== this.run) return;
      showRemedies(place, found, async (changes) => {
        const { text } = await this.runner.ask({ ask: "set", text: this.state.text, changes }, { first: true });
        this.editor.set(text);
        await this.make();
      });
    } catch (error) {
      place.replaceChildren();
      if (!error.outdated) this.say(error.message, true);
    } finally {
      this.find("try").disabled = false;
    }
  }

  /** The explorer of another scenario: what was shown of the one before does not apply to it. */
  explore(made) {
    if (!this.explorer) window.explorer = this.explorer = new LiveExplorer([made], this);
    else {
      this.explorer.root.replaceChildren();
      this.explorer.columns = [new Column(this.explorer, made)];
      this.explorer.replace([made]);
      this.explorer.show(made.begin_ns, made.end_ns);
    }
    const [first] = this.explorer.stops;
    const moment = this.written === undefined && /[#&]t=/.test(location.hash);
    if (first && !moment) this.explorer.show(first.begin - 5e8, first.end + 5e8);
    this.film.show(first ? first.begin : 0);
  }

  /** The film is made behind the picture, by a separate worker, when nothing has moved for a moment. */
  shoot() {
    clearTimeout(this.resting);
    this.resting = setTimeout(async () => {
      const asked = this.run;
      try {
        const { film } = await this.filmer.ask({ ask: "film", ...this.state });
        if (asked === this.run) this.film.set(film, this.theme());
      } catch (error) {
        if (!error.outdated && asked === this.run) this.say(error.message, true);
      }
    }, REST_MS);
  }

  theme() {
    const { theme } = this.explorer;
    return { ...theme, ground: getComputedStyle(document.documentElement).getPropertyValue("--ground").trim() };
  }

  /** The cursor of the lanes is where the film is. */
  point(time) {
    if (!this.explorer) return;
    this.explorer.cursor = time;
    this.explorer.pending ?? this.explorer.point();
  }

  refuse(error) {
    const located = error.line !== undefined;
    if (located && error.file === this.name) this.editor.mark([error], []);
    this.find("result").dataset.stale = "yes";
    this.say(located ? `Line ${error.line}, ${error.field || "text"}: ${error.problem}${error.help ? ` — ${error.help}` : ""}` : error.message, true);
  }

  say(words, bad = false) {
    const status = this.find("status");
    status.textContent = words;
    status.dataset.bad = bad ? "yes" : "no";
  }

  /** `share`: how much of a run is over; null: none is under way. */
  busy(share) {
    this.find("busy").hidden = share === null;
    this.find("progress").value = share ?? 0;
  }

  /** Writes scenario and time into the address. Browsers refuse many changes in a short time. */
  address() {
    clearTimeout(this.settled);
    if (document.body.dataset.captured) return;
    this.settled = setTimeout(async () => {
      const { run } = this;
      const { begin, end } = this.explorer.view;
      const written = `${await encodeLink(this.state)}&t=${seconds(begin, 6)}-${seconds(end, 6)}`;
      if (run !== this.run) return;
      this.written = written;
      history.replaceState(null, "", `#${written}`);
    }, 300);
  }

  async copy() {
    await navigator.clipboard.writeText(location.href).then(
      () => this.say("The link is in the clipboard: it holds the whole scenario."),
      () => this.say("The link is the address of this page."),
    );
  }
}

/** A text as nodes: no line ends inside the name of a link, which a browser may break behind its hyphen, or before a unit. */
function whole(text) {
  return text.split(/(\S+->\S+|[\d.]+ (?:s|[kMG]?bit\/s)\b)/).map((part, place) => {
    if (place % 2 === 0) return part;
    const name = document.createElement("span");
    name.className = "whole";
    name.textContent = part;
    return name;
  });
}

async function unpacked(id, format) {
  const letters = atob(document.getElementById(id).textContent.trim());
  return through(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream(format), Infinity);
}

async function startPlayground() {
  const module = await WebAssembly.compile(await unpacked("engine", "gzip"));
  const [runner, filmer] = [0, 1].map(() => new Runner(module, document.getElementById("worker").textContent));
  const { schema } = await runner.ready;
  const listed = JSON.parse(document.getElementById("scenarios").textContent);
  const states = listed.map(({ id, group, label, answer, cases = [], ...state }) => ({ ...stateOf(state), id, group, label, answer, cases }));
  window.playground = new Playground(runner, filmer, new Schema(schema), states);
  await window.playground.begin();
}
startPlayground();
