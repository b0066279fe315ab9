// The page: an editor, what to derive, and what comes of it. The text and the choices are in the address, so that a link shows the same.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { bpir } from "./language.js";

const $ = (id) => document.getElementById(id);
const PASSES = {
  "": [],
  "distribute-inference": ["distribute-inference"],
  "plan-inference": ["distribute-inference", "plan-inference"],
  "distribute-training": ["distribute-training"],
  "plan-training": ["distribute-training", "plan-training"],
};
const colors = HighlightStyle.define([
  { tag: tags.comment, color: "var(--comment)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: tags.typeName, color: "var(--type)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: tags.labelName, color: "var(--global)" },
  { tag: tags.variableName, color: "var(--value)" },
  { tag: tags.function(tags.name), color: "var(--operation)" },
]);

let view = "text";
let last = 0;
let timer = 0;
const worker = new Worker(new URL("worker.js", document.baseURI), { type: "module" });

const editor = new EditorView({
  parent: $("editor"),
  state: EditorState.create({
    extensions: [
      lineNumbers(),
      history(),
      drawSelection(),
      highlightActiveLine(),
      bracketMatching(),
      lintGutter(),
      keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap]),
      bpir,
      syntaxHighlighting(colors),
      EditorView.contentAttributes.of({ "aria-label": "The text of a module", spellcheck: "false" }),
      EditorView.updateListener.of((update) => update.docChanged && later()),
    ],
  }),
});

function later() {
  clearTimeout(timer);
  timer = setTimeout(run, 350);
}

function run() {
  const options = $("options").value.trim();
  const passes = PASSES[$("derive").value].map((name, index) => (index === 0 && options ? `${name}{${options}}` : name));
  last += 1;
  $("state").textContent = document.body.dataset.ready ? "working" : "loading Python";
  const request = { text: editor.state.doc.toString(), passes, numbers: $("numbers").value, view };
  worker.postMessage({ id: last, request });
  remember();
}

worker.onmessage = ({ data }) => {
  if (data.ready) {
    document.body.dataset.ready = "yes";
    return;
  }
  if (data.failed) {
    $("state").textContent = "failed";
    $("said").textContent = data.failed;
    $("said").hidden = false;
    return;
  }
  if (data.id === last) show(data.answer);
};

function show({ output, said, status, places }) {
  const doc = editor.state.doc;
  const marks = places
    .filter((place) => place.line <= doc.lines)
    .map(({ line, column, length, severity, message }) => {
      const { from, to } = doc.line(line);
      const start = Math.min(from + column - 1, to);
      return { from: start, to: Math.min(start + length, to), severity: severity === "error" ? "error" : severity === "warning" ? "warning" : "info", message };
    });
  editor.dispatch(setDiagnostics(editor.state, marks));
  $("said").textContent = said;
  $("said").hidden = !said;
  $("state").textContent = status === 0 ? "" : "refused";
  document.body.dataset.status = String(status);
  const picture = view === "picture" && status === 0;
  $("picture").hidden = !picture;
  $("output").hidden = picture;
  if (picture) $("picture").innerHTML = output;
  else $("output").textContent = output;
  document.body.dataset.done = String(last);
}

// --- the address

async function through(stream, data) {
  return new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(stream)).arrayBuffer());
}

async function remember() {
  const said = { text: editor.state.doc.toString(), derive: $("derive").value, options: $("options").value, numbers: $("numbers").value, view };
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(said)));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  window.history.replaceState(null, "", "#" + letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""));
}

async function remembered() {
  const letters = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
  if (!letters) return null;
  try {
    const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), packed)));
  } catch {
    $("said").textContent = "The address does not hold a text: it was cut or changed.";
    $("said").hidden = false;
    return null;
  }
}

// --- choices

function set(text) {
  editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
}

async function open(name) {
  const answer = await fetch(`examples/${name}`);
  set(await answer.text());
}

for (const tab of document.querySelectorAll("[data-view]"))
  tab.addEventListener("click", () => choose(tab.dataset.view));

function choose(name) {
  view = name;
  for (const tab of document.querySelectorAll("[data-view]")) tab.setAttribute("aria-selected", String(tab.dataset.view === name));
  run();
}

for (const id of ["derive", "options", "numbers"]) $(id).addEventListener("input", later);
$("example").addEventListener("change", async () => {
  await open($("example").value);
  $("derive").value = $("example").value.includes("training") ? "plan-training" : "plan-inference";
  $("options").value = "";
  $("numbers").value = "";
});
$("link").addEventListener("click", async () => {
  await remember();
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  $("link").textContent = "Copied";
  setTimeout(() => ($("link").textContent = "Copy link"), 1500);
});

async function begin() {
  const names = await (await fetch("examples/index.json")).json();
  for (const name of names) $("example").append(new Option(name.replace(".bpir", ""), name));
  const kept = await remembered();
  if (kept) {
    for (const id of ["derive", "options", "numbers"]) $(id).value = kept[id] ?? "";
    view = ["text", "table", "picture"].includes(kept.view) ? kept.view : "text";
    if (!($("derive").value in PASSES)) $("derive").value = "";
    $("example").selectedIndex = -1;
    set(String(kept.text ?? ""));
    choose(view);
  } else {
    $("example").value = "mlp.bpir";
    $("derive").value = "plan-inference";
    await open("mlp.bpir");
    run();
  }
}

begin();
