import type { HapaxError, Outcome } from "../../../packages/hapax/src/index.js";
import type { Plan } from "../plan.js";
import { type ObservedCall, WorkError } from "./executions.js";
import { type Accepted, broken, type RecordState } from "./record-state.js";

/** Checks what calls come to. */
export interface Outcomes {
  value(call: ObservedCall, state: RecordState, outcome: Outcome<unknown>): void;
  error(call: ObservedCall, state: RecordState, error: unknown): void;
}

/** The reason with which a simulated caller aborts. */
export class CallerLeft extends Error {}

/**
 * Codes that a call may end with. Without faults no claim is lost and the store always answers; but a caller that leaves
 * its function half-way under `hold` leaves an uncertain record.
 */
const CODES: Readonly<Record<string, "always" | "with-faults">> = {
  "in-progress": "always",
  "key-reused": "always",
  failed: "always",
  timeout: "with-faults",
  "claim-lost": "with-faults",
  "outcome-unknown": "always",
  "store-unavailable": "with-faults",
  closed: "with-faults",
};

export function createOutcomes({ faults, script }: Plan, HapaxErrorClass: typeof HapaxError): Outcomes {
  /** A record that was past its retention may come back to life. */
  const storeSetBack = script.some(({ does }) => does === "set-store-back");

  function value(call: ObservedCall, state: RecordState, outcome: Outcome<unknown>): void {
    call.ended = "value";
    if (outcome.replayed) return replayed(call, state, outcome);
    const { execution } = call;
    if (execution === undefined || outcome.value !== execution.value || outcome.token !== execution.token) {
      return broken(state, "I2", `call ${call.number} led nothing that gives ${shown(outcome)}`);
    }
    if (!outcome.stored && !faults) broken(state, "I2", `call ${call.number} was not stored, and nothing failed`);
    if (!outcome.stored || findAccepted(state, outcome) !== undefined) return;
    broken(state, "I2", `call ${call.number} calls ${shown(outcome)} stored, and the store did not accept it`);
  }

  function replayed(call: ObservedCall, state: RecordState, outcome: Outcome<unknown>): void {
    const source = findAccepted(state, outcome);
    if (source === undefined) {
      return broken(state, "I2", `call ${call.number} is served ${shown(outcome)}, which the store did not accept`);
    }
    const { fingerprint } = call.spec;
    if (fingerprint !== undefined && source.fingerprint !== undefined && fingerprint !== source.fingerprint) {
      broken(state, "I10", `call ${call.number} is served the result of another fingerprint`);
    }
    const earliest = call.generationAtStart + (call.absentAtStart ? 1 : 0);
    if (source.generation < earliest && !storeSetBack) {
      broken(state, "I9", `call ${call.number} is served ${shown(outcome)}, which was gone before it began`);
    }
  }

  function error(call: ObservedCall, state: RecordState, thrown: unknown): void {
    call.ended = thrown instanceof CallerLeft ? "left" : "error";
    if (thrown instanceof CallerLeft) return;
    if (thrown instanceof WorkError) return workError(call, state, thrown);
    if (!(thrown instanceof HapaxErrorClass)) {
      return broken(state, "I7", `call ${call.number} ended with an unexpected ${String(thrown)}`);
    }
    call.ended = thrown.code;
    const when = CODES[thrown.code];
    if (when === undefined || (when === "with-faults" && !faults)) {
      broken(state, "I7", `call ${call.number} ended with an unexpected ${thrown.code}: ${thrown.message}`);
    }
    if (thrown.code === "claim-lost" && isCompletedBy(state, call.execution?.token)) {
      broken(state, "I2", `call ${call.number} is told claim-lost, and the store accepted its result`);
    }
  }

  return { value, error };
}

/** A duplicate shares an error only once the store has it. */
function workError(call: ObservedCall, state: RecordState, { execution }: WorkError): void {
  if (execution.call === call) return;
  if (state.accepted.some(({ token, outcome }) => token === execution.token && outcome === "failed")) return;
  broken(state, "I2", `call ${call.number} is served the failure of token ${execution.token}, which was not accepted`);
}

/** With `storeResult: false` the store keeps no value; who joined still got it. */
function findAccepted(state: RecordState, { token, value }: Outcome<unknown>): Accepted | undefined {
  const joined = value === undefined || String(value).endsWith(`token ${token}`);
  return state.accepted.find(
    (each) =>
      each.outcome === "done" && each.token === token && (each.value === value || (each.value === undefined && joined)),
  );
}

function isCompletedBy(state: RecordState, token: string | undefined): boolean {
  return token !== undefined && state.settledBy.get(token)?.kind === "complete";
}

function shown({ value, token }: Outcome<unknown>): string {
  return `"${String(value)}" (token ${token})`;
}
