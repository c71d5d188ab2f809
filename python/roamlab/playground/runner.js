// The worker seen from the page: one question at a time, the newest run wins, and what takes too long is ended.

/** A worker that has not answered after so long is ended. */
const PATIENCE_MS = 12000;
/** A run that is out of date may continue for this time before its worker is ended. */
const OUTDATED_MS = 1000;
const REPLACED = ["run", "film", "remedies", "capture"];

class Runner {
  /** `module`: the compiled engine; `source`: the worker's program. */
  constructor(module, source) {
    this.module = module;
    this.address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.waiting = [];
    this.last = 0;
    this.start();
  }

  start() {
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.end("the engine has stopped");
    };
    this.current = null;
    this.ready = this.ask({ ask: "module", module: this.module }, { first: true });
  }

  /** Asks the worker. A run or a film takes the place of one that waits. Rejects with what is wrong, or with `outdated`. */
  ask(question, { first = false, progress } = {}) {
    return new Promise((resolve, reject) => {
      const asked = { question: { ...question, id: ++this.last }, resolve, reject, progress };
      if (REPLACED.includes(question.ask)) this.drop((each) => each.question.ask === question.ask);
      this.waiting[first ? "unshift" : "push"](asked);
      this.outdate(question);
      this.next();
    });
  }

  /** Waiting jobs that are not wanted any more. */
  drop(test) {
    for (const each of this.waiting.filter(test)) each.reject({ outdated: true });
    this.waiting = this.waiting.filter((each) => !test(each));
  }

  /** A run under way without a receiver is ended, if it does not end soon. */
  outdate({ ask }) {
    const { current } = this;
    if (!REPLACED.includes(ask) || current?.question.ask !== ask || current.outdated) return;
    current.outdated = setTimeout(() => {
      if (this.current === current) this.restart({ outdated: true });
    }, OUTDATED_MS);
  }

  next() {
    if (this.current || !this.waiting.length) return;
    const current = (this.current = this.waiting.shift());
    current.limit = setTimeout(() => this.end("this took too long and was ended: shorten `run.duration`, or make the network smaller"), PATIENCE_MS);
    this.worker.postMessage(current.question);
  }

  hear({ id, done, error, broken, progress }) {
    const { current } = this;
    if (id !== current?.question.id) return;
    if (progress !== undefined) {
      current.progress?.(progress);
      return;
    }
    this.settle();
    if (broken) this.renew();
    if (error) current.reject(error);
    else current.resolve(done);
    this.next();
  }

  settle() {
    clearTimeout(this.current?.limit);
    clearTimeout(this.current?.outdated);
    this.current = null;
  }

  /** Ends the present run; the compiled engine starts again. */
  restart(why) {
    const { current } = this;
    this.settle();
    current?.reject(why);
    this.renew();
    this.next();
  }

  renew() {
    this.worker.terminate();
    this.start();
  }

  end(message) {
    this.restart({ message });
  }

  /** Ends a run under way. */
  cancel() {
    this.drop((each) => each.question.ask !== "module");
    if (this.current && this.current.question.ask !== "module") this.end("cancelled");
  }
}
