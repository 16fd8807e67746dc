// Values as the language writes them, read back so that they can be shown as trees and tables. What is no such value, or was
// cut in its middle, gives `undefined`, and is shown as text.

/** A keyword, a symbol, a tagged value or what stands for items that are left out: shown as it is written. */
export class Word {
  constructor(text) {
    this.text = text;
  }
  toString() {
    return this.text;
  }
}

const ENDS = { "[": "]", "(": ")", "{": "}", "#{": "}" };
const PIECE = /\s*,*\s*(#\{|[[\](){}]|"(?:\\[\s\S]|[^"\\])*"|;[^\n]*|[^\s,()[\]{}"]+)/y;
/** Levels that are read. */
const DEEPEST = 64;

function* pieces(text) {
  PIECE.lastIndex = 0;
  for (;;) {
    const at = PIECE.lastIndex;
    const match = PIECE.exec(text);
    if (!match) {
      if (text.slice(at).trim() !== "") throw new Error("not a value");
      return;
    }
    if (!match[1].startsWith(";")) yield match[1];
  }
}

function word(piece) {
  if (piece.startsWith('"')) return JSON.parse(piece.replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t"));
  if (piece === "nil") return null;
  if (piece === "true" || piece === "false") return piece === "true";
  // Numbers that JavaScript would round stay as they are written.
  if (/^-?\d+$/.test(piece)) return Number.isSafeInteger(Number(piece)) ? Number(piece) : new Word(piece);
  if (/^-?\d+\.\d+(?:[eE][-+]?\d+)?$/.test(piece)) return piece.length < 16 ? Number(piece) : new Word(piece);
  return new Word(piece);
}

const keyOf = (key) => (key instanceof Word ? key.text.replace(/^:/, "") : typeof key === "string" ? key : JSON.stringify(key));

function closed(kind, items) {
  if (kind !== "{") return items;
  const fields = Object.create(null);
  const plain = items.filter((item) => !(item instanceof Word && item.text === "...") && !(item instanceof Word && /^\+\d+$/.test(item.text)));
  if (plain.length % 2 === 1) throw new Error("not a map");
  for (let at = 0; at < plain.length; at += 2) fields[keyOf(plain[at])] = plain[at + 1];
  if (plain.length < items.length) fields["…"] = new Word(items.slice(plain.length).map(String).join(" "));
  return fields;
}

/** The value that a text is, or `undefined`. */
export function read(text) {
  const open = [{ kind: null, items: [] }];
  try {
    for (const piece of pieces(text)) {
      const top = open.at(-1);
      if (piece in ENDS) {
        if (open.length > DEEPEST) return undefined;
        open.push({ kind: piece, items: [] });
      } else if ("])}".includes(piece)) {
        if (ENDS[top.kind] !== piece) return undefined;
        open.pop();
        open.at(-1).items.push(closed(top.kind, top.items));
      } else top.items.push(word(piece));
    }
  } catch {
    return undefined;
  }
  const [{ items }] = open;
  return open.length === 1 && items.length === 1 ? items[0] : undefined;
}
