// Possible texts at a place of a scenario, read from the engine's schema.

/** A schema's tables with their own words: `at(path)` are the schemas that are valid at a field. */
class Schema {
  constructor(text) {
    this.root = JSON.parse(text);
  }

  /** A schema and those that it refers to. */
  *each(node) {
    if (!node) return;
    if (node.$ref) yield* this.each(this.root.$defs[node.$ref.split("/").at(-1)]);
    const several = node.oneOf ?? node.anyOf ?? node.allOf;
    if (several) for (const one of several) yield* this.each(one);
    else if (!node.$ref) yield node;
  }

  /** The schemas of the field that a key or a place in a list leads to. */
  *inside(node, key) {
    for (const each of this.each(node)) {
      const lists = each.type === "array" && each.items;
      if (lists && typeof key === "number") yield* this.each(each.items);
      else if (lists) yield* this.inside(each.items, key);
      else if (each.properties?.[key]) yield* this.each(each.properties[key]);
      else if (each.additionalProperties) yield* this.each(each.additionalProperties);
    }
  }

  at(path) {
    let found = [this.root];
    for (const key of path) found = found.flatMap((node) => [...this.inside(node, key)]);
    return found.flatMap((node) => (node.type === "array" ? [...this.each(node.items)] : [node]));
  }

  /** The schema of a table of this kind. */
  kind(path, word) {
    return this.at(path).find((node) => node.properties?.kind?.const === word);
  }

  /** Keys of a table, with what they mean. */
  keys(path, kind) {
    const tables = this.at(path).filter((node) => node.properties);
    const chosen = tables.filter((node) => kind && node.properties.kind?.const === kind);
    const found = new Map();
    for (const node of chosen.length ? chosen : tables) {
      for (const [name, field] of Object.entries(node.properties)) found.set(name, field.description ?? "");
    }
    return found;
  }

  /** Words that are valid at a field; `kind`: of a table of this kind, in which the last key is. */
  words(path, kind) {
    const found = new Map();
    const nodes = kind ? [...this.inside(this.kind(path.slice(0, -1), kind), path.at(-1))] : this.at(path);
    for (const node of nodes) {
      if (node.const !== undefined) found.set(String(node.const), node.description ?? "");
      for (const word of node.enum ?? []) found.set(String(word), node.description ?? "");
      for (const word of node.examples ?? []) found.set(String(word), node.description ?? "");
    }
    const tables = path.at(-1) === "kind" ? this.at(path.slice(0, -1)) : [];
    for (const { properties, description } of tables) if (properties?.kind?.const) found.set(properties.kind.const, description ?? "");
    return found;
  }
}

/** Where a place of a TOML text is: `path` of the table, `key` whose value is being written or null, `kind` of the table. */
function contextOf(before) {
  const lines = before.split("\n");
  const line = lines.pop();
  const header = lines.findLastIndex((each) => /^\s*\[/.test(each));
  const [, name = ""] = /^\s*\[{1,2}([^\]]*)/.exec(lines[header] ?? "") ?? [];
  const path = name.split(".").map((key) => key.trim().replace(/^"(.*)"$/, "$1")).filter(Boolean);
  const own = lines.slice(header + 1).join("\n");
  const stack = [{ keys: [], from: 0 }];
  let key = null;
  let quoted = false;
  for (let at = 0, word = 0; at < line.length; at++) {
    const letter = line[at];
    if (letter === '"') quoted = !quoted;
    if (quoted) continue;
    if (letter === "=") key = line.slice(word, at).trim();
    if (letter === "{") {
      stack.push({ keys: [...stack.at(-1).keys, ...(key ? key.split(".") : [])], from: at });
      key = null;
    }
    if (letter === "}" && stack.length > 1) stack.pop();
    if (letter === ",") key = stack.length > 1 && !/\[[^\]]*$/.test(line.slice(stack.at(-1).from, at)) ? null : key;
    if ("{,".includes(letter)) word = at + 1;
  }
  const { keys, from } = stack.at(-1);
  const [, kind] = /\bkind\s*=\s*"([^"]*)"/.exec(stack.length > 1 ? line.slice(from) : own) ?? [];
  return { path: [...path, ...keys], key, kind, quoted };
}

/** Completions for CodeMirror at the cursor. `names`: of cells and nodes of the last scenario that was read. */
function completions(schema, names) {
  return (context) => {
    const before = context.state.sliceDoc(0, context.pos);
    const word = context.matchBefore(/[\w.-]*/);
    const { path, key, kind, quoted } = contextOf(before);
    const headed = /^\s*\[{1,2}[\w.-]*$/.test(before.split("\n").at(-1));
    if (!context.explicit && !word.text && !quoted) return null;
    if (headed) return offered(word.from, schema.keys([]), "namespace");
    if (key === null) return offered(word.from, schema.keys(path, kind), "property", " = ");
    if (quoted) {
      const from = before.lastIndexOf('"') + 1;
      const words = schema.words([...path, key]);
      for (const name of words.size ? [] : names()) words.set(name, "a name of this scenario");
      return offered(from, words, "constant");
    }
    const plain = new Map([...schema.words([...path, key])].map(([name, about]) => [`"${name}"`, about]));
    if (schema.at([...path, key]).some((node) => node.type === "boolean")) for (const name of ["true", "false"]) plain.set(name, "");
    return offered(word.from, plain, "constant");
  };
}

function offered(from, words, type, after = "") {
  const options = [...words].map(([label, info]) => ({ label, type, info: info || undefined, apply: label + after }));
  return options.length ? { from, options, validFor: /^[\w .-]*$/ } : null;
}
