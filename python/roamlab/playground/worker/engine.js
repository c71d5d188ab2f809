// The engine: WebAssembly in, runs out. It is independent of the page: a worker and the tests use it.

/** Bytes that the network of a scenario may take, and those that the record of a run may. */
const MOST_MEMORY = 400e6;

const KINDS = {
  u64: BigUint64Array,
  i64: BigInt64Array,
  u32: Uint32Array,
  words: Uint32Array,
  f64: Float64Array,
  u8: Uint8Array,
  bool: Uint8Array,
};

/** A scenario is bad: where, and what to write instead. */
class BadScenario extends Error {
  constructor(refusal) {
    super(refusal.toString());
    for (const name of ["file", "line", "column", "width", "field", "help"]) this[name] = refusal[name];
    this.problem = refusal.message;
    refusal.free();
  }
}

/** The engine's functions and its memory. */
class Engine {
  constructor(module) {
    this.memory = wasm_bindgen.initSync({ module }).memory;
  }

  /** A checked scenario; throws `BadScenario`. `files`: texts by the paths that the scenario names. */
  check(text, name, files = {}) {
    const read = (path) => {
      if (Object.hasOwn(files, path)) return files[path];
      throw "it is not among the files that came with this scenario";
    };
    try {
      return new wasm_bindgen.Checked(text, name, MOST_MEMORY, { read, keepGoing: () => true });
    } catch (refused) {
      throw refused instanceof wasm_bindgen.Refusal ? new BadScenario(refused) : refused;
    }
  }

  /** The tables of a run by their names, in the memory of the engine: they are there until `free` is called, or anything else.
   * The analyses are asked before columns are read: `explain`, `troubles` of a flow, `rtos` of a stall. `duration` in ns. */
  run(checked, { seed = 1, number = 0, wanted, keepGoing = () => true }) {
    const owner = { keepGoing, read: () => "" };
    const [a, b] = [BigInt(seed), BigInt(number)];
    const made = checked.run(a, b, MOST_MEMORY, wanted, owner);
    const found = made.names().map((name, table) => [name, this.table(made, table)]);
    return {
      tables: Object.fromEntries(found),
      free: () => made.free(),
      explain: (duration) => JSON.parse(made.explain(checked, a, b, duration)),
      troubles: (duration, flow) => JSON.parse(made.troubles(checked, duration, flow)),
      rtos: (duration, stall) => JSON.parse(made.timeoutRtos(checked, duration, JSON.stringify(stall))),
    };
  }

  /** The content of one capture, of two of the same flows, or of a qlog. Throws what cannot be read. */
  capture(names, contents) {
    const [first, second] = contents.map((content) => new Uint8Array(content));
    const isLog = /\.s?qlog(\.gz|\.zst)?$/i.test(names[0]);
    const made = isLog ? wasm_bindgen.Captured.qlog(first) : new wasm_bindgen.Captured(first, second);
    return {
      facts: JSON.parse(made.facts()),
      answer: JSON.parse(made.answer()),
      tables: made.names().map((name, table) => [name, this.table(made, table)]),
      free: () => made.free(),
    };
  }

  /** A table as `Table` takes it. Its columns become arrays when they are first asked for: until then memory may grow. */
  table(made, table) {
    const columns = {};
    let rows = 0;
    made.columns(table).forEach((name, column) => {
      const [kind, place] = [made.kind(table, column), made.place(table, column)];
      rows = made.rows(table, column);
      columns[name] = new Column(this.memory, kind, place, rows);
      const words = made.words(table, column);
      if (kind === "words" || words.length) columns[name].names = words;
    });
    return { rows, columns };
  }
}

/** Lists that the page shares with the engine: tables and columns that are drawn, and what settings are made of. */
function shared() {
  return JSON.parse(wasm_bindgen.constants());
}

/** A column in the memory of the engine. */
class Column {
  constructor(memory, kind, place, rows) {
    Object.assign(this, { memory, kind, place, rows });
  }

  /** Its values as in memory. */
  get view() {
    return new KINDS[this.kind](this.memory.buffer, this.place, this.rows);
  }

  /** The same as numbers. Whole numbers stay exact up to 2^53. */
  get values() {
    if (this.kind !== "u64" && this.kind !== "i64") return this.view;
    const halves = new Uint32Array(this.memory.buffer, this.place, 2 * this.rows);
    const high = this.kind === "i64" ? new Int32Array(this.memory.buffer, this.place, 2 * this.rows) : halves;
    const found = new Float64Array(this.rows);
    for (let row = 0; row < this.rows; row++) found[row] = high[2 * row + 1] * 2 ** 32 + halves[2 * row];
    return found;
  }
}
