import type { Completion, Lease, Settlement, SettleResult } from "../../core/store.js";
import { decideSettle, sameBytes } from "../../core/transitions.js";
import { changedOne } from "./handle.js";
import { fromBytes, toBytes, toStoredRow } from "./rows.js";
import type { Statements } from "./statements.js";
import { dropSteps, rewrite } from "./write.js";

const LOST = { kind: "lost" } as const;

/** Settles one item inside the transaction that holds the file's write lock. */
export function settleOne(statements: Statements, settlement: Settlement, nowMs: number): SettleResult {
  if (settlement.kind === "complete" && completeOpen(statements, settlement, nowMs)) {
    return { kind: "settled", final: false };
  }
  const row = statements.find.get(settlement.scope, settlement.key);
  if (row === undefined) return LOST;
  const { steps, record } = toStoredRow(row);
  const { result, write } = decideSettle(record, settlement, nowMs);
  if (result.kind === "settled" && settlement.kind === "step") {
    return keepStep(statements, Number(record.token), settlement.name, settlement.result) ? result : LOST;
  }
  if (write !== undefined) {
    rewrite(statements, record.token, write);
    if (write.status === "done" && steps > 0) dropSteps(statements, [record.token]);
  }
  return result;
}

/** The common case in one statement. `false`: something is out of the ordinary, ask the state machine. */
function completeOpen(statements: Statements, completion: Completion, nowMs: number): boolean {
  const { scope, key, token, result, metadata, arrivals } = completion;
  if (arrivals > 0 || metadata !== undefined) return false;
  return changedOne(statements.complete.run(fromBytes(result), nowMs, nowMs, Number(token), scope, key));
}

/** A step is written once; the same bytes again are a lost reply. */
function keepStep(statements: Statements, token: number, name: string, bytes: Uint8Array): boolean {
  const stored = statements.findStep.get(token, name);
  if (stored !== undefined) return sameBytes(toBytes(stored[0]), bytes);
  statements.addStep.run(token, name, fromBytes(bytes));
  statements.countStep.run(token);
  return true;
}

/** Settles as the last act of the user's own transaction: only a transition from `running` that it makes itself counts. */
export function settleInTransaction(statements: Statements, completion: Completion, nowMs: number): SettleResult {
  const row = statements.find.get(completion.scope, completion.key);
  if (row === undefined) return LOST;
  const { record } = toStoredRow(row);
  const { result, write } = decideSettle(record, completion, nowMs);
  if (write === undefined || record.status !== "running") return LOST;
  rewrite(statements, record.token, write);
  return result;
}

export function extendOne(statements: Statements, { scope, key, token, leaseMs }: Lease, nowMs: number): boolean {
  return changedOne(statements.extend.run(nowMs + leaseMs, Number(token), scope, key, nowMs));
}
