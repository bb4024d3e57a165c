import { startTwo, type Worker } from "../processes.js";
import { LEASE_MS } from "../shop.js";

export const REPORT = "report-9";

export interface StallReport {
  readonly leaseMs: number;
  readonly stalledPid: number;
  readonly stalledToken: string;
  readonly takeover: { readonly atMs: number; readonly pid: number; readonly token: string };
  readonly finished: { readonly atMs: number; readonly value: unknown };
  readonly wokenAtMs: number;
  readonly refused: { readonly atMs: number; readonly code: string; readonly aborted: boolean };
}

export function startReportWriters(folder: string): Promise<[Worker, Worker]> {
  return startTwo("write-report", folder, REPORT);
}

/** A worker stands still past its lease, wakes when another has done its work, and tries to finish all the same. */
export async function stall([first, second]: readonly [Worker, Worker]): Promise<StallReport> {
  first.start();
  const working = await first.hear("working");
  const startMs = performance.now();
  const at = () => performance.now() - startMs;
  first.signal("SIGSTOP");

  second.start();
  const takeover = await second.hear("working");
  const takeoverAtMs = at();
  const { value } = await second.hear("finished");
  const finishedAtMs = at();

  first.signal("SIGCONT");
  const wokenAtMs = at();
  const refused = await first.hear("refused");
  return {
    leaseMs: LEASE_MS,
    stalledPid: first.pid,
    stalledToken: working.token,
    takeover: { atMs: takeoverAtMs, pid: second.pid, token: takeover.token },
    finished: { atMs: finishedAtMs, value },
    wokenAtMs,
    refused: { atMs: at(), code: refused.code, aborted: refused.aborted },
  };
}
