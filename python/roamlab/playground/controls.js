// Sliders and choices for the fields that matter. Each changes the text of the scenario, which alone
// determines the run.

const MOST_EACH = 4;
const STEPS = [1, 1.5, 2, 3, 5, 7];

/** Numbers from `least` to `most` that a slider stops at. */
function stopsFrom(least, most, first = []) {
  const found = [...first];
  for (let power = 10 ** Math.floor(Math.log10(least)); power <= most; power *= 10) {
    for (const step of STEPS) if (step * power >= least && step * power <= most) found.push(Number((step * power).toPrecision(2)));
  }
  return found;
}

const UNITS = {
  time: { stops: stopsFrom(1e6, 2e9, [0]), read: nanoseconds, write: (value) => (value >= 1e9 ? `${value / 1e9} s` : `${value / 1e6} ms`) },
  rate: {
    stops: stopsFrom(1e5, 1e8),
    read: bitsPerSecond,
    write: (value) => (value >= 1e6 ? `${value / 1e6} Mbit/s` : `${value / 1e3} kbit/s`),
  },
  packets: { stops: [0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 96, 120, 160, 250, 500, 1000], read: (text) => Number.parseFloat(text), write: (value) => `${value} pkt` },
};

/** Parameters of protocols for their moves: label, field, unit; without a unit it is a choice. */
const OF_PROTOCOLS = [
  ["detach time", ["detach_time"], "time"],
  ["buffer", ["buffer_limit"], "packets"],
  ["buffer", ["buffer", "limit"], "packets"],
  ["path switch", ["path_switch"]],
  ["forwarding", ["forwarding"]],
  ["scheme", ["scheme"]],
  ["trigger lead", ["trigger", "lead"], "time"],
];

/** The controls of a scenario: `{group, label, path, value, unit}` for a slider, `words` instead of `unit` for a choice. */
function controlsOf(echo, schema) {
  const found = [];
  const add = (group, label, path, rest) => {
    const value = path.reduce((part, key) => part?.[key], echo);
    const plain = typeof value === "string" && (!rest.unit || Number.isFinite(UNITS[rest.unit].read(value)));
    if (plain) found.push({ group, label, path, value, ...rest });
  };
  const kinds = (path) => [...schema.words([...path, "kind"]).keys()];
  const own = echo.mobility && !Array.isArray(echo.mobility) ? echo.mobility : null;
  // A protocol with a time of detachment has the gap in it, and takes no other. Without a host nothing moves.
  if (echo.hosts?.length && echo.radio?.kind === "hard" && own?.detach_time === undefined) {
    add("Move", "gap", ["radio", "gap"], { unit: "time", before: [{ path: ["radio", "kind"], value: '"hard"' }] });
  }
  if (own) {
    add("Move", "protocol", ["mobility", "kind"], { words: kinds(["mobility"]), table: ["mobility"] });
    for (const [label, path, unit] of OF_PROTOCOLS) {
      const words = unit ? undefined : [...schema.words(["mobility", ...path], own.kind).keys()];
      if (unit || words.length) add("Move", label, ["mobility", ...path], { unit, words });
    }
  }
  for (const name of Object.keys(echo.cells ?? {}).slice(0, MOST_EACH)) {
    const path = ["cells", name];
    add(name, "rate", [...path, "rate"], { unit: "rate" });
    add(name, "delay", [...path, "delay"], { unit: "time" });
    add(name, "queue", [...path, "queue", "kind"], { words: kinds([...path, "queue"]), table: [...path, "queue"] });
    add(name, "queue limit", [...path, "queue", "limit"], { unit: "packets" });
  }
  (echo.flows ?? []).slice(0, MOST_EACH).forEach((flow, place) => {
    const path = ["flows", place, "transport", "variant"];
    if (flow.transport.kind === "tcp") add(flow.name, "TCP", path, { words: [...schema.words(path).keys()] });
  });
  return found;
}

/** The stop of a slider behind its value, or the one before the last. */
function nextStop({ unit, value }) {
  const { stops, read, write } = UNITS[unit];
  return write(stops.find((each) => each > read(value)) ?? stops.at(-2));
}

/** Changes that set a field to a value: `[{path, value}]`, value in TOML or null. */
function changesOf({ path, before = [] }, value) {
  return [...before, { path, value: JSON.stringify(value) }].map((each) => ({ ...each, path: each.path.map(String) }));
}

/** Changes that give a table another kind: with all fields that both have, or with the kind only. */
function kindChanges(echo, schema, { table, path }, word) {
  const node = schema.kind(table, word);
  const now = table.reduce((part, key) => part[key], echo);
  const others = Object.keys(now).filter((key) => key !== "kind");
  const gone = (keys) => keys.map((key) => ({ path: [...table, key].map(String), value: null }));
  const unknown = others.filter((key) => !(key in (node?.properties ?? {})));
  const kind = changesOf({ path }, word);
  return [[...gone(unknown), ...kind], [...gone(others), ...kind]];
}

/** The controls in their place. `change(control, value, done)` is called as they move; `done`: they have stopped. */
class Controls {
  constructor(root, change) {
    Object.assign(this, { root, change, known: "", made: [] });
  }

  /** Shows the values of a scenario. Elements stay while the scenario has the same fields, so that a slider can be dragged on. */
  show(controls) {
    const known = JSON.stringify(controls.map(({ group, path, unit, words }) => [group, path, unit, words]));
    if (known !== this.known) this.build(controls);
    this.known = known;
    controls.forEach((control, place) => this.made[place](control));
  }

  build(controls) {
    this.root.replaceChildren();
    const groups = new Map();
    this.made = controls.map((control) => {
      if (!groups.has(control.group)) {
        const field = append(this.root, "fieldset");
        append(field, "legend", control.group);
        groups.set(control.group, field);
      }
      const label = append(groups.get(control.group), "label");
      append(label, "span", control.label, "name");
      return control.unit ? this.slider(label, control) : this.choice(label, control);
    });
  }

  slider(label, { group, label: name, unit }) {
    const { stops, read, write } = UNITS[unit];
    const input = append(label, "input");
    const output = append(label, "output");
    input.type = "range";
    input.setAttribute("aria-label", `${group}: ${name}`);
    let own = stops;
    let now = null;
    const tell = (value) => {
      output.textContent = write(value);
      input.setAttribute("aria-valuetext", write(value));
    };
    const move = (done) => {
      const value = own[Number(input.value)];
      tell(value);
      this.change(now, write(value), done);
    };
    input.addEventListener("input", () => move(false));
    input.addEventListener("change", () => move(true));
    return (control) => {
      now = control;
      const value = read(control.value);
      own = stops.includes(value) ? stops : [...stops, value].sort((one, other) => one - other);
      Object.assign(input, { min: 0, max: own.length - 1 });
      if (input.matches(":active")) return;
      input.value = own.indexOf(value);
      tell(value);
    };
  }

  choice(label, { group, label: name, words }) {
    const select = append(label, "select");
    select.setAttribute("aria-label", `${group}: ${name}`);
    for (const word of words) append(select, "option", word).value = word;
    let now = null;
    select.addEventListener("change", () => this.change(now, select.value, true));
    return (control) => {
      now = control;
      select.value = control.value;
    };
  }
}
