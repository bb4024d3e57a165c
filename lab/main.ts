import { parseArgs } from "node:util";
import { plantedBugs } from "./simulation/planted-suite.js";
import { simulation } from "./simulation/suite.js";
import type { LabOptions, Suite } from "./suite.js";

/**
 * `npm run lab [-- --short] [--runs N] [--seed S] [--json]`: the long suites, with progress, one summary, one exit code.
 * With `--path P` beside a seed only the run of the simulation that failed there.
 */
const SUITES: readonly Suite[] = [simulation, plantedBugs];

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    runs: { type: "string" },
    seed: { type: "string" },
    path: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const options: LabOptions = {
  runs: whole("runs", values.runs) ?? (values.short ? 1_000 : 20_000),
  // New ones in the long form; the short one must not pass today and fail tomorrow.
  seed: whole("seed", values.seed) ?? (values.short ? 1 : Math.floor(Math.random() * 2 ** 31)),
  path: values.path,
  short: values.short,
  progress: (line) => {
    if (!values.json) process.stderr.write(process.stderr.isTTY ? `\r\x1b[K  ${line}` : "");
  },
};

const results = [];
for (const suite of options.path === undefined ? SUITES : [simulation]) {
  const startedMs = performance.now();
  if (!values.json) console.log(`\n${suite.name}`);
  const result = await suite.run(options);
  const seconds = (performance.now() - startedMs) / 1_000;
  results.push({ suite: suite.name, seconds, ...result });
  options.progress("");
  if (!values.json) console.log(`${result.lines.map((line) => `  ${line}`).join("\n")}\n  ${seconds.toFixed(1)} s`);
}

const failed = results.filter(({ ok }) => !ok);
if (values.json) console.log(JSON.stringify({ seed: options.seed, results }, undefined, 2));
else console.log(failed.length === 0 ? "\nAll suites hold." : `\n${failed.length} of ${results.length} suites FAILED.`);
process.exitCode = failed.length === 0 ? 0 : 1;

function whole(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`--${name} takes a whole number; got ${text}.`);
  process.exit(2);
}
