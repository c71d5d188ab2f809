// A scenario in the fragment of an address: `#s=` and JSON, deflated, in base64 for addresses (RFC 4648, section 5).

/** Letters of a scenario with its files; a link that holds more is refused before it is unpacked. */
const MOST_TEXT = 400_000;
const MOST_LINK = 200_000;

async function through(bytes, stream, most) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const pieces = [];
  for (let size = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(`the link holds more than ${most} bytes`);
    }
    pieces.push(part.value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** `{text, name, seed, files}` as the part of an address behind `#`. */
async function encodeLink(state) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"), Infinity);
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return `s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Content of such a part; null: there is none. Throws its fault. */
async function decodeLink(fragment) {
  const [, packed] = /(?:^|[#&])s=([^&]*)/.exec(fragment) ?? [];
  if (packed === undefined) return null;
  if (packed.length > MOST_LINK || !/^[\w-]+$/.test(packed)) throw new Error("it is too long, or not in base64");
  const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await through(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream("deflate-raw"), MOST_TEXT);
  return stateOf(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) ?? {});
}

/** The four parts of a state, each of its type; anything else is left out. */
function stateOf({ text, name, seed, files } = {}) {
  if (typeof text !== "string") throw new Error("it holds no scenario");
  const listed = files && typeof files === "object" ? Object.entries(files) : [];
  return {
    text,
    name: typeof name === "string" && name ? name.slice(0, 80) : "scenario.toml",
    seed: isSeed(seed) ? seed : 1,
    files: Object.fromEntries(listed.filter(([, content]) => typeof content === "string")),
  };
}

function isSeed(seed) {
  return Number.isSafeInteger(seed) && seed >= 0;
}
