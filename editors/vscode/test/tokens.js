// Prints, as JSON, the tokens that VS Code's own engine finds in each file: [line, start, end, scope], white space left out.
//   node test/tokens.js GRAMMAR FILE...
const fs = require("fs");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

async function main(grammarPath, files) {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarPath, "utf8"), grammarPath),
  });
  const grammar = await registry.loadGrammar("source.bpir");
  const found = {};
  for (const file of files) {
    let stack = textmate.INITIAL;
    found[file] = [];
    fs.readFileSync(file, "utf8").split("\n").forEach((text, line) => {
      const { tokens, ruleStack } = grammar.tokenizeLine(text, stack);
      stack = ruleStack;
      for (const token of tokens) {
        if (text.slice(token.startIndex, token.endIndex).trim()) {
          found[file].push([line, token.startIndex, Math.min(token.endIndex, text.length), token.scopes[token.scopes.length - 1]]);
        }
      }
    });
  }
  process.stdout.write(JSON.stringify(found));
}

main(process.argv[2], process.argv.slice(3));
