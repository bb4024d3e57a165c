import { HapaxError } from "../errors.js";
import { answered } from "./answered.js";
import { decodeStored, encodeWithin } from "./codec.js";
import type { Engine } from "./engine.js";
import type { Operation } from "./operation.js";
import { outcomeUnknown } from "./refusals.js";
import type { Reconciled } from "./settings.js";
import type { ClaimResult, Resolution } from "./store.js";

/**
 * Asks the call's `reconcile` what became of an abandoned run, and writes its answer. Whoever else decides at the same
 * time is refused by the token, so the caller asks the store again either way.
 */
export async function reconcile(
  engine: Engine,
  operation: Operation,
  uncertain: ClaimResult & { kind: "uncertain" },
): Promise<void> {
  const { scope, key, settings } = operation;
  const { token, runs: attempt } = uncertain;
  engine.events.emit("uncertain", () => ({ scope, key, token, attempt }));
  const { codec } = engine;
  const metadata = uncertain.metadata && decodeStored(codec, uncertain.metadata, "The metadata");
  const decided: Reconciled | undefined = await settings.reconcile?.({ scope, key, token, attempt, metadata });
  if (decided === undefined) throw outcomeUnknown(operation, "its worker stopped before it reported");
  if (decided?.status !== "done" && decided?.status !== "failed") throw undecided();

  const to: Resolution["to"] =
    decided.status === "done"
      ? {
          status: "done",
          result: encodeWithin(engine.codec, decided.value, engine.resultBytesMax, "The result", "Return less."),
        }
      : { status: "failed", error: undefined, final: false };
  const resolution: Resolution = { scope, key, token, seenStatus: "uncertain", to };
  const result = await answered(engine, engine.store.resolve(resolution));
  if (result.kind === "resolved") engine.events.emit("resolved", () => ({ scope, key, token, status: to.status }));
}

function undecided(): HapaxError {
  return new HapaxError(
    "invalid-option",
    'reconcile must answer { status: "done", value } or { status: "failed" }, or nothing while it cannot tell.',
  );
}
