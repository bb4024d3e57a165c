/** hapax in one screen: `npm start`, or `npm start -- --json` for machines. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crash } from "./acts/crash.js";
import { duplicateStorm } from "./acts/duplicate-storm.js";
import { mismatch } from "./acts/mismatch.js";
import { stall, startReportWriters } from "./acts/stall.js";
import { endAllWorkers } from "./processes.js";
import { allTrue, type DemoReport, toRecordReport } from "./report.js";
import { createScreen } from "./screen.js";
import { openShop } from "./shop.js";

const PATIENCE_MS = 60_000;

const { NO_COLOR } = process.env;
const json = process.argv.includes("--json");
const screen = createScreen(process.stdout.isTTY === true && !NO_COLOR);
const folder = mkdtempSync(join(tmpdir(), "hapax-demo-"));

// However this ends, nothing is left behind.
process.on("exit", () => {
  endAllWorkers();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
setTimeout(() => {
  console.error(`The demo is not done after ${PATIENCE_MS / 1000} s, and gives up.`);
  process.exit(1);
}, PATIENCE_MS).unref();

const report = await perform();
if (json) console.log(JSON.stringify(report, null, 2));
process.exitCode = allTrue(report) ? 0 : 1;

async function perform(): Promise<DemoReport> {
  const startMs = performance.now();
  const show = (text: string) => {
    if (!json) console.log(text);
  };
  show(screen.opening());
  await using hapax = await openShop(folder);

  const storm = await duplicateStorm(folder);
  show(screen.storm(storm));
  // They start while the crash waits for its lease.
  const writers = startReportWriters(folder);
  const crashed = await crash(folder, hapax);
  show(screen.crash(crashed));
  const stalled = await stall(await writers);
  show(screen.stall(stalled));
  const mismatched = await mismatch(folder, hapax);
  show(screen.mismatch(mismatched));

  const { records } = await hapax.list();
  const ending = { records: records.map(toRecordReport), elapsedMs: performance.now() - startMs };
  show(screen.closing(ending));
  return { storm, crash: crashed, stall: stalled, mismatch: mismatched, ...ending };
}
