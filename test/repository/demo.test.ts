import { describe, expect, it } from "vitest";
import { allTrue, type DemoReport } from "../../examples/demo/report.js";
import { createScreen } from "../../examples/demo/screen.js";
import { bin, mustRun, requireBuild } from "./commands.js";
import { ROOT } from "./repository-files.js";

describe("the demo of `npm start`", () => {
  it("shows with real processes what it says, and fits on one screen", async () => {
    requireBuild();
    const report = JSON.parse(await mustRun(ROOT, bin("tsx"), "examples/demo/main.ts", "--json")) as DemoReport;
    expect(allTrue(report), JSON.stringify(report, null, 2)).toBe(true);
    expect(report.records.map(({ name, runs, seen }) => [name, runs, seen])).toEqual([
      ["orders/order-17", 2, 5],
      ["payments/payment-7f3a", 1, 1_000],
      ["reports/report-9", 2, 2],
    ]);

    const screen = createScreen(false);
    const lines = [
      screen.opening(),
      screen.storm(report.storm),
      screen.crash(report.crash),
      screen.stall(report.stall),
      screen.mismatch(report.mismatch),
      screen.closing(report),
    ]
      .join("\n")
      .split("\n");
    expect(lines.length).toBeLessThanOrEqual(45);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    expect(lines.filter((line) => line.includes("NOT TRUE"))).toEqual([]);
  }, 60_000);

  it("says so when a figure is not what it should be", () => {
    const storm = {
      processes: 4,
      deliveries: 1_000,
      charges: 2,
      ran: 2,
      answered: 1_000,
      differentReceipts: 1,
      elapsedMs: 9,
    };
    expect(createScreen(false).storm(storm)).toContain("NOT TRUE: card charged 2 times");
  });
});
