// The engine for browsers under Node: reads jobs as lines of JSON, writes what came of each as a line.
//   node node.js FOLDER_OF_THE_ENGINE PACKAGE

const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");
const vm = require("node:vm");

const [engineFolder, packageFolder] = process.argv.slice(2);
const sources = [
  `${engineFolder}/roamlab_wasm.js`,
  ...["explorer/model.js", "playground/worker/engine.js", "playground/worker/facts.js", "playground/worker/remedies.js"].map((name) => `${packageFolder}/${name}`),
];
vm.runInThisContext(sources.map((name) => readFileSync(name, "utf8")).join("\n"));
globalThis.bytes = readFileSync(`${engineFolder}/roamlab_wasm_bg.wasm`);
const engine = vm.runInThisContext("new Engine(new WebAssembly.Module(bytes))");
const { recordOf, factsOf, wasm_bindgen, Column } = vm.runInThisContext("({ recordOf, factsOf, wasm_bindgen, Column })");

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Kind, rows and digests of each column. */
function digests(tables) {
  const column = ({ kind, rows, view, names }) => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    return [kind, rows, digest(bytes), names ? digest(names.join("\n")) : ""];
  };
  const columns = (table) => Object.fromEntries(Object.entries(table.columns).map(([name, each]) => [name, column(each)]));
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, columns(table)]));
}

const JOBS = {
  tables({ text, name, files, seed }) {
    const checked = engine.check(text, name, files);
    const { tables, free } = engine.run(checked, { seed });
    const found = digests(tables);
    free();
    checked.free();
    return found;
  },
  facts({ text, name, files, seed }) {
    const checked = engine.check(text, name, files);
    checked.recordPackets(false);
    const made = engine.run(checked, { seed });
    const found = factsOf(recordOf(checked, seed, 0, checked.duration, made), name, wasm_bindgen.tcpProfile);
    made.free();
    checked.free();
    return found;
  },
  times({ text, name, count }) {
    const checked = engine.check(text, name);
    checked.recordPackets(false);
    return Array.from({ length: count }, () => {
      const begin = performance.now();
      engine.run(checked, {}).free();
      return performance.now() - begin;
    });
  },
  ended({ text, name, after }) {
    const told = [];
    const keepGoing = (now, events) => told.push([now, events]) < after;
    const checked = engine.check(text, name);
    const { tables, free } = engine.run(checked, { keepGoing });
    const { rows } = tables.deliveries;
    free();
    return { told, rows };
  },
  set: ({ text, path, value }) => wasm_bindgen.set(text, path, value),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { job, ...rest } = JSON.parse(line);
  let said;
  try {
    said = { done: JOBS[job](rest) };
  } catch (error) {
    said = { error: { ...error, message: error.message ?? String(error) } };
  }
  console.log(JSON.stringify(said));
});
