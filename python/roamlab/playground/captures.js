// A capture that a user opens or drops on the page. It is read here and does not leave the page.

/** A larger capture is for the command line. */
const MOST_CAPTURE = 200e6;

class Captures {
  constructor(page) {
    this.page = page;
    const field = page.find("capture");
    field.addEventListener("change", () => this.open([...field.files]));
    // A file that is dropped anywhere else would replace the page.
    for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
    addEventListener("drop", ({ dataTransfer }) => dataTransfer?.files.length && this.open([...dataTransfer.files]));
  }

  /** Reads one file, or two of the same flows, and shows what is in them. */
  async open(files) {
    const { page } = this;
    const asked = page.leave();
    page.busy(0);
    try {
      const size = files.reduce((sum, file) => sum + file.size, 0);
      if (files.length > 2) throw new Error("more than two files: choose one capture, or two of the same flows at both ends");
      if (size > MOST_CAPTURE) throw new Error(`${Math.round(size / 1e6)} MB are too much for a page: use \`roamlab why ${files[0].name}\``);
      const contents = await Promise.all(files.map((file) => file.arrayBuffer()));
      const made = await page.runner.ask({ ask: "capture", names: files.map((file) => file.name), contents });
      if (asked === page.run) this.show(made, files);
    } catch (error) {
      if (!error.outdated && asked === page.run) page.say(`${files.map((file) => file.name).join(" and ")}: ${error.message}`, true);
    } finally {
      if (asked === page.run) page.busy(null);
      page.find("capture").value = "";
    }
  }

  show({ run, flows, notes, udp, ms }, files) {
    const { page } = this;
    page.find("examples").value = "";
    page.find("headline").textContent = run.headline;
    page.find("figures").replaceChildren();
    const root = page.find("captured");
    root.replaceChildren();
    if (!flows.length) append(root, "p", udp ? "It has no TCP flow with data. QUIC is encrypted: write a qlog." : "It has no TCP flow with data.");
    for (const [title, ...sentences] of flows) {
      append(root, "h2", title);
      const list = append(root, "ul");
      for (const sentence of sentences) append(list, "li", sentence);
    }
    for (const note of notes) append(root, "p", `Note: ${note}`);
    document.body.dataset.captured = "yes";
    root.hidden = false;
    page.fresh = true;
    page.explore(new Run(run, null));
    page.find("result").dataset.stale = "no";
    page.say(`${files.map((file) => file.name).join(" and ")}: read in ${Math.round(ms)} ms. It has not left this page.`);
    document.documentElement.dataset.ready = String(page.run);
  }

  /** Makes room for a scenario. */
  close() {
    delete document.body.dataset.captured;
    this.page.find("captured").hidden = true;
  }
}
