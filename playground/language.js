// Colours of the language in the editor: the words of the grammar are those that the Pygments lexer knows (words.json, made when this is built).
import { StreamLanguage } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import words from "words";

const known = new Set(words);

export const bpir = StreamLanguage.define({
  name: "bpir",
  startState: () => ({}),
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/\/\/.*/)) return "comment";
    if (stream.match(/@"(?:[^"\\]|\\.)*"|@[A-Za-z_][\w$.-]*/)) return "global";
    if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/%[\w$.-]+/)) return "value";
    if (stream.match(/[!#^][\w$.-]+/)) return "typeName";
    if (stream.match(/[a-z_]\w*\.[a-z_][\w.$]*/)) return "operation";
    if (stream.match(/(?:module|return)\b/)) return "operation";
    if (stream.match(/0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?/)) return "number";
    if (stream.match(/[A-Za-z_][\w$]*/)) return known.has(stream.current()) ? "keyword" : "name";
    stream.next();
    return null;
  },
  tokenTable: {
    global: tags.labelName,
    value: tags.variableName,
    operation: tags.function(tags.name),
    name: tags.name,
  },
  languageData: { commentTokens: { line: "//" } },
});
