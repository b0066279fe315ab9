// Runs the playground's Python under node: `node playground_node.mjs FOLDER` with requests as JSON on standard input, answers on standard output.
import fs from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const found = createRequire(process.env.NODE_PATH + "/").resolve("pyodide/package.json");
const { loadPyodide } = await import(pathToFileURL(found.replace("package.json", "pyodide.mjs")));
const folder = process.argv[2];
const python = await loadPyodide();
python.FS.mkdirTree("/playground");
for (const name of JSON.parse(fs.readFileSync(`${folder}/wheels.json`, "utf8")))
  python.unpackArchive(new Uint8Array(fs.readFileSync(`${folder}/wheels/${name}`)), "wheel", { extractDir: "/playground" });
python.FS.writeFile("/playground/session.py", fs.readFileSync(`${folder}/session.py`, "utf8"));
python.runPython("import importlib, json, sys; sys.path.insert(0, '/playground'); importlib.invalidate_caches(); import session");
const run = python.runPython("lambda request: json.dumps(session.run(**json.loads(request)))");
const requests = JSON.parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify(requests.map((request) => JSON.parse(run(JSON.stringify(request))))));
