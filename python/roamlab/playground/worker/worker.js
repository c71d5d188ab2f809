// The worker: checks scenarios, runs them, and makes of a run what the page shows. It has no page and no network.

/** A run ends after so long, with what it has got; the page ends a worker that does not. */
const MOST_MS = 6000;
const TELL_MS = 100;
/** A page that listed more would be slow, whatever a scenario asks for. */
const MOST_LISTED = 100;
const MOST_ROWS = 3e6;

let engine = null;

const HANDLERS = {
  module: ({ module }) => {
    engine = new Engine(module);
    return { schema: wasm_bindgen.schema() };
  },
  run: (asked) => {
    const checked = engine.check(asked.text, asked.name, asked.files);
    const warnings = checked.warnings().map((each) => new BadScenario(each)).map(plain);
    checked.recordPackets(false);
    const { made, duration, begin } = timed(asked, checked);
    const record = recordOf(checked, asked.seed, 0, duration, made);
    const facts = bounded(factsOf(record, `${asked.name}, seed ${asked.seed}`, wasm_bindgen.tcpProfile));
    const { explored } = record.lists;
    const rows = Object.keys(explored).reduce((sum, name) => sum + made.tables[name].rows, 0);
    if (rows > MOST_ROWS) throw new Error(`${rows} rows are more than this page can draw: shorten run.duration or lower rates`);
    const tables = packed(record, explored);
    const { echo } = record;
    const cut = duration < checked.duration;
    made.free();
    checked.free();
    return { facts, tables, echo, warnings, cut, ms: performance.now() - begin };
  },
  /** A capture, or two of the same flows: why they stalled, and what the explorer draws. */
  capture: ({ names, contents }) => {
    const begin = performance.now();
    const made = engine.capture(names, contents);
    const { explored } = shared();
    const tables = Object.fromEntries(made.tables.map(([name, table]) => [name, drawn(table)]));
    const run = capturedRun(made.facts, tables, explored, names.join(" and "));
    const flows = made.answer.flows.slice(0, MOST_LISTED).map(({ sentences, spikes }) => [...sentences, ...spikes.map((each) => each.sentence)]);
    made.free();
    const { notes, udp_packets: udp } = made.answer;
    return { run, flows, notes: [...notes, ...made.facts.notes], udp, ms: performance.now() - begin };
  },
  film: (asked) => {
    const checked = engine.check(asked.text, asked.name, asked.files);
    checked.recordPackets(true);
    const wanted = ["packets", "deliveries", "drops", "releases", "signalling", "handovers", "flows"];
    const { made, duration } = timed({ ...asked, wanted }, checked);
    const film = filmOf(recordOf(checked, asked.seed, 0, duration, made));
    made.free();
    checked.free();
    return { film };
  },
  set: ({ text, changes }) => ({ text: changedBy(text, changes) }),
  /** The settings against the longest stall, each tried with several seeds. */
  remedies: ({ text, name, files, seed }) => {
    const begin = performance.now();
    const isOver = () => performance.now() - begin > REMEDIES_MS;
    const run = (changed, each, use) => {
      const checked = engine.check(changed, name, files);
      try {
        checked.recordPackets(false);
        const made = engine.run(checked, { seed: each, keepGoing: () => !isOver() });
        if (isOver()) throw new Error("the time of the page was over");
        const found = use(recordOf(checked, each, 0, checked.duration, made));
        made.free();
        return found;
      } finally {
        checked.free();
      }
    };
    return remediesOf(text, seed, run, changedBy, isOver);
  },
  /** Which of some changed texts are scenarios. */
  fits: ({ text, files, choices }) => ({
    fits: choices.map((changes) => {
      try {
        engine.check(changedBy(text, changes), "scenario", files).free();
        return true;
      } catch {
        return false;
      }
    }),
  }),
};

/** A text with fields changed; a value is TOML, null takes the field away. */
function changedBy(text, changes) {
  return changes.reduce((now, { path, value }) => wasm_bindgen.set(now, path, value ?? undefined), text);
}

/** A run that tells how far it has come, and that ends when its time is over. */
function timed({ id, seed, wanted }, checked) {
  const begin = performance.now();
  const whole = checked.duration;
  let [told, reached, over] = [begin, 0, false];
  const keepGoing = (now) => {
    const time = performance.now();
    reached = now;
    if (time - told > TELL_MS) {
      told = time;
      postMessage({ id, progress: now / whole });
    }
    over = time - begin > MOST_MS;
    return !over;
  };
  const made = engine.run(checked, { seed, wanted, keepGoing });
  return { made, begin, duration: over ? reached : whole };
}

/** No list of the page is longer than it can show. */
function bounded(facts) {
  const { flows, queues, stalls, slow } = facts;
  const cut = (list) => list.slice(0, MOST_LISTED);
  return { ...facts, flows: cut(flows), queues: cut(queues), stalls: cut(stalls), slow: cut(slow) };
}

/** Columns that the explorer draws, as separate arrays, which leave without a copy. */
function packed(record, explored) {
  return Object.fromEntries(
    Object.entries(explored).map(([name, columns]) => {
      const table = record.tables[name];
      const column = (each) => [each, { values: own(table.column(each)), names: table.spec[each].names }];
      return [name, { rows: table.rows, columns: Object.fromEntries(columns.map(column)) }];
    }),
  );
}

/** A table of a capture with its columns as separate arrays. */
function drawn({ rows, columns }) {
  const own = ([name, column]) => [name, { values: column.view.slice(), names: column.names }];
  return { rows, columns: Object.fromEntries(Object.entries(columns).map(own)) };
}

/** A view of the engine's memory becomes a separate array. */
function own(values) {
  return values.buffer === engine.memory.buffer ? values.slice() : values;
}

function buffersOf(part, found = []) {
  if (ArrayBuffer.isView(part)) found.push(part.buffer);
  else if (part && typeof part === "object") for (const each of Object.values(part)) buffersOf(each, found);
  return found;
}

/** An error as what can be sent. */
function plain(error) {
  const { message, file, line, column, width, field, problem, help } = error;
  return { message: String(message ?? error), file, line, column, width, field, problem, help };
}

onmessage = ({ data }) => {
  try {
    const done = HANDLERS[data.ask](data);
    postMessage({ id: data.id, done }, [...new Set(buffersOf(done.run?.tables ?? done.tables ?? done.film ?? {}))]);
  } catch (error) {
    // A panic leaves the engine in an unknown state.
    postMessage({ id: data.id, error: plain(error), broken: error instanceof WebAssembly.RuntimeError });
  }
};
