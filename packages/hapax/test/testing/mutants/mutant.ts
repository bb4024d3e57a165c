import type { StoredRecord } from "../../../src/core/record.js";
import type * as Transitions from "../../../src/core/transitions.js";
import type * as UpkeepTransitions from "../../../src/core/upkeep-transitions.js";
import type { ClaimRequest, RecordId, RecordStore, Settlement, Token } from "../../../src/index.js";

/** A store with one fault in it, and the group of the kit's cases that must see it. */
export interface Mutant {
  readonly name: string;
  readonly caughtBy: string;
  /** Functions of the state machine that are wrong. */
  readonly transitions?: (real: typeof Transitions) => Partial<typeof Transitions>;
  readonly upkeep?: (real: typeof UpkeepTransitions) => Partial<typeof UpkeepTransitions>;
  /** Operations of the store that are wrong. */
  readonly store?: (real: RecordStore) => Partial<RecordStore>;
}

type Change<Value> = (value: Value) => Value;

/** Shows the state machine another record, request or time than there is, or changes what it writes. */
export function claiming(
  change: {
    readonly record?: (record: StoredRecord, request: ClaimRequest, nowMs: number) => StoredRecord;
    readonly request?: (request: ClaimRequest, record: StoredRecord | undefined) => ClaimRequest;
    readonly write?: (write: StoredRecord, record: StoredRecord | undefined) => StoredRecord;
    readonly token?: (record: StoredRecord | undefined, next: () => Token) => Token;
  } = {},
): NonNullable<Mutant["transitions"]> {
  return (real) => ({
    decideClaim(record, request, nowMs, nextToken) {
      const shown = record === undefined ? undefined : (change.record?.(record, request, nowMs) ?? record);
      const asked = change.request?.(request, record) ?? request;
      const next = () => change.token?.(record, nextToken) ?? nextToken();
      const decision = real.decideClaim(shown, asked, nowMs, next);
      if (decision.write === undefined || change.write === undefined) return decision;
      return { ...decision, write: change.write(decision.write, record) };
    },
  });
}

export function settling(change: {
  readonly record?: (record: StoredRecord, settlement: Settlement) => StoredRecord;
  readonly settlement?: (settlement: Settlement, record: StoredRecord | undefined) => Settlement;
  readonly write?: (write: StoredRecord, record: StoredRecord | undefined, settlement: Settlement) => StoredRecord;
}): NonNullable<Mutant["transitions"]> {
  return (real) => ({
    decideSettle(record, settlement, nowMs) {
      const shown = record === undefined ? undefined : (change.record?.(record, settlement) ?? record);
      const decision = real.decideSettle(shown, change.settlement?.(settlement, record) ?? settlement, nowMs);
      if (decision.write === undefined || change.write === undefined) return decision;
      return { ...decision, write: change.write(decision.write, record, settlement) };
    },
  });
}

/** A store that does something to every scope and key. */
export function renaming(rename: <Id extends RecordId>(id: Id) => Id): NonNullable<Mutant["store"]> {
  return (real) => ({
    claim: (requests) => real.claim(requests.map(rename)),
    extend: (leases) => real.extend(leases.map(rename)),
    settle: (settlements) => real.settle(settlements.map(rename)),
    read: (id) => real.read(rename(id)),
  });
}

export function renamingKeys(change: Change<string>): NonNullable<Mutant["store"]> {
  return renaming((id) => ({ ...id, key: change(id.key) }));
}

/** A store that does something to the bytes it is given. */
export function storing(change: Change<Uint8Array | undefined>): NonNullable<Mutant["store"]> {
  return (real) => ({
    settle: (settlements) =>
      real.settle(
        settlements.map((settlement) =>
          settlement.kind === "complete" ? { ...settlement, result: change(settlement.result) } : settlement,
        ),
      ),
  });
}
