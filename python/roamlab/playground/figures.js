// Numbers next to the sentence, and the results of the button for remedies.

/** Goodput and losses of the flow that is shown, and of all together, with the change since the run before: a line each. */
function figureLines(facts, before, second, secondSeed) {
  const [flow] = facts.shown_flows;
  if (!flow) return [];
  const sum = (figures) => ({
    flow: "all flows",
    goodput_bps: figures.reduce((total, each) => total + each.goodput_bps, 0),
    lost: figures.reduce((total, each) => total + each.lost, 0),
  });
  const told = (of) => {
    const [now, then, twin] = [facts, before, second].map((each) => each && of(each.figures));
    const change = (value, digits, unit) => (then && value !== 0 ? ` (${value > 0 ? "+" : "\u2212"}${digits(Math.abs(value))}${unit})` : "");
    const megabits = (bps) => (bps / 1e6).toFixed(3);
    const rate = `goodput ${megabits(now.goodput_bps)} Mbit/s${change(now.goodput_bps - (then?.goodput_bps ?? 0), megabits, "")}`;
    const lost = `${packetsText(now.lost)} lost${change(now.lost - (then?.lost ?? 0), String, "")}`;
    const other = twin ? `; seed ${secondSeed}: ${megabits(twin.goodput_bps)} Mbit/s, ${packetsText(twin.lost)} lost` : "";
    return `${now.flow}: ${rate}, ${lost}${other}`;
  };
  const one = (figures) => figures.find((each) => each.flow === flow);
  const known = [facts, before, second].every((each) => !each || one(each.figures));
  if (!known) return [];
  return [told(one), ...(facts.figures.length > 1 ? [told(sum)] : [])];
}

function packetsText(count) {
  return count === 1 ? "1 packet" : `${count} packets`;
}

/** Gain of a setting in words. */
function gainText({ trouble, goodput, refused }) {
  if (refused) return `not tried: ${refused}`;
  const time = trouble ? `${Math.abs(trouble).toFixed(3)} s ${trouble > 0 ? "less" : "more"} in stalls and slow periods` : "the same time in stalls and slow periods";
  const rate = goodput ? `goodput ${(Math.abs(goodput) / 1e3).toFixed(1)} kbit/s ${goodput > 0 ? "higher" : "lower"}` : "the same goodput";
  return `${time}, ${rate}`;
}

/** Shows what was tried; `use(changes)` is called for a setting that is chosen. */
function showRemedies(root, { flow, seeds, tried, left }, use) {
  root.replaceChildren();
  if (!flow) return append(root, "p", "No flow stalls or is slow: nothing to remedy.");
  if (!tried.length) return append(root, "p", "No setting of this page acts on what is suspected.");
  const best = tried.some((each) => each.isRemedy) ? "" : " None is a remedy.";
  append(root, "p", `For ${flow}, in the mean of the seeds ${seeds[0]} to ${seeds.at(-1)}:${best}${left ? ` ${left} more had no time.` : ""}`);
  const list = append(root, "ul");
  for (const each of tried) {
    const item = append(list, "li", `${each.isRemedy ? "Remedy: " : ""}${each.what}: ${gainText(each)} `);
    if (!each.isRemedy) continue;
    const button = append(item, "button", "Use it");
    button.type = "button";
    button.addEventListener("click", () => use(each.changes));
  }
}
