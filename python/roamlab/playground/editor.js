// The scenario as text: CodeMirror with TOML, completion from the schema, and errors at their places.

/** The parts of TOML, for their colours. Each step takes at least one letter, whatever the text is. */
const TOML = {
  name: "toml",
  startState: () => ({ quote: "", isValue: false, depth: 0 }),
  token(stream, state) {
    if (stream.sol() && !state.quote && !state.depth) state.isValue = false;
    if (!state.quote) {
      if (stream.eatSpace()) return null;
      const [quote] = stream.match(/^("""|'''|"|')/) ?? [];
      if (!quote) return plainToken(stream, state);
      state.quote = quote;
    }
    while (state.quote && !stream.eol()) {
      if (stream.match(state.quote)) state.quote = "";
      else if (stream.next() === "\\" && state.quote[0] === '"') stream.next();
    }
    // A short text ends with its line.
    if (state.quote.length === 1) state.quote = "";
    return state.isValue ? "string" : "property";
  },
  languageData: { commentTokens: { line: "#" } },
};

/** A part that is neither space nor text. */
function plainToken(stream, state) {
  if (stream.peek() === "#") {
    stream.skipToEnd();
    return "comment";
  }
  if (!state.isValue && stream.match(/^\[[^\]]*\]*/)) return "atom";
  if (stream.match(/^[\w.-]+(?=\s*=)/)) return "property";
  if (stream.match(/^(true|false)\b/)) return "atom";
  if (stream.match(/^[+-]?\d[\w.:+-]*/)) return "number";
  if (stream.match(/^[\w.-]+/)) return null;
  const letter = stream.next();
  if (letter === "=") state.isValue = true;
  if ("[{".includes(letter)) state.depth++;
  if ("]}".includes(letter)) state.depth = Math.max(0, state.depth - 1);
  return null;
}

class Editor {
  /** `changed(text)` is called when the user writes; `offer`: what is offered at the cursor. */
  constructor(root, nonce, { changed, offer }) {
    const { EditorView, EditorState, Compartment, keymap } = CodeMirror;
    const own = EditorView.updateListener.of((update) => {
      const written = update.transactions.some((each) => each.isUserEvent("input") || each.isUserEvent("delete") || each.isUserEvent("undo") || each.isUserEvent("redo") || each.isUserEvent("move"));
      if (update.docChanged && written) changed(this.text);
    });
    const keys = [
      ...CodeMirror.closeBracketsKeymap,
      ...CodeMirror.defaultKeymap,
      ...CodeMirror.historyKeymap,
      ...CodeMirror.completionKeymap,
      ...CodeMirror.lintKeymap,
    ];
    this.offers = new Compartment();
    const state = EditorState.create({
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorView.contentAttributes.of({ "aria-label": "Scenario in TOML", tabindex: "0" }),
        CodeMirror.lineNumbers(),
        CodeMirror.highlightSpecialChars(),
        CodeMirror.history(),
        CodeMirror.bracketMatching(),
        CodeMirror.closeBrackets(),
        CodeMirror.lintGutter(),
        CodeMirror.StreamLanguage.define(TOML),
        CodeMirror.syntaxHighlighting(highlighting()),
        CodeMirror.autocompletion({ override: [offer], icons: false }),
        keymap.of(keys),
        own,
      ],
    });
    this.view = new EditorView({ state, parent: root });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Another text: only what differs is changed, so that the cursor stays. */
  set(text) {
    const now = this.text;
    if (now === text) return;
    let [from, same] = [0, 0];
    const most = Math.min(now.length, text.length);
    while (from < most && now[from] === text[from]) from++;
    while (same < most - from && now.at(-1 - same) === text.at(-1 - same)) same++;
    this.view.dispatch({ changes: { from, to: now.length - same, insert: text.slice(from, text.length - same) } });
  }

  /** Marks what is wrong: refusals with `line`, `column`, `width`; and what is doubtful. */
  mark(errors, warnings) {
    const { doc } = this.view.state;
    const place = (each, severity) => {
      const line = doc.line(Math.min(Math.max(1, each.line), doc.lines));
      const points = Array.from(line.text);
      const offset = (column) => points.slice(0, column).join("").length;
      const from = line.from + offset(each.column - 1);
      const to = line.from + offset(each.column - 1 + Math.max(1, each.width));
      return { from, to, severity, message: [each.problem, each.help && `help: ${each.help}`].filter(Boolean).join("\n") };
    };
    const found = [...errors.map((each) => place(each, "error")), ...warnings.map((each) => place(each, "warning"))];
    this.view.dispatch(CodeMirror.setDiagnostics(this.view.state, found));
  }
}

function highlighting() {
  const { HighlightStyle, tags } = CodeMirror;
  const colour = (tag, name) => ({ tag, color: `var(--${name})` });
  return HighlightStyle.define([
    colour(tags.comment, "quiet"),
    colour([tags.string, tags.special(tags.string)], "ack"),
    colour([tags.number, tags.bool, tags.atom], "warn"),
    colour([tags.propertyName, tags.keyword], "link"),
  ]);
}
