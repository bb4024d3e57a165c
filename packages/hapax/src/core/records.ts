import { HapaxError, shownKey } from "../errors.js";
import { answered } from "./answered.js";
import { type Codec, decodeError, encodeError, encodeWithin, omissionOf, type StoredError } from "./codec.js";
import type { Engine } from "./engine.js";
import { LIST_RECORDS_MAX } from "./limits.js";
import { parseRecordId, parseRecordOrScope, parseScope, type RecordName, requireObject } from "./operation.js";
import { parseToken, type Status, type StoredRecord, type Token } from "./record.js";
import { ofType, oneOf, parseStatus, refuseUnknown } from "./settings.js";
import type { ForgetResult, ListQuery, Resolution } from "./store.js";

/** A record as people see it. */
export interface HapaxRecord {
  readonly scope: string;
  readonly key: string;
  readonly status: Status;
  /** A failed record that does not run again. */
  readonly final: boolean;
  readonly token: Token;
  readonly owner: string;
  readonly fingerprint: string | undefined;
  readonly leaseUntil: Date;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  readonly finishedAt: Date | undefined;
  /** When it is forgotten. `running` and `uncertain` records never are. */
  readonly expiresAt: Date | undefined;
  readonly runs: number;
  readonly seen: number;
  /** `undefined` also where it was not kept, or was written by another codec. */
  readonly result: unknown;
  readonly error: StoredError | undefined;
  readonly metadata: unknown;
}

export interface ListOptions {
  readonly scope?: string;
  readonly status?: Status;
  /** At most 1,000. Default 100. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface RecordPage {
  readonly records: readonly HapaxRecord[];
  /** Hand it to the next `list`; absent on the last page. */
  readonly cursor?: string;
}

export interface ForgetOptions {
  /** Also records whose claim is live. Their workers are not stopped, but can no longer settle. */
  readonly force?: boolean;
}

/** What a person has seen, and now decides. */
export interface ResolveTarget extends RecordName {
  readonly token: string;
  /** The status that was seen. Default `uncertain`. */
  readonly status?: "uncertain" | "failed";
}

export type Decision =
  | { readonly status: "done"; readonly value: unknown }
  | { readonly status: "failed"; readonly error?: Error; readonly final?: boolean };

/** Looking at records, and deciding about them. */
export interface Records {
  get(identity: RecordName): Promise<HapaxRecord | undefined>;
  list(options?: ListOptions): Promise<RecordPage>;
  forget(target: RecordName | { readonly scope: string }, options?: ForgetOptions): Promise<ForgetResult>;
  resolve(target: ResolveTarget, decision: Decision): Promise<void>;
}

const LIST: ReadonlySet<string> = new Set(["scope", "status", "limit", "cursor"]);

export function createRecords(engine: Engine): Records {
  const { store, codec } = engine;

  return {
    async get(identity) {
      const record = await answered(engine, store.read(parseRecordId(identity)));
      return record === undefined ? undefined : shown(engine, record);
    },

    async list(options = {}) {
      requireObject(options);
      refuseUnknown("list", options, LIST);
      const query: ListQuery = {
        scope: options.scope === undefined ? undefined : parseScope(options.scope),
        status: parseStatus(options.status),
        limit: parseLimit(options.limit),
        cursor: ofType("cursor", options.cursor, "string"),
      };
      const page = await answered(engine, store.list(query));
      const records = page.records.map((record) => shown(engine, record));
      return page.cursor === undefined ? { records } : { records, cursor: page.cursor };
    },

    async forget(target, options = {}) {
      refuseUnknown("forget", options, new Set(["force"]));
      const { scope, key } = parseRecordOrScope(target);
      const forgetting = store.forget({ scope, key, force: ofType("force", options.force, "boolean") ?? false });
      // A whole scope takes as long as it takes.
      return key === undefined ? forgetting : answered(engine, forgetting);
    },

    async resolve(target, decision) {
      requireObject(target);
      const { token: seenToken, status, ...identity } = target;
      const id = parseRecordId(identity);
      const token = parseToken(String(seenToken));
      if (token === undefined) {
        throw new HapaxError("invalid-option", "token must be the record's own, as get() or list() shows it.");
      }
      const seenStatus = oneOf("status", status, ["uncertain", "failed"]) ?? "uncertain";
      const to = decided(decision);
      const result = await answered(engine, store.resolve({ ...id, token, seenStatus, to }));
      if (result.kind !== "resolved") throw notResolved(id, result.kind);
      engine.events.emit("resolved", () => ({ ...id, token, status: decision.status }));
    },
  };

  function decided(decision: Decision): Resolution["to"] {
    switch (oneOf("decision.status", decision?.status, ["done", "failed"])) {
      case "done": {
        const { value } = decision as Extract<Decision, { status: "done" }>;
        return {
          status: "done",
          result: encodeWithin(codec, value, engine.resultBytesMax, "The result", "Give less."),
        };
      }
      case "failed": {
        const { error, final = false } = decision as Extract<Decision, { status: "failed" }>;
        return { status: "failed", error: error === undefined ? undefined : encodeError(error), final };
      }
      default:
        throw new HapaxError("invalid-option", 'decision.status must be "done" or "failed".');
    }
  }
}

function parseLimit(limit: unknown): number {
  if (limit === undefined) return 100;
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1 && limit <= LIST_RECORDS_MAX) return limit;
  throw new HapaxError(
    "invalid-option",
    `limit must be a whole number from 1 to ${LIST_RECORDS_MAX}; got ${String(limit)}.`,
  );
}

function notResolved({ scope, key }: { scope: string; key: string }, why: "changed" | "absent"): HapaxError {
  const about = `${scope}/${shownKey(key)}`;
  return why === "absent"
    ? new HapaxError(
        "claim-lost",
        `There is no record ${about} to resolve. It was forgotten, or its retention is over.`,
      )
    : new HapaxError(
        "claim-lost",
        `${about} has changed since you saw it: its token or status is another. Look again, then decide.`,
      );
}

function shown({ codec }: Engine, record: StoredRecord): HapaxRecord {
  const { result, metadata } = record;
  const kept = result === undefined || omissionOf(result) !== undefined ? undefined : result;
  return {
    scope: record.scope,
    key: record.key,
    status: record.status,
    final: record.final,
    token: record.token,
    owner: record.owner,
    fingerprint: record.fingerprint,
    leaseUntil: new Date(record.leaseUntilMs),
    firstSeenAt: new Date(record.firstSeenAtMs),
    lastSeenAt: new Date(record.lastSeenAtMs),
    finishedAt: dateOf(record.finishedAtMs),
    expiresAt: dateOf(record.expiresAtMs),
    runs: record.runs,
    seen: record.seen,
    result: kept === undefined ? undefined : readable(codec, kept),
    error: decodeError(record.error),
    metadata: metadata === undefined ? undefined : readable(codec, metadata),
  };
}

/** One record that was written by another codec must not hide all the others. */
function readable(codec: Codec, bytes: Uint8Array): unknown {
  try {
    return codec.decode(bytes);
  } catch {
    return undefined;
  }
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
