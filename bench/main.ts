import { parseArgs } from "node:util";
import { printReport, type Report } from "./report.js";
import { benchSqlite } from "./sqlite/bench.js";

/** `npm run bench -- sqlite [--short] [--json]`: side by side, in one run, and the ratio is what counts. */
const SUITES: Readonly<Record<string, (options: BenchOptions) => Promise<Report>>> = { sqlite: benchSqlite };

export interface BenchOptions {
  /** A small form for continuous integration: fewer calls, the same comparisons. */
  readonly short: boolean;
  readonly progress: (line: string) => void;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
});
const name = positionals[0] ?? "sqlite";
const suite = SUITES[name];
if (suite === undefined) {
  console.error(`There is no benchmark "${name}". There are: ${Object.keys(SUITES).join(", ")}.`);
  process.exit(2);
}
const report = await suite({
  short: values.short,
  progress: (line) => {
    if (!values.json) console.error(`  … ${line}`);
  },
});
if (values.json) console.log(JSON.stringify(report, undefined, 2));
else printReport(report);
process.exitCode = report.figures.every(({ ok }) => ok !== false) ? 0 : 1;
