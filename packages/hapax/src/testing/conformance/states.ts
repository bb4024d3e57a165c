import type { ClaimRequest } from "../../core/store.js";
import { expectKind, type Granted } from "./expect.js";
import { BRIEF_MS, type Trial } from "./trial.js";

/** Where a record can stand. `expired` is running with its lease over; `released` and `final` are kinds of failed. */
export type State = "running" | "expired" | "failed" | "released" | "done" | "final" | "uncertain";

export const STATES: readonly State[] = ["running", "expired", "failed", "released", "done", "final", "uncertain"];

/** Brings a record to a state by one claim, seen and run once; answers its grant. */
export async function reach(trial: Trial, state: State, fields: Partial<ClaimRequest> = {}): Promise<Granted> {
  const key = fields.key ?? "key";
  switch (state) {
    case "running":
      return trial.grant(fields);
    case "expired": {
      const granted = await trial.grant({ leaseMs: BRIEF_MS, ...fields });
      await trial.pass(BRIEF_MS);
      return granted;
    }
    case "failed": {
      const granted = await trial.grant(fields);
      expectKind(await trial.fail(granted.token, { key }), "settled");
      return granted;
    }
    case "released": {
      const granted = await trial.grant(fields);
      expectKind(await trial.release(granted.token, { key }), "settled");
      return granted;
    }
    case "done": {
      const granted = await trial.grant(fields);
      expectKind(await trial.complete(granted.token, { key }), "settled");
      return granted;
    }
    case "final": {
      const granted = await trial.grant(fields);
      expectKind(await trial.fail(granted.token, { key, permanent: true }), "settled");
      return granted;
    }
    case "uncertain": {
      const granted = await trial.grant({ leaseMs: BRIEF_MS, ...fields, onAbandoned: "hold" });
      await trial.pass(BRIEF_MS);
      expectKind(await trial.claim({ key, arrivals: 0 }), "uncertain");
      return granted;
    }
  }
}
