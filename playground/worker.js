// Python in a thread of its own, so that typing never waits: loads Pyodide and the wheels from beside this file, then answers requests.
import { loadPyodide } from "pyodide";

const PACKAGES = "/playground";
const here = new URL("./", self.location.href).href;

async function bytes(name) {
  const answer = await fetch(here + name);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function start() {
  const wheels = JSON.parse(new TextDecoder().decode(await bytes("wheels.json")));
  const [python, ...archives] = await Promise.all([
    loadPyodide({ indexURL: here + "pyodide/" }),
    ...wheels.map((name) => bytes("wheels/" + name)),
  ]);
  python.FS.mkdirTree(PACKAGES);
  for (const archive of archives) python.unpackArchive(archive, "wheel", { extractDir: PACKAGES });
  const session = new TextDecoder().decode(await bytes("session.py"));
  python.FS.writeFile(`${PACKAGES}/session.py`, session);
  python.runPython("import importlib, json, sys; sys.path.insert(0, '/playground'); importlib.invalidate_caches(); import session");
  return python.runPython("lambda request: json.dumps(session.run(**json.loads(request)))");
}

const ready = start();
ready.then(
  () => self.postMessage({ ready: true }),
  (error) => self.postMessage({ failed: String(error) }),
);

self.onmessage = async ({ data: { id, request } }) => {
  try {
    const run = await ready;
    self.postMessage({ id, answer: JSON.parse(run(JSON.stringify(request))) });
  } catch (error) {
    self.postMessage({ id, failed: String(error) });
  }
};
