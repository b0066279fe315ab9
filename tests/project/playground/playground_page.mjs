// Drives the playground in a browser, as a person would, and writes what it saw as JSON: `node playground_page.mjs URL CHROMIUM FOLDER`.
// FOLDER gets the screenshots. playwright-core is found through NODE_PATH.
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.NODE_PATH + "/")("playwright-core");
const [url, executablePath, folder] = process.argv.slice(2);
const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });
const origin = new URL(url).origin;
const seen = { foreign: [], errors: [] };

async function page(options) {
  const context = await browser.newContext(options);
  const found = await context.newPage();
  found.on("request", (request) => {
    if (new URL(request.url()).origin !== origin && !request.url().startsWith("data:")) seen.foreign.push(request.url());
  });
  found.on("pageerror", (error) => seen.errors.push(String(error)));
  found.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  return found;
}

async function settled(found, action) {
  const before = await found.evaluate(() => document.body.dataset.done ?? "");
  await action();
  await found.waitForFunction((old) => (document.body.dataset.done ?? "") !== old && document.getElementById("state").textContent !== "working", before, { timeout: 100000 });
  await found.waitForTimeout(600);
}

const output = (found) => found.locator("#output").textContent();
const overflow = (found) => found.evaluate(() => document.documentElement.scrollWidth - innerWidth);

const desktop = await page({ viewport: { width: 1400, height: 850 }, colorScheme: "light" });
await settled(desktop, () => desktop.goto(url));
seen.plan = await output(desktop);
await desktop.screenshot({ path: `${folder}/desktop-light.png` });

await settled(desktop, () => desktop.getByRole("tab", { name: "Table" }).click());
await settled(desktop, () => desktop.locator("#numbers").fill("B=1 S=1024 c=1024 H=1024 F=4096 e=2 t=8"));
seen.table = await output(desktop);
await settled(desktop, () => desktop.getByRole("tab", { name: "Picture" }).click());
seen.tasks = await desktop.locator("#picture [data-task]").count();
await desktop.screenshot({ path: `${folder}/desktop-picture.png` });

await settled(desktop, () => desktop.getByRole("tab", { name: "Text" }).click());
await desktop.locator(".cm-content").click();
await desktop.keyboard.press("Control+End");
await settled(desktop, () => desktop.keyboard.type("\nmodel.blok @x"));
seen.said = await desktop.locator("#said").textContent();
seen.marked = await desktop.locator(".cm-lintRange-error").count();
await desktop.screenshot({ path: `${folder}/desktop-mistake.png` });
seen.address = desktop.url();

const other = await page({ viewport: { width: 1400, height: 850 }, colorScheme: "dark" });
await settled(other, () => other.goto(seen.address));
seen.again = await other.locator("#said").textContent();
await settled(other, () => other.locator("#example").selectOption("gpt3_175b_training.bpir"));
await settled(other, () => other.getByRole("tab", { name: "Picture" }).click());
await other.screenshot({ path: `${folder}/desktop-dark.png` });

for (const scheme of ["light", "dark"]) {
  const phone = await page({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, colorScheme: scheme });
  await settled(phone, () => phone.goto(url));
  seen[`phone_${scheme}`] = await overflow(phone);
  await phone.screenshot({ path: `${folder}/phone-${scheme}.png` });
}
seen.desktop = await overflow(desktop);
console.log(JSON.stringify(seen));
await browser.close();
