import { execFile } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { BenchOptions } from "../main.js";
import { type Figure, median, type Report } from "../report.js";
import { openContest } from "./contest.js";
import { inMemory } from "./in-memory.js";

const CALLERS = 256;
/** The short form has too few calls to warm up; it only notices when something is badly off. */
const SHORT_SLACK = 3;

/** hapax on SQLite with full fsync, against loops that a careful engineer would write by hand on the same table. */
export async function benchSqlite({ short, progress }: BenchOptions): Promise<Report> {
  const slack = short ? SHORT_SLACK : 1;
  const callsARound = short ? 15_000 : 40_000;
  const rounds = short ? 3 : 7;
  const contest = await openContest(CALLERS);
  const pairs: Contestants = { ours: [], theirs: [] };
  const reads: Contestants = { ours: [], theirs: [] };
  try {
    await contest.warmUp(short ? 10_000 : 40_000);
    // Both take turns in every round, so that a noisy neighbour harms both alike.
    for (let round = 0; round < rounds; round += 1) {
      progress(`round ${round + 1} of ${rounds}`);
      pairs.theirs.push(contest.pairsByHand(callsARound));
      pairs.ours.push(await contest.pairsByHapax(callsARound));
      reads.theirs.push(contest.readsByHand(callsARound));
      reads.ours.push(await contest.replaysByHapax(callsARound));
    }
  } finally {
    contest.close();
  }
  progress("in memory");
  const overheadUs = await inMemory(short ? 20_000 : 100_000, CALLERS);
  const [small, large] = short ? [10_000, 100_000] : [10_000, 1_000_000];
  progress(`memory after ${large.toLocaleString("en-US")} keys`);
  const growthMb = await growth(small, large);
  return {
    title: `hapax on SQLite, synchronous=FULL, ${CALLERS} callers in one process (${rounds} rounds of ${callsARound} calls)`,
    machine: `node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}`,
    figures: [
      ...compared("claim + complete", pairs, "a hand-written loop, 100 pairs a transaction", 0.6 / slack),
      ...compared("replay", reads, "raw prepared reads of the record", 0.4 / slack),
      { name: "run() in memory, one caller", value: overheadUs.alone, unit: "µs" },
      { name: `run() in memory, ${CALLERS} callers`, value: overheadUs.together, unit: "µs" },
      {
        name: `resident memory, ${large.toLocaleString("en-US")} keys`,
        value: growthMb,
        unit: "MB more",
        against: `than after ${small.toLocaleString("en-US")}`,
        bar: `≤ ${20 * slack}`,
        ok: growthMb <= 20 * slack,
      },
    ],
  };
}

/** Calls a second, one entry a round. */
interface Contestants {
  readonly ours: number[];
  readonly theirs: number[];
}

function compared(name: string, { ours, theirs }: Contestants, against: string, bar: number): Figure[] {
  const ratio = median(ours.map((rate, round) => rate / (theirs[round] ?? Number.NaN)));
  return [
    { name: `${name}: hapax`, value: median(ours), unit: "a second" },
    { name: `${name}: by hand`, value: median(theirs), unit: "a second", against },
    {
      name: `${name}: ratio`,
      value: ratio,
      unit: "",
      against: "median of the rounds",
      bar: `≥ ${bar.toFixed(2)}`,
      ok: ratio >= bar,
    },
  ];
}

/** In a process of its own: resident memory is the whole process's. */
async function growth(small: number, large: number): Promise<number> {
  const program = fileURLToPath(new URL("memory-growth.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--expose-gc",
    "--import",
    "tsx",
    program,
    String(small),
    String(large),
  ]);
  return Number(stdout);
}
