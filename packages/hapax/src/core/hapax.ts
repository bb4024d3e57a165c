import { HapaxError, shownKey } from "../errors.js";
import { answered } from "./answered.js";
import { encodeWithin } from "./codec.js";
import type { Context } from "./context.js";
import { type Duration, parseDurationMs } from "./durations.js";
import { createEngine, type Engine, type HapaxOptions } from "./engine.js";
import type { EventName, Listener } from "./events.js";
import { closedError } from "./in-flight.js";
import { argumentsIdentity, type Call, type Identity, requireFunction, requireObject } from "./operation.js";
import { createRecords, type Records } from "./records.js";
import { admit, type Outcome, RunWork } from "./run.js";
import { BEHAVIOUR_NAMES, type Behaviour, refuseUnknown } from "./settings.js";
import type { PurgeResult } from "./store.js";
import { type TransactionFunction, TransactionWork } from "./transaction.js";
import { createUpkeep, type Upkeep } from "./upkeep.js";

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

const WRAP: ReadonlySet<string> = new Set(["scope", "key", "exclude", "metadata", ...BEHAVIOUR_NAMES]);
const PURGE_RECORDS = 1_000;
const CLOSE_MS = 30_000;

/**
 * Makes a hapax on a store. One is enough for a process.
 *
 * @example
 * const hapax = createHapax({ store: sqliteStore(db), lease: "30s", retention: "24h" });
 * await hapax.migrate();
 */
export function createHapax<Tx = never>(options: HapaxOptions<Tx>): Hapax<Tx> {
  const engine = createEngine(options);
  const { store } = options;
  const { codec } = engine;
  const upkeep = startUpkeep(engine, options.upkeep);
  const records = createRecords(engine);

  const run: Hapax["run"] = (call, fn) => admit(engine, call, new RunWork(engine, fn));

  return {
    ...records,
    run,

    wrap(fn, wrapOptions) {
      requireFunction(fn);
      requireObject(wrapOptions);
      refuseUnknown("wrap", wrapOptions, WRAP);
      if (wrapOptions.key !== undefined && wrapOptions.exclude !== undefined) {
        throw new HapaxError(
          "invalid-option",
          "exclude is for hashed arguments; with a key of its own wrap hashes none.",
        );
      }
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

    async transaction(call, fn) {
      requireObject(call);
      if (call.timeout !== undefined && store.capabilities.synchronousTransactions) {
        throw new HapaxError(
          "invalid-option",
          "timeout cannot end a synchronous transaction on this store. Leave it out.",
        );
      }
      // A crash leaves no effect, so there is nothing to hold; and no effect may happen outside the transaction.
      const safely: Call = { ...call, onAbandoned: "rerun", onStoreDown: "closed" };
      return admit(engine, safely, new TransactionWork(engine, store, fn));
    },

    async markDone(identity, value) {
      encodeWithin(codec, value, engine.resultBytesMax, "The result", "Give less.");
      requireObject(identity);
      const recording: Call = { ...identity, onBusy: "reject", onStoreDown: "closed", storeResult: true };
      const out = await run(recording, () => value).catch(orLeave);
      if (out.stored) return;
      throw new HapaxError(
        "store-unavailable",
        "The store did not take the result; nobody can tell whether it is recorded.",
      );
    },

    on(name, listener) {
      requireFunction(listener);
      return engine.events.on(name, listener);
    },
    migrate: () => store.migrate(),
    purge: () => answered(engine, store.purge(PURGE_RECORDS)),
    async close(closing = {}) {
      refuseUnknown("close", closing, new Set(["timeout"]));
      await close(closing.timeout === undefined ? CLOSE_MS : parseDurationMs("timeout", closing.timeout));
    },
    [Symbol.asyncDispose]: () => close(CLOSE_MS),
  };

  async function close(timeoutMs: number): Promise<void> {
    upkeep?.stop();
    await engine.inFlight.close(timeoutMs);
    engine.client.close(closedError());
    for (const claim of engine.executions.values()) {
      const { key } = claim.operation;
      claim.lose(new HapaxError("closed", `hapax was closed while ${shownKey(key)} ran. Its lease will end.`));
    }
    for (const controller of engine.unprotected) controller.abort(closedError());
    engine.heartbeat.stop();
    // Whoever still sleeps (a duplicate that waits, a claim that is sent again) wakes up, and finds it closed.
    engine.clock.wakeAll();
  }
}

/** A record that is done stays as it is, also where its result could not be kept. */
function orLeave(error: unknown): { stored: boolean } {
  if (error instanceof HapaxError && error.code === "result-omitted") return { stored: true };
  throw error;
}

function startUpkeep(engine: Engine, every: Duration | false | undefined): Upkeep | undefined {
  if (every === false) return undefined;
  return createUpkeep(engine, every === undefined ? 60_000 : parseDurationMs("upkeep", every));
}
