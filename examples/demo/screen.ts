import type { CrashReport } from "./acts/crash.js";
import type { StormReport } from "./acts/duplicate-storm.js";
import type { MismatchReport } from "./acts/mismatch.js";
import type { StallReport } from "./acts/stall.js";
import { chargedOnce, type DemoReport, fenced, recovered, refusedMismatch } from "./report.js";

/** Turns what was measured into lines of at most 100 columns. Colour marks only titles and verdicts. */
export interface Screen {
  opening(): string;
  storm(report: StormReport): string;
  crash(report: CrashReport): string;
  stall(report: StallReport): string;
  mismatch(report: MismatchReport): string;
  closing(report: Pick<DemoReport, "records" | "elapsedMs">): string;
}

export function createScreen(colour: boolean): Screen {
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const strong = (text: string) => paint(1, text);
  const faint = (text: string) => paint(2, text);

  const title = (number: number, text: string, about: string) => `${strong(`${number}  ${text}`)}  ${faint(about)}`;
  const verdict = (ok: boolean, text: string) => `   ${ok ? paint(32, "✓") : paint(31, "✗ NOT TRUE:")} ${text}`;
  const moment = (atMs: number, text: string) => `   ${faint(`${number(atMs).padStart(5)} ms`)}  ${text}`;
  const screen = (...lines: string[]) => lines.join("\n");

  return {
    opening: () =>
      screen(
        `${strong("hapax")}  effects happen once: duplicates, crashes, stalls and mistakes included.`,
        faint("Real processes and real signals on one SQLite file. Every figure is measured in this run."),
      ),

    storm: (report) =>
      screen(
        "",
        title(1, "A storm of duplicates", `one payment, ${number(report.deliveries)} deliveries at the same moment`),
        moment(0, `${report.processes} processes call hapax.run() for the same key`),
        moment(report.elapsedMs, `all ${number(report.answered)} callers have their answer`),
        verdict(
          chargedOnce(report),
          `card charged ${times(report.charges)}; ${number(report.answered - report.ran)} callers got the stored ` +
            `receipt; different receipts: ${report.differentReceipts}`,
        ),
      ),

    crash: (report) =>
      screen(
        "",
        title(2, "A crash", `an order in two steps, lease ${number(report.leaseMs)} ms`),
        moment(
          report.killedAtMs,
          `worker ${report.killedPid} (token ${report.killedToken}) has reserved the stock, and is killed: SIGKILL`,
        ),
        moment(
          report.duplicates.atMs,
          `${report.duplicates.codes.length} duplicates ask: ${[...new Set(report.duplicates.codes)].join(", ")}, ` +
            `retry after ${number(report.duplicates.retryAfterMs)} ms`,
        ),
        moment(
          report.takeover.atMs,
          `the lease is over: worker ${report.takeover.pid} takes over (token ${report.takeover.token}, attempt ${report.takeover.attempt})`,
        ),
        moment(report.finished.atMs, `done: ${String(report.finished.value)}`),
        verdict(
          recovered(report),
          `stock reserved ${times(report.timesReserved)}, by the dead worker: its finished step was not run again; ` +
            `shipped ${times(report.timesShipped)}`,
        ),
      ),

    stall: (report) =>
      screen(
        "",
        title(3, "A stall", `a report, lease ${number(report.leaseMs)} ms`),
        moment(0, `worker ${report.stalledPid} (token ${report.stalledToken}) stands still in its work: SIGSTOP`),
        moment(
          report.takeover.atMs,
          `the lease is over: worker ${report.takeover.pid} takes over (token ${report.takeover.token})`,
        ),
        moment(report.finished.atMs, `done: ${String(report.finished.value)}`),
        moment(report.wokenAtMs, `worker ${report.stalledPid} goes on as if nothing had happened: SIGCONT`),
        moment(report.refused.atMs, `its result arrives at the store with token ${report.stalledToken}`),
        verdict(
          fenced(report),
          `refused (${report.refused.code}): token ${report.stalledToken} is older than ${report.takeover.token}; ` +
            "the newer result stands",
        ),
      ),

    mismatch: (report) =>
      screen(
        "",
        title(4, "A mistake", "the key of that payment once more, with another amount"),
        verdict(
          refusedMismatch(report),
          `refused (${report.code}): ${euros(report.otherAmountCents)} is not ${euros(report.amountCents)}; ` +
            `card still charged ${times(report.charges)}`,
        ),
      ),

    closing: ({ records, elapsedMs }) =>
      screen(
        "",
        strong("What the store knows now"),
        ...table(
          ["record", "status", "token", "runs", "seen", "result"],
          records.map(({ name, status, token, runs, seen, result }) => [
            ...[name, status, token, number(runs), number(seen)],
            typeof result === "string" ? result : JSON.stringify(result),
          ]),
        ).map((line, index) => `   ${index === 0 ? faint(line) : line}`),
        "",
        `${strong("Next")}  docs/guide.md to use it · examples/demo/workers/ to see these workers' code · npm test`,
        faint(`This took ${(elapsedMs / 1000).toFixed(1)} s. Its processes and files are cleaned up.`),
      ),
  };
}

function number(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function times(count: number): string {
  return count === 1 ? "once" : `${number(count)} times`;
}

function euros(cents: number): string {
  return `€${(cents / 100).toLocaleString("en-US", { minimumFractionDigits: 2 })}`;
}

/** Columns as wide as they need to be; figures stand right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const width = head.map((_, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length)));
  const isFigure = head.map((_, column) => rows.every((row) => /^[\d,]+$/.test(row[column] ?? "")));
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => {
        const wide = width[column] ?? 0;
        return isFigure[column] ? cell.padStart(wide) : cell.padEnd(wide);
      })
      .join("  ")
      .trimEnd(),
  );
}
