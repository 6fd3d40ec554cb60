// Opens a report in headless chromium, uses it as a reader would, and prints what happened as JSON.
// Usage: node visit.mjs MODULES CHROMIUM REPORT FOLDER   (FOLDER: where the pictures and the PDF go)
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, chromium, report, folder] = process.argv.slice(2).map((one) => resolve(one));
const require = createRequire(join(modules, "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const address = pathToFileURL(report).href;
const profile = mkdtempSync(join(tmpdir(), "causalaudit-browser-"));
const seen = { console: [], requests: [], dialogs: [], widths: {}, axe: {} };

const browser = await puppeteer.launch({
  executablePath: chromium,
  headless: true,
  userDataDir: profile,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
try {
  const page = await browser.newPage();
  page.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.console.push(`error: ${error.message}`));
  page.on("request", (request) => { if (request.url() !== address && !request.url().startsWith("data:")) { seen.requests.push(request.url()); } });
  page.on("dialog", (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });

  for (const [width, height] of [[1280, 900], [390, 844]]) {
    await page.setViewport({ width, height });
    await page.goto(address, { waitUntil: "load" });
    seen.widths[width] = await page.evaluate(() => ({
      scrolls: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      answer: Math.round(document.querySelector(".cards").getBoundingClientRect().bottom),
    }));
    await page.screenshot({ path: join(folder, `first-${width}.png`) });
    const whole = await page.evaluate(() => document.documentElement.scrollHeight);
    const clip = { x: 0, y: 0, width, height: Math.min(whole, 14000) };
    await page.screenshot({ path: join(folder, `whole-${width}.png`), clip, captureBeyondViewport: true });
  }

  await page.setViewport({ width: 1280, height: 900 });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(address, { waitUntil: "load" });
    await page.screenshot({ path: join(folder, `${scheme}.png`) });
    await page.evaluate(axe);
    const found = await page.evaluate((s) => window.axe.run(document, s === "dark"
      ? { resultTypes: ["violations"], runOnly: ["color-contrast"] } : { resultTypes: ["violations"] }), scheme);
    seen.axe[scheme] = found.violations.map((one) => ({
      id: one.id, impact: one.impact, nodes: one.nodes.map((node) => node.target.join(" ")).slice(0, 5),
    }));
  }
  await page.emulateMediaFeatures([]);
  await page.goto(address, { waitUntil: "load" });
  seen.page = await page.evaluate(() => ({
    ran: typeof window.hacked,
    scripts: document.scripts.length,
    handlers: Array.from(document.querySelectorAll("*")).filter((one) =>
      Array.from(one.attributes).some((attribute) => /^on/i.test(attribute.name))).length,
    foreign: document.querySelectorAll("img, iframe, object, embed, link, base, form, audio, video").length,
    headings: Array.from(document.querySelectorAll("h1, h2, h3, h4, h5, h6")).map((one) => Number(one.tagName[1])),
    unnamed: Array.from(document.querySelectorAll("svg")).filter((one) =>
      !one.querySelector("title") || one.getAttribute("role") !== "img").length,
    twice: (() => {
      const all = Array.from(document.querySelectorAll("[id]")).map((one) => one.id);
      return all.length - new Set(all).size;
    })(),
    captions: Array.from(document.querySelectorAll("table")).filter((one) => !one.caption).length,
    text: document.body.innerText,
  }));

  const column = (table, place) => page.evaluate((t, p) => Array.from(document.getElementById(t).tBodies[0].rows)
    .filter((row) => !row.hidden).map((row) => row.cells[p].dataset.n ?? row.cells[p].textContent), table, place);
  const sort = (table, place) => page.evaluate((t, p) =>
    document.getElementById(t).tHead.rows[0].cells[p].getAttribute("aria-sort"), table, place);
  seen.tables = [];
  const tables = await page.evaluate(() => Array.from(document.querySelectorAll("table")).map((one) => [one.id,
    one.tHead.rows[0].cells.length, one.tBodies[0].rows.length, one.caption.textContent]));
  for (const [id, columns, rows, caption] of tables.filter((one) => one[2] > 1)) {
    const place = Math.min(1, columns - 1);
    const button = await page.$(`[id="${id}"] thead th:nth-child(${place + 1}) button`);
    const before = await column(id, place);
    await button.focus();
    await page.keyboard.press("Enter");
    const up = [await sort(id, place), await column(id, place)];
    await page.keyboard.press("Space");
    const down = [await sort(id, place), await column(id, place)];
    await page.keyboard.press("Enter");
    const after = await column(id, place);
    const one = { id, caption, rows, before, up, down, after };
    const input = await page.$(`[aria-controls="${id}"]`);
    if (input) {
      const word = await page.evaluate((t) => document.getElementById(t).tBodies[0].rows[1].cells[0].textContent, id);
      await input.type(word.slice(0, 40));
      one.filter = { word: word.slice(0, 40), left: await column(id, 0),
        said: await page.evaluate((t) => document.querySelector(`[aria-controls="${t}"]`).nextSibling.textContent, id) };
      await input.evaluate((element) => { element.value = ""; element.dispatchEvent(new Event("input")); });
      one.filter.back = (await column(id, 0)).length;
    }
    seen.tables.push(one);
  }
  await page.pdf({ path: join(folder, "printed.pdf"), format: "A4", preferCSSPageSize: true });
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
console.log(JSON.stringify(seen));
