import { type Clock, sleep, systemClock } from "../core/clock.js";
import type { RecordStore, Store } from "../core/store.js";
import { HapaxError } from "../errors.js";

const OPERATIONS = ["migrate", "claim", "extend", "settle", "read", "list", "forget", "resolve", "purge"] as const;

type RecordOperation = (typeof OPERATIONS)[number];

export type StoreOperation = RecordOperation | "transaction";

/** A call on its way to the store: `input` is what it was called with, `count` that it is the n-th of its operation. */
export type StoreCall =
  | {
      [Operation in RecordOperation]: {
        readonly operation: Operation;
        readonly input: Parameters<RecordStore[Operation]>[0];
        readonly count: number;
      };
    }[RecordOperation]
  | { readonly operation: "transaction"; readonly input: undefined; readonly count: number };

/** What goes wrong, and with which calls. The first fault of the plan that fits a call strikes it. */
export type Fault = {
  /** Default: every operation. */
  readonly on?: StoreOperation | readonly StoreOperation[];
  /** Only calls for which this is true. */
  readonly when?: (call: StoreCall) => boolean;
  /** How many calls it strikes. Default 1; `Infinity` for all of them. */
  readonly times?: number;
  /** `request`: before the store has seen the call. `reply`: after it has done its work. */
  readonly at: "request" | "reply";
} & (
  | {
      /** The call ends with `error`; default `store-unavailable`. */
      readonly does: "error";
      readonly error?: unknown;
    }
  | {
      /** It arrives late. */
      readonly does: "delay";
      readonly ms: number;
    }
  | {
      /** It never arrives. */
      readonly does: "silence";
    }
);

export interface FaultyStore<Tx = never> extends Store<Tx> {
  /** How often each operation was called, struck or not. */
  readonly calls: Readonly<Record<StoreOperation, number>>;
  /** How many calls the plan can still strike: 0 when everything that was planned has happened. */
  readonly planned: number;
  /** Replaces the plan; an empty one heals the store. */
  plan(faults: readonly Fault[]): void;
}

/**
 * A store with planned faults in front of it: lost requests, lost replies, delays and silence.
 *
 * @example
 * const store = faultyStore(memoryStore(), [
 *   { on: "claim", at: "request", does: "error" },                   // the first claim never reaches the store
 *   { on: "settle", at: "reply", does: "error" },                    // the first settlement is written, its reply is lost
 *   { on: "extend", at: "request", does: "silence", times: Infinity }, // no heartbeat is ever answered
 * ]);
 * const out = await createHapax({ store }).run({ scope: "orders", key: "1" }, () => "paid");
 * out.stored;         // true
 * store.calls.settle; // 2
 */
export function faultyStore<Tx = never>(
  store: Store<Tx>,
  faults: readonly Fault[],
  { clock = systemClock }: { readonly clock?: Clock } = {},
): FaultyStore<Tx> {
  const calls = Object.fromEntries([...OPERATIONS, "transaction"].map((name) => [name, 0])) as Record<
    StoreOperation,
    number
  >;
  let plan: { readonly fault: Fault; left: number }[] = [];
  setPlan(faults);

  function setPlan(next: readonly Fault[]): void {
    plan = next.map((fault) => ({ fault, left: fault.times ?? 1 }));
  }

  function strike(call: StoreCall): Fault | undefined {
    const planned = plan.find(({ fault, left }) => left > 0 && fits(fault, call));
    if (planned === undefined) return undefined;
    planned.left -= 1;
    return planned.fault;
  }

  async function suffer(fault: Fault, operation: StoreOperation): Promise<void> {
    switch (fault.does) {
      case "error":
        throw "error" in fault ? fault.error : planted(fault, operation);
      case "delay":
        return sleep(clock, fault.ms);
      case "silence":
        return new Promise(() => {});
    }
  }

  async function pass<Answer>(operation: StoreOperation, input: unknown, act: () => Promise<Answer>): Promise<Answer> {
    calls[operation] += 1;
    const fault = strike({ operation, input, count: calls[operation] } as StoreCall);
    if (fault?.at === "request") await suffer(fault, operation);
    const answer = await act();
    if (fault?.at === "reply") await suffer(fault, operation);
    return answer;
  }

  const { watch, transaction } = store;
  return {
    capabilities: store.capabilities,
    calls,
    get planned() {
      return plan.reduce((sum, { left }) => sum + left, 0);
    },
    plan: setPlan,
    migrate: () => pass("migrate", undefined, () => store.migrate()),
    claim: (requests) => pass("claim", requests, () => store.claim(requests)),
    extend: (leases) => pass("extend", leases, () => store.extend(leases)),
    settle: (settlements) => pass("settle", settlements, () => store.settle(settlements)),
    read: (id) => pass("read", id, () => store.read(id)),
    list: (query) => pass("list", query, () => store.list(query)),
    forget: (request) => pass("forget", request, () => store.forget(request)),
    resolve: (resolution) => pass("resolve", resolution, () => store.resolve(resolution)),
    purge: (limit) => pass("purge", limit, () => store.purge(limit)),
    // Pushes pass: the plan is about calls and their answers.
    ...(watch === undefined ? {} : { watch: watch.bind(store) }),
    ...(transaction === undefined
      ? {}
      : { transaction: (work) => pass("transaction", undefined, () => transaction.call(store, work)) }),
  };
}

function fits({ on, when }: Fault, call: StoreCall): boolean {
  const named = on === undefined || (typeof on === "string" ? on === call.operation : on.includes(call.operation));
  return named && (when === undefined || when(call));
}

function planted({ at }: Fault, operation: StoreOperation): HapaxError {
  const what = at === "request" ? "The request was lost on its way" : "The reply was lost on its way back";
  return new HapaxError("store-unavailable", `${what} (a planned fault in ${operation}).`);
}
