import { isDeepStrictEqual } from "node:util";
import type { RecordId, Store, StoredRecord } from "../../../packages/hapax/src/index.js";
import { observeClaim } from "./claims.js";
import { checkRecord } from "./counts.js";
import { observeForget, observeLook, observePurge, observeResolve } from "./decisions.js";
import { broken, isAbsent, type RecordState } from "./record-state.js";
import { observeExtend, observeSettle } from "./settlements.js";

export interface ObservedStoreOptions {
  readonly store: Store;
  readonly nowMs: () => number;
  readonly stateOf: (id: RecordId) => RecordState;
  readonly states: () => Iterable<RecordState>;
  /** Read the record around every write. */
  readonly reads: boolean;
}

/** Each call is applied at one moment, and observed at the same. */
export type ObservedStore = Omit<Store, "capabilities" | "migrate" | "watch" | "transaction">;

/** Wraps the store where it stands, behind the network: it sees what is applied, in the order in which it is applied. */
export function observedStore(options: ObservedStoreOptions): ObservedStore {
  const { store, nowMs, stateOf, states, reads } = options;

  async function read({ scope, key }: RecordId): Promise<StoredRecord | undefined> {
    const atMs = nowMs();
    const record = await store.read({ scope, key });
    observeLook(stateOf({ scope, key }), atMs);
    return record;
  }

  async function look(items: readonly RecordId[]): Promise<readonly (StoredRecord | undefined)[]> {
    return Promise.all(items.map(read));
  }

  /** Applies a batch, observes each answer, and compares the records before and after where the run reads them. */
  async function apply<Item extends RecordId, Result extends { readonly kind: string }>(
    items: readonly Item[],
    write: () => Promise<Result[]>,
    observe: (state: RecordState, item: Item, result: Result, nowMs: number) => void,
    refusals: readonly string[],
  ): Promise<Result[]> {
    const atMs = nowMs();
    const before = reads ? await look(items) : [];
    const results = await write();
    items.forEach((item, index) => {
      const result = results[index];
      if (result !== undefined) observe(stateOf(item), item, result, atMs);
    });
    if (!reads) return results;
    const after = await look(items);
    items.forEach((item, index) => {
      const record = after[index];
      const state = stateOf(item);
      if (record !== undefined) checkRecord(state, record, atMs);
      if (record === undefined && !isAbsent(state, atMs))
        broken(state, "I6", `the record is gone, and was ${state.status}`);
      const others = items.some(({ key }, other) => key === item.key && !refusals.includes(results[other]?.kind ?? ""));
      if (!others && !isDeepStrictEqual(before[index], record)) broken(state, "F6", "a refusal changed the record");
    });
    return results;
  }

  return {
    claim: (requests) => apply(requests, () => store.claim(requests), observeClaim, ["mismatch", "stale"]),
    extend: (leases) => apply(leases, () => store.extend(leases), observeExtend, ["lost", "unknown"]),
    settle: (settlements) => apply(settlements, () => store.settle(settlements), observeSettle, ["lost", "unknown"]),
    async resolve(resolution) {
      const write = async () => [await store.resolve(resolution)];
      const [result] = await apply([resolution], write, observeResolve, ["changed", "absent"]);
      return result ?? { kind: "absent" };
    },
    read,
    async list(query) {
      const atMs = nowMs();
      const page = await store.list(query);
      for (const state of states()) observeLook(state, atMs);
      return page;
    },
    async forget(request) {
      const atMs = nowMs();
      const result = await store.forget(request);
      if (request.key !== undefined) {
        observeForget(stateOf({ scope: request.scope, key: request.key }), request.force, result, atMs);
      }
      return result;
    },
    async purge(limit) {
      const atMs = nowMs();
      const result = await store.purge(limit);
      for (const state of states()) observePurge(state, atMs);
      return result;
    },
  };
}
