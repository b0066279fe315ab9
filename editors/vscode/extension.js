// Starts bp-lsp, and opens what it derives beside the document.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("bpir");
  const options = {
    documentSelector: [{ language: "bpir" }],
    initializationOptions: {
      allowUnregisteredDialect: settings.get("allowUnregisteredDialect"),
      showsDerived: true,
    },
    middleware: { executeCommand: derive },
  };
  client = new LanguageClient("bpir", "bpir", { command: settings.get("server") }, options);
  try {
    await client.start();
  } catch (error) {
    const hint = "Install it with: pip install 'bpir[lsp]', or set bpir.server.";
    vscode.window.showWarningMessage(`bpir: the language server did not start (${error.message}). ${hint}`);
  }
}

async function derive(command, args, next) {
  const answer = await next(command, args);
  if (command === "bpir.derive" && answer) {
    const document = await vscode.workspace.openTextDocument({ language: "bpir", content: answer.text });
    await vscode.window.showTextDocument(document, vscode.ViewColumn.Beside);
  }
  return answer;
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.isRunning()) await running.stop();
}

async function activate(context) {
  const restart = vscode.commands.registerCommand("bpir.restart", async () => {
    await stop();
    await start();
  });
  context.subscriptions.push(restart);
  await start();
}

module.exports = { activate, deactivate: stop };
