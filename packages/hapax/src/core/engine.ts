import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { HapaxError } from "../errors.js";
import { type Clock, systemClock, trustTime, type WakeableClock, wakeableClock } from "./clock.js";
import { type Codec, jsonCodec } from "./codec.js";
import { type Duration, parseDurationMs } from "./durations.js";
import { createEvents, type Events } from "./events.js";
import { aboutClaim, createHeartbeat, type Heartbeat } from "./heartbeat.js";
import type { HeldClaim, OnLost } from "./held-claim.js";
import { createInFlight, type InFlight } from "./in-flight.js";
import { OWNER_BYTES_MAX, RESULT_BYTES_MAX } from "./limits.js";
import { consoleLogger, type Logger, safeLogger } from "./logger.js";
import { checkText } from "./operation.js";
import { BEHAVIOUR_NAMES, type Behaviour, parseBehaviour, refuseUnknown, type Settings } from "./settings.js";
import type { RecordStore, Store } from "./store.js";
import { createStoreClient, type StoreClient } from "./store-client.js";

/** What one hapax shares between its calls. */
export interface Engine {
  readonly store: RecordStore;
  readonly client: StoreClient;
  readonly clock: WakeableClock;
  readonly storeTimeoutMs: number;
  /** Trust time: see `trustTime`. */
  readonly now: () => number;
  readonly settings: Settings;
  readonly codec: Codec;
  readonly resultBytesMax: number;
  readonly events: Events;
  readonly logger: Logger;
  readonly heartbeat: Heartbeat;
  readonly onLost: OnLost;
  readonly inFlight: InFlight;
  /** The claims that this process runs, by operation. */
  readonly executions: Map<string, HeldClaim>;
  /** Functions that run without a claim, by what tells them to stop. */
  readonly unprotected: Set<AbortController>;
}

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

const OPTIONS: ReadonlySet<string> = new Set([
  ...["store", "storeTimeout", "resultBytesMax", "codec", "owner", "upkeep", "logger", "clock"],
  ...BEHAVIOUR_NAMES,
]);

function checkOptions<Tx>(options: HapaxOptions<Tx>): void {
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
  requireMethods("codec", options.codec, ["encode", "decode"]);
  requireMethods("logger", options.logger, ["warn", "error"]);
  requireMethods("clock", options.clock, ["wallMs", "monotonicMs", "after"]);
}

function requireMethods(option: string, value: object | undefined, methods: readonly string[]): void {
  if (value === undefined) return;
  const given = value as Readonly<Record<string, unknown>> | null;
  if (methods.every((method) => typeof given?.[method] === "function")) return;
  throw new HapaxError("invalid-option", `${option} must have the methods ${methods.join(", ")}.`);
}

export function createEngine<Tx>(options: HapaxOptions<Tx>): Engine {
  checkOptions(options);
  const { store, codec = jsonCodec } = options;
  const logger = safeLogger(options.logger ?? consoleLogger);
  const clock = wakeableClock(options.clock ?? systemClock);
  const storeTimeoutMs =
    options.storeTimeout === undefined ? 5_000 : parseDurationMs("storeTimeout", options.storeTimeout);
  const settings = parseBehaviour(options, undefined);
  const now = trustTime(clock);
  const events = createEvents((event, error) => logger.error("a listener threw", { event, error }));
  const client = createStoreClient({
    store,
    clock,
    now,
    owner: parseOwner(options.owner),
    storeTimeoutMs,
    onReleased: ({ scope, key }, { token }) => events.emit("released", () => ({ scope, key, token })),
  });
  const executions = new Map<string, HeldClaim>();
  const heartbeat = createHeartbeat({
    clock,
    now,
    events,
    logger,
    client,
    executions,
  });
  const inFlight = createInFlight(clock);
  const resultBytesMax = parseResultBytesMax(options.resultBytesMax);
  return {
    store,
    client,
    clock,
    storeTimeoutMs,
    now,
    settings,
    codec,
    resultBytesMax,
    events,
    logger,
    heartbeat,
    onLost: (claim, { code }) => events.emit("lost", () => ({ ...aboutClaim(claim), code })),
    inFlight,
    executions,
    unprotected: new Set(),
  };
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
