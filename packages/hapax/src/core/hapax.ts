import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { HapaxError, shownKey } from "../errors.js";
import { type Clock, systemClock, trustTime } from "./clock.js";
import { type Codec, encodeWithin, jsonCodec } from "./codec.js";
import { type Context, unprotectedContext } from "./context.js";
import { type Duration, parseDurationMs } from "./durations.js";
import type { Engine } from "./engine.js";
import { createEvents, type EventName, type Listener } from "./events.js";
import { createHeartbeat } from "./heartbeat.js";
import type { HeldClaim } from "./held-claim.js";
import { OWNER_BYTES_MAX, RESULT_BYTES_MAX } from "./limits.js";
import { consoleLogger, type Logger } from "./logger.js";
import { argumentsIdentity, type Call, checkText, type Identity, parseCall } from "./operation.js";
import { createRecords, type Records } from "./records.js";
import { admit, leadRun, type Outcome } from "./run.js";
import { BEHAVIOUR_NAMES, type Behaviour, parseBehaviour, refuseUnknown } from "./settings.js";
import type { PurgeResult, Store } from "./store.js";
import { createStoreClient } from "./store-client.js";
import { leadTransaction, type TransactionFunction } from "./transaction.js";
import { createUpkeep, type Upkeep } from "./upkeep.js";

export interface HapaxOptions<Tx = never> extends Behaviour {
  readonly store: Store<Tx>;
  /** How long the store may take before the call ends with `store-unavailable`. Default 5 s. */
  readonly storeTimeout?: Duration;
  /** The largest result that is stored, in bytes. Default 1 MiB. */
  readonly resultBytesMax?: number;
  /** How results become bytes. Default JSON with bigint, Date, Map, Set and Buffer. */
  readonly codec?: Codec;
  /** Who holds the claims of this process, for people. Default host and process id. */
  readonly owner?: string;
  /** How often expired records are deleted; `false` to leave it to someone else. Default every minute. */
  readonly upkeep?: Duration | false;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** Says how a wrapped function's call is identified, from its arguments. */
export interface WrapOptions<Args extends unknown[]> extends Behaviour {
  readonly scope: string | ((...args: Args) => string);
  /** Without it the key is the hash of the arguments. */
  readonly key?: (...args: Args) => NonNullable<Identity["key"]>;
  /** Fields of the arguments that do not count. With several arguments paths start with the index: `"0.receivedAt"`. */
  readonly exclude?: readonly string[];
  readonly metadata?: (...args: Args) => unknown;
}

export interface Hapax<Tx = never> extends Records {
  /**
   * Runs `fn` once for this operation: duplicates get its stored result.
   *
   * @example
   * const out = await hapax.run({ scope: "orders", key: order.id, payload: order }, (ctx) =>
   *   stripe.charges.create(charge, { idempotencyKey: ctx.keyFor("charge") }),
   * );
   * out.value; out.replayed;
   */
  run<T>(call: Call, fn: (ctx: Context) => Promise<T> | T): Promise<Outcome<T>>;
  /**
   * The same function, once for each payload.
   *
   * @example
   * const priceOnce = hapax.wrap(price, { scope: "submissions", key: (submission) => submission.id });
   */
  wrap<Args extends unknown[], T>(
    fn: (...args: Args) => Promise<T>,
    options: WrapOptions<Args>,
  ): (...args: Args) => Promise<T>;
  /**
   * Runs `fn` in a transaction of the user's database that commits with the result, or not at all: exactly once.
   *
   * @example
   * await hapax.transaction({ scope: "orders", key }, (db) => {
   *   db.prepare("insert into orders (id) values (?)").run(key);
   * });
   */
  transaction<T>(call: Call, fn: TransactionFunction<Tx, T>): Promise<Outcome<T>>;
  /** Records work that was done elsewhere, for migrations. Leaves a record that is done already as it is. */
  markDone(identity: Identity, value: unknown): Promise<void>;
  /** Listens; returns the function that stops it. */
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void;
  migrate(): Promise<void>;
  /** Deletes expired records now, a bounded piece of them. The upkeep does it by itself. */
  purge(): Promise<PurgeResult>;
  /** Takes no more calls, waits for those in flight (at most 30 s by default), then aborts what is left. */
  close(options?: { readonly timeout?: Duration }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS: ReadonlySet<string> = new Set([
  ...["store", "storeTimeout", "resultBytesMax", "codec", "owner", "upkeep", "logger", "clock"],
  ...BEHAVIOUR_NAMES,
]);
const WRAP: ReadonlySet<string> = new Set(["scope", "key", "exclude", "metadata", ...BEHAVIOUR_NAMES]);
const PURGE_RECORDS = 1_000;

/**
 * Makes a hapax on a store. One is enough for a process.
 *
 * @example
 * const hapax = createHapax({ store: sqliteStore(db), lease: "30s", retention: "24h" });
 * await hapax.migrate();
 */
export function createHapax<Tx = never>(options: HapaxOptions<Tx>): Hapax<Tx> {
  const { store } = checkOptions(options);
  const engine = createEngine(options);
  const { settings, codec } = engine;
  const upkeep = startUpkeep(engine, options.upkeep);
  const records = createRecords(engine);
  let active = 0;
  let closed = false;
  let onIdle = () => {};

  async function track<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new HapaxError("closed", "hapax was closed in this process and takes no more calls.");
    active += 1;
    try {
      return await work();
    } finally {
      active -= 1;
      if (active === 0) onIdle();
    }
  }

  const run: Hapax["run"] = (call, fn) =>
    track(async () => {
      const operation = parseCall(call, settings, codec);
      requireFunction(fn);
      return admit(engine, operation, leadRun(engine, fn), async () => ({
        value: await fn(unprotectedContext(operation)),
        replayed: false,
        attempt: 1,
        key: operation.key,
        token: unprotectedContext(operation).token,
        stored: false,
      }));
    });

  return {
    ...records,
    run,

    wrap(fn, wrapOptions) {
      requireFunction(fn);
      refuseUnknown("wrap", wrapOptions, WRAP);
      const { scope, key, exclude, metadata, ...behaviour } = wrapOptions;
      return async function once(this: unknown, ...args) {
        const out = await run(
          {
            ...behaviour,
            scope: typeof scope === "function" ? scope(...args) : scope,
            key: key === undefined ? argumentsIdentity(args, exclude) : key(...args),
            ...(metadata === undefined ? {} : { metadata: metadata(...args) }),
          },
          () => fn.apply(this, args),
        );
        return out.value;
      };
    },

    transaction: (call, fn) =>
      track(async () => {
        requireFunction(fn);
        if (!store.capabilities.transactions) {
          throw new HapaxError(
            "unsupported",
            "This store has no transactions: use run(), or a PostgreSQL or SQLite store.",
          );
        }
        // A crash leaves no effect, so there is nothing to hold; and no effect may happen outside the transaction.
        const operation = parseCall({ ...call, onAbandoned: "rerun", onStoreDown: "closed" }, settings, codec);
        return admit(engine, operation, leadTransaction(engine, store, fn), () => {
          throw new HapaxError("store-unavailable", "The store is down.");
        });
      }),

    async markDone(identity, value) {
      encodeWithin(codec, value, engine.resultBytesMax, "The result", "Give less.");
      await run({ ...identity, onBusy: "reject" }, () => value);
    },

    on: engine.events.on,
    migrate: () => store.migrate(),
    purge: () => store.purge(PURGE_RECORDS),
    close: ({ timeout } = {}) => close(timeout === undefined ? 30_000 : parseDurationMs("timeout", timeout)),
    [Symbol.asyncDispose]: () => close(30_000),
  };

  async function close(timeoutMs: number): Promise<void> {
    closed = true;
    upkeep?.stop();
    if (active > 0) await idleWithin(timeoutMs);
    for (const claim of engine.executions.values()) {
      claim.lose(
        new HapaxError("closed", `hapax was closed while ${shownKey(claim.operation.key)} ran. Its lease will end.`),
      );
    }
    engine.heartbeat.stop();
  }

  function idleWithin(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = engine.clock.after(timeoutMs, resolve);
      onIdle = () => {
        cancel();
        resolve();
      };
    });
  }
}

function checkOptions<Tx>(options: HapaxOptions<Tx>): HapaxOptions<Tx> {
  if (typeof options !== "object" || options === null) {
    throw new HapaxError(
      "invalid-option",
      "createHapax takes an object with a store: createHapax({ store: memoryStore() }).",
    );
  }
  refuseUnknown("createHapax", options, OPTIONS);
  if (typeof options.store?.claim !== "function") {
    throw new HapaxError(
      "invalid-option",
      "store is missing or is none: give memoryStore(), sqliteStore(db) or another Store.",
    );
  }
  return options;
}

function createEngine<Tx>(options: HapaxOptions<Tx>): Engine {
  const { store, codec = jsonCodec, logger = consoleLogger, clock = systemClock } = options;
  const settings = parseBehaviour(options, undefined);
  const now = trustTime(clock);
  const events = createEvents((event, error) => logger.error("a listener threw", { event, error }));
  const client = createStoreClient({
    store,
    clock,
    now,
    owner: parseOwner(options.owner),
    storeTimeoutMs: options.storeTimeout === undefined ? 5_000 : parseDurationMs("storeTimeout", options.storeTimeout),
    onReleased: ({ scope, key }, { token }) => events.emit("released", () => ({ scope, key, token })),
  });
  const executions = new Map<string, HeldClaim>();
  const timeouts: Engine["timeouts"] = new Map();
  const heartbeat = createHeartbeat({
    clock,
    now,
    events,
    logger,
    extensions: client.extensions,
    onTimeout(claim) {
      const error = timedOut(claim);
      if (executions.get(claim.operation.id) === claim) executions.delete(claim.operation.id);
      claim.lose(error);
      timeouts.get(claim)?.(error);
      timeouts.delete(claim);
    },
  });
  const resultBytesMax = parseResultBytesMax(options.resultBytesMax);
  return {
    store,
    client,
    clock,
    now,
    settings,
    codec,
    resultBytesMax,
    events,
    logger,
    heartbeat,
    executions,
    timeouts,
  };
}

function startUpkeep(engine: Engine, every: Duration | false | undefined): Upkeep | undefined {
  if (every === false) return undefined;
  return createUpkeep(engine, every === undefined ? 60_000 : parseDurationMs("upkeep", every));
}

function parseOwner(owner: string | undefined): string {
  const label = owner ?? `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
  return checkText("owner", label, OWNER_BYTES_MAX, "invalid-option");
}

function parseResultBytesMax(bytes: unknown): number {
  if (bytes === undefined) return RESULT_BYTES_MAX;
  if (typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 1) return bytes;
  throw new HapaxError("invalid-option", `resultBytesMax must be a whole number of at least 1; got ${String(bytes)}.`);
}

function requireFunction(fn: unknown): void {
  if (typeof fn !== "function") {
    throw new HapaxError("invalid-option", `The last argument must be the function to run once; got ${typeof fn}.`);
  }
}

function timedOut({ operation }: HeldClaim): HapaxError {
  return new HapaxError(
    "timeout",
    `The function of ${operation.scope}/${shownKey(operation.key)} ran longer than its timeout of ` +
      `${operation.settings.timeoutMs} ms. Its signal was aborted and its claim is no longer extended, so after the lease ` +
      "another delivery may run it. Make it heed ctx.signal, or raise the timeout.",
    { scope: operation.scope, key: shownKey(operation.key) },
  );
}
