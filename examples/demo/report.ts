import type { HapaxRecord } from "hapax";
import type { CrashReport } from "./acts/crash.js";
import type { StormReport } from "./acts/duplicate-storm.js";
import type { MismatchReport } from "./acts/mismatch.js";
import type { StallReport } from "./acts/stall.js";

/** Everything that the demo measured. */
export interface DemoReport {
  readonly storm: StormReport;
  readonly crash: CrashReport;
  readonly stall: StallReport;
  readonly mismatch: MismatchReport;
  readonly records: readonly RecordReport[];
  readonly elapsedMs: number;
}

export interface RecordReport {
  readonly name: string;
  readonly status: string;
  readonly token: string;
  readonly runs: number;
  readonly seen: number;
  readonly result: unknown;
}

export function toRecordReport({ scope, key, status, token, runs, seen, result }: HapaxRecord): RecordReport {
  return { name: `${scope}/${key}`, status, token, runs, seen, result };
}

// What must be true of each act. The demo measures, and says so if it is not.

export function chargedOnce({ deliveries, charges, ran, answered, differentReceipts }: StormReport): boolean {
  return charges === 1 && ran === 1 && answered === deliveries && differentReceipts === 1;
}

export function recovered({ duplicates, takeover, timesReserved, timesShipped }: CrashReport): boolean {
  const toldToWait = duplicates.codes.every((code) => code === "in-progress");
  return toldToWait && takeover.attempt === 2 && timesReserved === 1 && timesShipped === 1;
}

export function fenced({ stalledToken, takeover, refused }: StallReport): boolean {
  return refused.code === "claim-lost" && BigInt(takeover.token) > BigInt(stalledToken);
}

export function refusedMismatch({ code, charges }: MismatchReport): boolean {
  return code === "key-reused" && charges === 1;
}

export function allTrue({ storm, crash, stall, mismatch }: DemoReport): boolean {
  return chargedOnce(storm) && recovered(crash) && fenced(stall) && refusedMismatch(mismatch);
}
