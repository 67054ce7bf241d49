// Makes untrusted text safe to show, like core/text.py: no terminal codes; characters that are
// invisible or change the text direction are shown by number.  Newlines and tabs stay.

const CODES = /\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[ -/]{0,4}[0-~]/g;
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu;
// JSON escapes only the low control characters.
const SUSPECT = new RegExp(`\\\\(?:u00[01]|[bfr])|${HIDDEN.source}`, "u");

const escapeChar = (char) => {
  const code = char.codePointAt(0);
  const [sign, digits] = code > 0xffff ? ["U", 8] : code > 0xff ? ["u", 4] : ["x", 2];
  return `\\${sign}${code.toString(16).padStart(digits, "0")}`;
};

export const plain = (text) => text.replace(CODES, "").replace(/\r\n?/g, "\n").replace(HIDDEN, escapeChar);

/** Cleans a document of the server; most need no change and are not traversed. */
export function parseSafely(text) {
  const data = JSON.parse(text);
  return SUSPECT.test(text) ? cleanValue(data) : data;
}

function cleanValue(value) {
  if (typeof value === "string") return plain(value);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, content]) => [plain(name), cleanValue(content)]));
}
