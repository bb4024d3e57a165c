import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { StoredRecord, Token } from "../../core/record.js";
import type {
  ClaimRequest,
  ClaimResult,
  Completion,
  ExtendResult,
  Failure,
  Lease,
  ListQuery,
  RecordStore,
  Release,
  Resolution,
  ResolveResult,
  Settlement,
  SettleResult,
  StepResult,
} from "../../core/store.js";
import { bytes, expectKind, expectRecord, type Granted } from "./expect.js";

/** A store to be held to its contract, and how its time passes. */
export interface StoreUnderTest {
  /** Open and migrated. It may hold other records: every case keeps to scopes of its own. */
  readonly store: RecordStore;
  /**
   * Moves the store's clock by exactly `ms`; no time passes otherwise. Leave it out where the store has a clock of its
   * own: the kit then really waits.
   */
  readonly passTime?: (ms: number) => Promise<void>;
  readonly close?: () => Promise<void> | void;
}

/**
 * A lease or a retention that a case waits out: short enough to be slept through, long enough for a slow server to
 * answer before it ends.
 */
export const BRIEF_MS: number = 400;

/** A lease or a retention that does not end while a case runs. */
export const LONG_MS: number = 600_000;

/** A token that no store gives out in a test's lifetime. */
export const NOBODYS_TOKEN: Token = "9007199254740991" as Token;

/** A server's clock and ours round differently. */
const SLACK_MS = 50;

/** One case's own corner of the store, with a short way to say each operation. Without a key they mean `"key"`. */
export interface Trial {
  readonly store: RecordStore;
  /** No other case uses it. */
  readonly scope: string;
  /** Lets `ms` pass: exactly, where time does as it is told. */
  pass(ms: number): Promise<void>;
  /** Goes to the last millisecond before `ms` are over, where time does as it is told. Answers what is left to pass. */
  passAlmost(ms: number): Promise<number>;

  request(fields?: Partial<ClaimRequest>): ClaimRequest;
  claim(fields?: Partial<ClaimRequest>): Promise<ClaimResult>;
  /** A claim that must be granted. */
  grant(fields?: Partial<ClaimRequest>): Promise<Granted>;
  extend(token: Token, fields?: Partial<Lease>): Promise<ExtendResult>;

  completion(token: Token, fields?: Partial<Completion>): Completion;
  failure(token: Token, fields?: Partial<Failure>): Failure;
  releasing(token: Token, fields?: Partial<Release>): Release;
  stepResult(token: Token, fields?: Partial<StepResult>): StepResult;
  settle(settlement: Settlement): Promise<SettleResult>;
  complete(token: Token, fields?: Partial<Completion>): Promise<SettleResult>;
  fail(token: Token, fields?: Partial<Failure>): Promise<SettleResult>;
  release(token: Token, fields?: Partial<Release>): Promise<SettleResult>;
  step(token: Token, fields?: Partial<StepResult>): Promise<SettleResult>;

  resolve(token: Token, fields?: Partial<Resolution>): Promise<ResolveResult>;
  read(key?: string): Promise<StoredRecord | undefined>;
  /** A record that must be there. */
  record(key?: string): Promise<StoredRecord>;
  /** Every page of a list, each within its limit. */
  pages(query?: Partial<ListQuery>): Promise<StoredRecord[][]>;
  /** Purges until there is nothing left to do. */
  purgeAll(limit?: number): Promise<{ purged: number; uncertain: number }>;
}

/** A list that never ends is a failure, not a hang. */
const PAGES_MAX = 10_000;

export function createTrial({ store, passTime }: StoreUnderTest): Trial {
  const scope = `conformance:${randomUUID()}`;
  const id = { scope, key: "key" } as const;

  const request: Trial["request"] = (fields) => ({
    ...id,
    claimId: randomUUID(),
    owner: "worker",
    fingerprint: undefined,
    leaseMs: LONG_MS,
    retentionMs: LONG_MS,
    onAbandoned: "rerun",
    maxAttempts: undefined,
    metadata: undefined,
    arrivals: 1,
    ...fields,
  });
  const claim: Trial["claim"] = async (fields) => only(await store.claim([request(fields)]));
  const settle: Trial["settle"] = async (settlement) => only(await store.settle([settlement]));

  const completion: Trial["completion"] = (token, fields) => ({
    ...id,
    kind: "complete",
    token,
    result: bytes("result"),
    metadata: undefined,
    arrivals: 0,
    ...fields,
  });
  const failure: Trial["failure"] = (token, fields) => ({
    ...id,
    kind: "fail",
    token,
    error: bytes("error"),
    permanent: false,
    metadata: undefined,
    arrivals: 0,
    ...fields,
  });
  const releasing: Trial["releasing"] = (token, fields) => ({ ...id, kind: "release", token, arrivals: 0, ...fields });
  const stepResult: Trial["stepResult"] = (token, fields) => ({
    ...id,
    kind: "step",
    token,
    name: "step",
    result: bytes("step result"),
    ...fields,
  });
  const read: Trial["read"] = (key = id.key) => store.read({ scope, key });

  return {
    store,
    scope,
    pass: (ms) => (passTime === undefined ? wait(ms + SLACK_MS) : passTime(ms)),
    async passAlmost(ms) {
      if (passTime === undefined) return ms;
      await passTime(ms - 1);
      return 1;
    },
    request,
    claim,
    grant: async (fields) => expectKind(await claim(fields), "granted"),
    extend: async (token, fields) => only(await store.extend([{ ...id, token, leaseMs: LONG_MS, ...fields }])),
    completion,
    failure,
    releasing,
    stepResult,
    settle,
    complete: (token, fields) => settle(completion(token, fields)),
    fail: (token, fields) => settle(failure(token, fields)),
    release: (token, fields) => settle(releasing(token, fields)),
    step: (token, fields) => settle(stepResult(token, fields)),
    resolve: (token, fields) =>
      store.resolve({
        ...id,
        token,
        seenStatus: "uncertain",
        to: { status: "done", result: bytes("resolved") },
        ...fields,
      }),
    read,
    record: async (key) => expectRecord(await read(key)),
    async pages(query) {
      const pages: StoredRecord[][] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({ scope, status: undefined, limit: 100, ...query, cursor });
        pages.push([...page.records]);
        cursor = page.cursor;
      } while (cursor !== undefined && pages.length < PAGES_MAX);
      if (cursor !== undefined) throw new Error(`the list did not end after ${PAGES_MAX} pages`);
      return pages;
    },
    async purgeAll(limit = 100) {
      const total = { purged: 0, uncertain: 0 };
      for (let pieces = 0; pieces < PAGES_MAX; pieces += 1) {
        const piece = await store.purge(limit);
        total.purged += piece.purged;
        total.uncertain += piece.uncertain;
        if (!piece.more) return total;
      }
      throw new Error(`the purge did not end after ${PAGES_MAX} pieces`);
    },
  };
}

/** The answer to a batch of one. */
export function only<Answer>(answers: readonly Answer[]): Answer {
  const [answer] = answers;
  if (answers.length !== 1 || answer === undefined) throw new Error(`a batch of one got ${answers.length} answers`);
  return answer;
}
