import { type ClaimRequest, HapaxError, type Lease, type Settlement, type Store } from "../../src/index.js";

/** What becomes of a call to the store: `pass` hands it on. */
export type Fault = <T>(pass: () => Promise<T>) => Promise<T>;

type Method = "claim" | "extend" | "settle" | "read" | "list" | "forget" | "resolve" | "purge" | "transaction";

export interface StoreWithFaults<Tx = never> {
  readonly store: Store<Tx>;
  /** The fault of each kind of call, until the test takes it away. */
  readonly faults: Partial<Record<Method, Fault>>;
  /** Every batch that was sent, answered or not. */
  readonly batches: {
    readonly claim: (readonly ClaimRequest[])[];
    readonly extend: (readonly Lease[])[];
    readonly settle: (readonly Settlement[])[];
  };
  /** From now on every call ends so. */
  all(fault: Fault | undefined): void;
}

const METHODS: readonly Method[] = [
  "claim",
  "extend",
  "settle",
  "read",
  "list",
  "forget",
  "resolve",
  "purge",
  "transaction",
];

export function withFaults<Tx>(inner: Store<Tx>): StoreWithFaults<Tx> {
  const faults: Partial<Record<Method, Fault>> = {};
  const batches: StoreWithFaults["batches"] = { claim: [], extend: [], settle: [] };
  const through = <T>(method: Method, pass: () => Promise<T>): Promise<T> => (faults[method] ?? passing)(pass);
  const { transaction, watch } = inner;
  const store: Store<Tx> = {
    capabilities: inner.capabilities,
    migrate: () => inner.migrate(),
    claim(requests) {
      batches.claim.push(requests.map((request) => ({ ...request })));
      return through("claim", () => inner.claim(requests));
    },
    extend(leases) {
      batches.extend.push(leases);
      return through("extend", () => inner.extend(leases));
    },
    settle(settlements) {
      batches.settle.push(settlements);
      return through("settle", () => inner.settle(settlements));
    },
    read: (id) => through("read", () => inner.read(id)),
    list: (query) => through("list", () => inner.list(query)),
    forget: (request) => through("forget", () => inner.forget(request)),
    resolve: (resolution) => through("resolve", () => inner.resolve(resolution)),
    purge: (limit) => through("purge", () => inner.purge(limit)),
    ...(watch === undefined ? {} : { watch }),
    ...(transaction === undefined
      ? {}
      : { transaction: (work) => through("transaction", () => transaction.call(inner, work)) }),
  };
  return {
    store,
    faults,
    batches,
    all(fault) {
      for (const method of METHODS) {
        if (fault === undefined) delete faults[method];
        else faults[method] = fault;
      }
    },
  };
}

const passing: Fault = (pass) => pass();

/** The call never reaches the store. */
export const refused: Fault = async () => {
  throw new HapaxError("store-unavailable", "connection refused");
};

/** The store does what it is asked, and nobody hears of it. */
export const lostReply: Fault = async (pass) => {
  await pass();
  throw new HapaxError("store-unavailable", "connection reset");
};

/** Neither the store nor an error ever answers. */
export const silent: Fault = () => new Promise(() => {});

/** The answer is held back until `released`. */
export function lateReply(released: Promise<void>): Fault {
  return async (pass) => {
    const answer = await pass();
    await released;
    return answer;
  };
}

/** The first calls meet the fault, the others pass. */
export function firstTimes(count: number, fault: Fault): Fault {
  let met = 0;
  return (pass) => {
    met += 1;
    return met <= count ? fault(pass) : pass();
  };
}
