// Lanes of a flow in a capture: what the sender had outstanding, round trips and timeouts.

/** The lanes that a capture has in addition; none: it is the record of a run, or the capture does not show its sender. */
function capturedLanes(run, flow) {
  const { flights, trips, timeouts } = run.tables;
  if (!flights) return [];
  const rows = (table) => table.equal("flow", table.code("flow", flow));
  const own = rows(flights);
  if (!own.length) return [];
  const windows = flights.column("window");
  const [outstanding] = run.seriesOf("flights", ["outstanding"], own);
  const [window] = run.seriesOf("flights", ["window"], own.filter((row) => !Number.isNaN(windows[row])));
  const [rtt] = run.seriesOf("trips", ["rtt_ns"], rows(trips));
  const [rto] = run.seriesOf("timeouts", ["rto_ns"], rows(timeouts));
  for (const series of [rtt, rto]) series.values = series.values.map((value) => value / 1e9);
  return [
    new LineLane(run, { name: `${flow}: outstanding data`, unit: "segment", flow }, [
      ["outstanding", "link", "line", outstanding],
      ["the receiver's window", "warn", "dashed", window, "unknown"],
    ]),
    new LineLane(
      run,
      { name: `${flow}: round trip`, unit: "s", height: 90, flow },
      [["round trip", "ack", "line", rtt]],
      [["timer expires, by its RTO", "lost", "triangle", rto]],
    ),
  ];
}
