import { type Hapax, HapaxError } from "hapax";
import { timesHappened } from "../outside-world.js";
import { startTwo } from "../processes.js";
import { LEASE_MS } from "../shop.js";

export const ORDER = "order-17";

export interface CrashReport {
  readonly leaseMs: number;
  readonly killedPid: number;
  readonly killedToken: string;
  readonly killedAtMs: number;
  /** What duplicates were told while the dead worker's lease still ran. */
  readonly duplicates: { readonly atMs: number; readonly codes: readonly string[]; readonly retryAfterMs: number };
  readonly takeover: { readonly atMs: number; readonly pid: number; readonly token: string; readonly attempt: number };
  readonly finished: { readonly atMs: number; readonly value: unknown };
  readonly timesReserved: number;
  readonly timesShipped: number;
}

/** A worker is killed between two steps of its work; another takes over when its lease is over. */
export async function crash(folder: string, hapax: Pick<Hapax, "run">): Promise<CrashReport> {
  const [first, second] = await startTwo("ship-order", folder, ORDER);

  first.start();
  const working = await first.hear("working");
  const startMs = performance.now();
  const at = () => performance.now() - startMs;
  first.signal("SIGKILL");
  const killedAtMs = at();

  const refusals = await Promise.all([1, 2, 3].map(() => refusal(hapax)));
  const duplicatesAtMs = at();

  second.start();
  const takeover = await second.hear("working");
  const takeoverAtMs = at();
  const { value } = await second.hear("finished");

  return {
    leaseMs: LEASE_MS,
    killedPid: first.pid,
    killedToken: working.token,
    killedAtMs,
    duplicates: {
      atMs: duplicatesAtMs,
      codes: refusals.map(({ code }) => code),
      retryAfterMs: Math.max(...refusals.map(({ retryAfterMs }) => retryAfterMs ?? 0)),
    },
    takeover: { atMs: takeoverAtMs, pid: second.pid, token: takeover.token, attempt: takeover.attempt },
    finished: { atMs: at(), value },
    timesReserved: timesHappened(folder, `reserve stock for ${ORDER}`),
    timesShipped: timesHappened(folder, `courier takes ${ORDER}`),
  };
}

async function refusal(hapax: Pick<Hapax, "run">): Promise<HapaxError> {
  try {
    await hapax.run({ scope: "orders", key: ORDER, onBusy: "reject" }, () => "must not run");
  } catch (error) {
    if (error instanceof HapaxError) return error;
    throw error;
  }
  throw new Error("a duplicate ran while the claim was live");
}
