// Settings that may take the longest stall away, each tried with several seeds: as `roamlab why --check`, for a page.

/** A setting is tried with this number of seeds, and all together for this time. */
const REMEDY_SEEDS = 3;
const REMEDIES_MS = 9000;

/** Measures of a flow in a run: time in stalls and slow periods in s, and its goodput. */
function outcomeOf(record, flow) {
  const spans = record.troubles(flow).flatMap(({ stall, slow }) => [stall, slow ?? stall]);
  spans.sort((one, other) => one.start_ns - other.start_ns);
  let [trouble, until] = [0, 0];
  for (const { start_ns, end_ns } of spans) {
    trouble += Math.max(0, end_ns - Math.max(start_ns, until));
    until = Math.max(until, end_ns);
  }
  const { flows } = record.tables;
  const [row] = flows.equal("flow", flows.code("flow", flow));
  return { trouble: trouble / 1e9, goodput: flows.column("goodput_bps")[row] };
}

/** Settings against what is suspected of a stall: `{what, changes}`, the first suspect's first. */
function settingsAgainst(record, { stall, suspects }) {
  const [found, rtos] = [new Map(), record.rtos(stall)];
  const add = (what, changes) => found.set(what, { what, changes: changes.map(([path, value]) => ({ path, value })) });
  for (const suspect of suspects) for (const each of SETTINGS[suspect.kind]?.(record, suspect, stall, rtos) ?? []) add(...each);
  return [...found.values()];
}

/** A field of the mobility protocol with another value, where the protocol has it. */
function ofProtocol(record, names, tables, other) {
  const { mobility } = record.echo;
  if (!mobility || Array.isArray(mobility)) return [];
  return tables.flatMap((table) =>
    names
      .map((name) => [...table, name])
      .filter((path) => typeof path.reduce((part, key) => part?.[key], mobility) === "string")
      .map((path) => [`mobility.${path.join(".")} ${other(path)}`, [[["mobility", ...path], JSON.stringify(other(path))]]]),
  );
}

function largerBuffer(record, { place }) {
  const { drops } = record.tables;
  const lost = drops.equal("place", drops.code("place", place)).filter((row) => drops.word("reason", row) === "buffer-overflow").length;
  const now = (path) => Number.parseInt(path.reduce((part, key) => part[key], record.echo.mobility), 10);
  return ofProtocol(record, ["limit", "buffer_limit"], [[], ["buffer"]], (path) => `${now(path) + lost} pkt`);
}

function longerTimer(record) {
  return ofProtocol(record, record.lists.expiries, [[], ["buffer"], ["timers"]], () => "1 min");
}

/** Where the queue of a place is written: the air of a cell, a link, or the link between a cell and its router; null: elsewhere. */
function queuePath({ links = [], cells = {} }, place) {
  const [cell, air, host] = place.split("/");
  if (air) return host ? null : ["cells", cell, "queue"];
  const queue = (backwards) => (backwards ? "reverse_queue" : "queue");
  const [begin, end] = place.split("->");
  const at = links.findIndex(({ between: [one, other] }) => (one === begin && other === end) || (one === end && other === begin));
  if (at >= 0) return ["links", String(at), queue(links[at].between[0] !== begin)];
  const [base, router] = cells[end] ? [end, begin] : [begin, end];
  return cells[base]?.router === router ? ["cells", base, "backhaul", queue(base === begin)] : null;
}

/** Drop-tail without a limit at the air of a cell or at a link. */
function longerQueue(record, { place }) {
  const path = queuePath(record.echo, place);
  if (!path) return [];
  const spec = path.reduce((part, key) => part?.[key], record.echo) ?? {};
  const gone = Object.keys(spec).filter((key) => !["kind", "limit"].includes(key)).map((key) => [[...path, key], null]);
  return [[`a queue without limit at ${place}`, [...gone, [[...path, "kind"], '"droptail"'], [[...path, "limit"], JSON.stringify(record.lists.ample)]]]];
}

function otherTimer(record, { kind }, stall, rtos) {
  const at = record.echo.flows.findIndex(({ name }) => name === flowTable(record, stall.flow).name);
  if (record.echo.flows[at]?.transport?.kind !== "tcp") return [];
  const longest = Math.max(...rtos);
  const bound = (name, value) => [[["flows", String(at), "transport", name], JSON.stringify(value)]];
  const found = [];
  if (rtos.length > 1 && longest > 1e9) found.push(["an RTO of at most 1 s (RFC 6298: at least 60 s)", bound("max_rto", "1 s")]);
  if (kind === "long timeout") found.push(["an RTO of at least 50 ms", bound("min_rto", "50 ms")]);
  else found.push([`an RTO of at least ${Number(((2 * longest) / 1e9).toPrecision(3))} s`, bound("min_rto", `${2 * longest} ns`)]);
  return found;
}

const SETTINGS = {
  "buffer too small": largerBuffer,
  "timer too short": longerTimer,
  "queue full": longerQueue,
  "early drop": longerQueue,
  "spurious timeout": otherTimer,
  "long timeout": otherTimer,
};

/** Tries the settings against the longest stall. `run(text, seed, use)`: what `use` makes of the record of a run; it throws
 * where the scenario is refused. A setting is a remedy if no seed loses by it in the mean, and the seed shown does not either.
 */
function remediesOf(text, seed, run, set, isOver) {
  const seeds = Array.from({ length: REMEDY_SEEDS }, (_, place) => seed + place);
  const { flow, settings } = run(text, seed, (record) => {
    const [first] = record.explain().told;
    return first ? { flow: first.stall.flow, settings: settingsAgainst(record, first) } : { flow: null, settings: [] };
  });
  const outcomes = (changed) => seeds.map((each) => run(changed, each, (record) => outcomeOf(record, flow)));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const before = settings.length ? outcomes(text) : [];
  const tried = [];
  for (const { what, changes } of settings) {
    if (isOver()) break;
    try {
      const after = outcomes(set(text, changes));
      const gain = (name, sign) => after.map((each, place) => sign * (each[name] - before[place][name]));
      const [goodput, trouble] = [gain("goodput", 1), gain("trouble", -1)];
      const isRemedy = [goodput, trouble].every((gains) => gains[0] >= 0 && mean(gains) >= 0) && mean([...goodput, ...trouble]) > 0;
      tried.push({ what, changes, isRemedy, goodput: mean(goodput), trouble: mean(trouble) });
    } catch (refused) {
      if (refused instanceof WebAssembly.RuntimeError) throw refused;
      tried.push({ what, changes, isRemedy: false, refused: refused.problem ?? refused.message ?? String(refused) });
    }
  }
  tried.sort((one, other) => other.isRemedy - one.isRemedy || (other.trouble ?? -Infinity) - (one.trouble ?? -Infinity));
  return { flow, seeds, tried, left: settings.length - tried.length };
}
