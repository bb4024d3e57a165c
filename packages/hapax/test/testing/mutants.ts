import type { StoredRecord } from "../../src/core/record.js";
import type * as Transitions from "../../src/core/transitions.js";
import type * as UpkeepTransitions from "../../src/core/upkeep-transitions.js";
import type { ClaimRequest, RecordId, RecordStore, Settlement, Token } from "../../src/index.js";

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
function claiming(
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

function settling(change: {
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
function renaming(rename: <Id extends RecordId>(id: Id) => Id): NonNullable<Mutant["store"]> {
  return (real) => ({
    claim: (requests) => real.claim(requests.map(rename)),
    extend: (leases) => real.extend(leases.map(rename)),
    settle: (settlements) => real.settle(settlements.map(rename)),
    read: (id) => real.read(rename(id)),
  });
}

function renamingKeys(change: Change<string>): NonNullable<Mutant["store"]> {
  return renaming((id) => ({ ...id, key: change(id.key) }));
}

/** A store that does something to the bytes it is given. */
function storing(change: Change<Uint8Array | undefined>): NonNullable<Mutant["store"]> {
  return (real) => ({
    settle: (settlements) =>
      real.settle(
        settlements.map((settlement) =>
          settlement.kind === "complete" ? { ...settlement, result: change(settlement.result) } : settlement,
        ),
      ),
  });
}

export const MUTANTS: readonly Mutant[] = [
  // Claims.
  {
    name: "a lease that is still live at its deadline",
    caughtBy: "claim",
    transitions: claiming({ record: (record) => ({ ...record, leaseUntilMs: record.leaseUntilMs + 1 }) }),
  },
  {
    name: "a lease that is over a millisecond early",
    caughtBy: "claim",
    transitions: claiming({ record: (record) => ({ ...record, leaseUntilMs: record.leaseUntilMs - 1 }) }),
  },
  {
    name: "a takeover that reuses the token",
    caughtBy: "claim",
    transitions: claiming({ token: (record, next) => record?.token ?? next() }),
  },
  {
    name: "a takeover that keeps the old owner",
    caughtBy: "claim",
    transitions: claiming({ write: (write, record) => ({ ...write, owner: record?.owner ?? write.owner }) }),
  },
  {
    name: "a busy duplicate that overwrites the holder's metadata",
    caughtBy: "claim",
    store: (real) => ({
      async claim(requests) {
        const answers = await real.claim(requests);
        for (const [index, { kind }] of answers.entries()) {
          const request = requests[index];
          const record = request === undefined ? undefined : await real.read(request);
          if (kind === "busy" && record !== undefined) Object.assign(record, { metadata: request?.metadata });
        }
        return answers;
      },
    }),
  },
  {
    name: "a failed run that is served as a result",
    caughtBy: "claim",
    transitions: claiming({
      record: (record) => (record.status === "failed" && !record.final ? { ...record, status: "done" } : record),
    }),
  },

  // The same claim again.
  {
    name: "claimIds that are ignored",
    caughtBy: "same claim",
    transitions: claiming({ record: (record) => ({ ...record, claimId: "nobody's" }) }),
  },
  {
    name: "the same claim again with a new deadline",
    caughtBy: "same claim",
    transitions: claiming({
      record: (record, { claimId, leaseMs }, nowMs) =>
        record.claimId === claimId ? { ...record, leaseUntilMs: nowMs + leaseMs } : record,
    }),
  },
  {
    name: "a late copy of a failed claim that runs again",
    caughtBy: "same claim",
    transitions: claiming({
      record: (record) => (record.status === "failed" ? { ...record, claimId: "nobody's" } : record),
    }),
  },

  // Mismatches.
  {
    name: "a mismatch that counts as seen",
    caughtBy: "mismatch",
    transitions: (real) => ({
      decideClaim(record, request, nowMs, nextToken) {
        const decision = real.decideClaim(record, request, nowMs, nextToken);
        if (decision.result.kind !== "mismatch" || record === undefined) return decision;
        return { ...decision, write: { ...record, seen: record.seen + 1 } };
      },
    }),
  },
  {
    name: "a mismatch that is looked for after the state",
    caughtBy: "mismatch",
    transitions: claiming({
      record: (record) => (record.status === "done" ? { ...record, fingerprint: undefined } : record),
    }),
  },
  {
    name: "a claim without a fingerprint that erases it",
    caughtBy: "mismatch",
    transitions: claiming({
      write: (write, record) =>
        record === undefined || write.token === record.token ? write : { ...write, fingerprint: undefined },
    }),
  },
  {
    name: "a claim without a fingerprint that is a mismatch",
    caughtBy: "mismatch",
    transitions: claiming({ request: (request) => ({ ...request, fingerprint: request.fingerprint ?? "" }) }),
  },

  // Counters.
  {
    name: "a waiter that asks again and is counted again",
    caughtBy: "counters",
    transitions: claiming({ request: (request) => ({ ...request, arrivals: Math.max(1, request.arrivals) }) }),
  },
  {
    name: "folded arrivals that count as one",
    caughtBy: "counters",
    transitions: claiming({ request: (request) => ({ ...request, arrivals: Math.min(1, request.arrivals) }) }),
  },
  {
    name: "arrivals of a settlement that are dropped",
    caughtBy: "counters",
    transitions: settling({
      settlement: (settlement) => (settlement.kind === "step" ? settlement : { ...settlement, arrivals: 0 }),
    }),
  },
  {
    name: "arrivals of a settlement that count again with every copy of it",
    caughtBy: "counters",
    transitions: (real) => ({
      decideSettle(record, settlement, nowMs) {
        const decision = real.decideSettle(record, settlement, nowMs);
        if (decision.result.kind !== "settled" || decision.write !== undefined || record === undefined) return decision;
        if (settlement.kind === "step") return decision;
        return { ...decision, write: { ...record, seen: record.seen + settlement.arrivals } };
      },
    }),
  },

  // Settlements.
  {
    name: "a settle that ignores the token",
    caughtBy: "settle",
    transitions: settling({
      settlement: (settlement, record) => ({ ...settlement, token: record?.token ?? settlement.token }),
    }),
  },
  {
    name: "a settle that is refused after the lease ran out",
    caughtBy: "settle",
    transitions: (real) => ({
      decideSettle(record, settlement, nowMs) {
        const over = record?.status === "running" && nowMs >= record.leaseUntilMs;
        return over ? { result: { kind: "lost" } } : real.decideSettle(record, settlement, nowMs);
      },
    }),
  },
  {
    name: "a settle that is refused from uncertain",
    caughtBy: "settle",
    transitions: (real) => ({
      decideSettle: (record, settlement, nowMs) =>
        record?.status === "uncertain" ? { result: { kind: "lost" } } : real.decideSettle(record, settlement, nowMs),
    }),
  },
  {
    name: "a release that keeps its run",
    caughtBy: "settle",
    transitions: settling({ write: (write, record) => ({ ...write, runs: record?.runs ?? write.runs }) }),
  },
  {
    name: "a failure that drops the metadata of the claim",
    caughtBy: "settle",
    transitions: settling({
      write: (write, _, settlement) =>
        settlement.kind === "fail" ? { ...write, metadata: settlement.metadata } : write,
    }),
  },

  // The same settlement again.
  {
    name: "a settlement that is refused when it comes again",
    caughtBy: "same settlement",
    transitions: settling({ record: (record) => ({ ...record, settledBy: "attempts" }) }),
  },
  {
    name: "a release that lowers runs twice",
    caughtBy: "same settlement",
    transitions: (real) => ({
      decideSettle(record, settlement, nowMs) {
        const decision = real.decideSettle(record, settlement, nowMs);
        const again = decision.result.kind === "settled" && decision.write === undefined && record !== undefined;
        if (!again || settlement.kind !== "release") return decision;
        return { ...decision, write: { ...record, runs: record.runs - 1 } };
      },
    }),
  },
  {
    name: "a complete that is accepted after a fail",
    caughtBy: "same settlement",
    transitions: settling({
      record: (record, { kind }) =>
        record.status === "failed" && kind === "complete" ? { ...record, status: "running" } : record,
    }),
  },
  {
    name: "a result that is not compared",
    caughtBy: "same settlement",
    transitions: settling({
      settlement: (settlement, record) =>
        settlement.kind === "complete" && record?.status === "done"
          ? { ...settlement, result: record.result }
          : settlement,
    }),
  },
  {
    name: "an error that is not compared",
    caughtBy: "same settlement",
    transitions: settling({
      settlement: (settlement, record) =>
        settlement.kind === "fail" && record?.status === "failed" ? { ...settlement, error: record.error } : settlement,
    }),
  },
  {
    name: "a permanent flag that is not compared",
    caughtBy: "same settlement",
    transitions: settling({
      settlement: (settlement, record) =>
        settlement.kind === "fail" && record?.status === "failed"
          ? { ...settlement, permanent: record.final }
          : settlement,
    }),
  },

  // Heartbeats.
  {
    name: "an extend that revives",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) =>
        real.decideExtend(record === undefined ? undefined : { ...record, leaseUntilMs: nowMs + 1 }, lease, nowMs),
    }),
  },
  {
    name: "an extend that is accepted at the deadline",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) =>
        real.decideExtend(
          record === undefined ? undefined : { ...record, leaseUntilMs: record.leaseUntilMs + 1 },
          lease,
          nowMs,
        ),
    }),
  },
  {
    name: "an extend that ignores the token",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) =>
        real.decideExtend(record, { ...lease, token: record?.token ?? lease.token }, nowMs),
    }),
  },
  {
    name: "an extend that answers but does not write",
    caughtBy: "extend",
    transitions: (real) => ({
      decideExtend: (record, lease, nowMs) => ({ result: real.decideExtend(record, lease, nowMs).result }),
    }),
  },

  // Abandoned claims.
  {
    name: "a hold of the record that is ignored",
    caughtBy: "abandoned",
    transitions: claiming({ record: (record) => ({ ...record, onAbandoned: "rerun" }) }),
  },
  {
    name: "a hold of the arriving claim that is ignored",
    caughtBy: "abandoned",
    transitions: claiming({
      request: (request, record) => (record === undefined ? request : { ...request, onAbandoned: "rerun" }),
    }),
  },
  {
    name: "an upkeep that does not look for abandoned claims",
    caughtBy: "abandoned",
    upkeep: () => ({ decideAbandoned: () => undefined }),
  },

  // Attempts.
  {
    name: "failures that are never final by their number",
    caughtBy: "attempts",
    transitions: settling({ record: (record) => ({ ...record, maxAttempts: undefined }) }),
  },
  {
    name: "a takeover that exceeds the attempts",
    caughtBy: "attempts",
    transitions: claiming({
      request: (request, record) => (record === undefined ? request : { ...request, maxAttempts: undefined }),
    }),
  },
  {
    name: "a release that is final",
    caughtBy: "attempts",
    transitions: settling({
      write: (write, _, { kind }) => (kind === "release" ? { ...write, final: write.maxAttempts === 1 } : write),
    }),
  },

  // Retention.
  {
    name: "a retention that starts at the claim",
    caughtBy: "retention",
    transitions: settling({ write: (write) => ({ ...write, expiresAtMs: write.firstSeenAtMs + write.retentionMs }) }),
  },
  {
    name: "a running record that expires",
    caughtBy: "retention",
    transitions: claiming({
      write: (write) =>
        write.status === "running" ? { ...write, expiresAtMs: write.lastSeenAtMs + write.retentionMs } : write,
    }),
  },
  {
    name: "a final failure that never expires",
    caughtBy: "retention",
    transitions: settling({ write: (write) => (write.final ? { ...write, expiresAtMs: undefined } : write) }),
  },
  {
    name: "a duplicate that prolongs the retention",
    caughtBy: "retention",
    transitions: claiming({
      write: (write) =>
        write.status === "done" ? { ...write, expiresAtMs: write.lastSeenAtMs + write.retentionMs } : write,
    }),
  },
  {
    name: "a record that is still read past its retention",
    caughtBy: "retention",
    transitions: () => ({ isAbsent: (record): record is undefined => record === undefined }),
  },
  {
    name: "a grant past the retention that counts the arrivals before it",
    caughtBy: "retention",
    transitions: claiming({
      write: (write, record) =>
        write.runs === 1 && record !== undefined ? { ...write, seen: record.seen + 1 } : write,
    }),
  },

  // Decisions.
  {
    name: "a decision that ignores the token",
    caughtBy: "resolve",
    upkeep: (real) => ({
      decideResolve: (record, resolution, nowMs) =>
        real.decideResolve(record, { ...resolution, token: record?.token ?? resolution.token }, nowMs),
    }),
  },
  {
    name: "a decision that ignores the status",
    caughtBy: "resolve",
    upkeep: (real) => ({
      decideResolve: (record, resolution, nowMs) =>
        real.decideResolve(
          record === undefined ? undefined : { ...record, status: resolution.seenStatus },
          resolution,
          nowMs,
        ),
    }),
  },
  {
    name: "a decision that the worker's settlement is taken for",
    caughtBy: "resolve",
    upkeep: (real) => ({
      decideResolve(record, resolution, nowMs) {
        const decision = real.decideResolve(record, resolution, nowMs);
        if (decision.write === undefined) return decision;
        return { ...decision, write: { ...decision.write, settledBy: "complete" } };
      },
    }),
  },

  // Forgetting.
  {
    name: "a forgotten record that a settle revives",
    caughtBy: "forget",
    transitions: settling({
      record: (record) => (record.expiresAtMs === 0 ? { ...record, expiresAtMs: undefined } : record),
    }),
  },
  {
    name: "a forget that takes live claims",
    caughtBy: "forget",
    store: (real) => ({ forget: (request) => real.forget({ ...request, force: true }) }),
  },
  {
    name: "a forget of a scope that takes those that begin like it",
    caughtBy: "forget",
    store: (real) => ({
      async forget(request) {
        const answer = await real.forget(request);
        if (request.key !== undefined) return answer;
        const { records } = await real.list({ scope: undefined, status: undefined, limit: 1_000, cursor: undefined });
        for (const { scope, key } of records) {
          if (scope.startsWith(request.scope)) await real.forget({ scope, key, force: request.force });
        }
        return answer;
      },
    }),
  },

  // Steps.
  {
    name: "steps that are dropped on takeover",
    caughtBy: "steps",
    store: (real) => ({
      claim: async (requests) =>
        (await real.claim(requests)).map((answer) =>
          answer.kind === "granted" && answer.takeover ? { ...answer, steps: new Map() } : answer,
        ),
    }),
  },
  {
    name: "steps that outlive their record",
    caughtBy: "steps",
    store(real) {
      const kept = new Map<string, Map<string, Uint8Array>>();
      const stepsOf = ({ scope, key }: RecordId) => kept.get(`${scope} ${key}`) ?? new Map<string, Uint8Array>();
      return {
        settle(settlements) {
          for (const settlement of settlements) {
            if (settlement.kind !== "step") continue;
            const { scope, key, name, result } = settlement;
            kept.set(`${scope} ${key}`, stepsOf(settlement).set(name, result));
          }
          return real.settle(settlements);
        },
        async claim(requests) {
          const answers = await real.claim(requests);
          return answers.map((answer, index) => {
            const request = requests[index];
            if (answer.kind !== "granted" || request === undefined) return answer;
            return { ...answer, steps: new Map([...stepsOf(request), ...answer.steps]) };
          });
        },
      };
    },
  },
  {
    name: "a step with other bytes that overwrites the first",
    caughtBy: "steps",
    transitions: () => ({ sameBytes: () => true }),
  },
  {
    name: "a step that extends the lease",
    caughtBy: "steps",
    transitions: (real) => ({
      decideSettle(record, settlement, nowMs) {
        const decision = real.decideSettle(record, settlement, nowMs);
        const stepped = settlement.kind === "step" && decision.result.kind === "settled" && record !== undefined;
        return stepped ? { ...decision, write: { ...record, leaseUntilMs: nowMs + 30_000 } } : decision;
      },
    }),
  },
  {
    name: "a step that is accepted after the end",
    caughtBy: "steps",
    transitions: settling({
      record: (record, { kind }) => (kind === "step" ? { ...record, status: "running" } : record),
    }),
  },

  // Batches.
  {
    name: "answers that are reversed",
    caughtBy: "batches",
    store: (real) => ({
      claim: async (requests) => (await real.claim(requests)).reverse(),
      settle: async (settlements) => (await real.settle(settlements)).reverse(),
    }),
  },
  {
    name: "a batch that is refused as a whole for one of its items",
    caughtBy: "batches",
    store: (real) => ({
      async settle(settlements) {
        const answers = await real.settle(settlements);
        return answers.some(({ kind }) => kind === "lost") ? answers.map(() => ({ kind: "lost" as const })) : answers;
      },
    }),
  },
  {
    name: "a batch that stops after 500 items",
    caughtBy: "batches",
    store: (real) => ({ claim: (requests) => real.claim(requests.slice(0, 500)) }),
  },

  // Bytes and keys.
  {
    name: "empty bytes that become none",
    caughtBy: "bytes",
    store: storing((bytes) => (bytes?.length === 0 ? undefined : bytes)),
  },
  {
    name: "bytes that are taken for text",
    caughtBy: "bytes",
    store: storing((bytes) => (bytes === undefined ? undefined : Buffer.from(Buffer.from(bytes).toString("utf8")))),
  },
  {
    name: "a view that is stored with all of its buffer",
    caughtBy: "bytes",
    store: storing((bytes) => (bytes === undefined ? undefined : new Uint8Array(bytes.buffer))),
  },
  { name: "keys that are normalised", caughtBy: "keys", store: renamingKeys((key) => key.normalize("NFC")) },
  { name: "keys without case", caughtBy: "keys", store: renamingKeys((key) => key.toLowerCase()) },
  { name: "keys that are trimmed", caughtBy: "keys", store: renamingKeys((key) => key.trimEnd()) },
  { name: "keys that are cut", caughtBy: "keys", store: renamingKeys((key) => key.slice(0, 255)) },
  {
    name: "scope and key that are joined by a colon",
    caughtBy: "keys",
    store: renaming((id) => ({ ...id, scope: "all", key: `${id.scope}:${id.key}` })),
  },

  // Tokens.
  {
    name: "tokens that are counted key by key",
    caughtBy: "tokens",
    transitions: claiming({ token: (record) => String(Number(record?.token ?? 0) + 1) as Token }),
  },

  // Lists.
  {
    name: "a list that repeats the last record of a page",
    caughtBy: "list",
    store: (real) => ({
      async list(query) {
        const page = await real.list(query);
        const cursor = page.cursor === undefined ? undefined : String(Math.max(1, Number(page.cursor) - 1));
        return { ...page, cursor: query.limit === 1 ? page.cursor : cursor };
      },
    }),
  },
  {
    name: "a list that skips a record between two pages",
    caughtBy: "list",
    store: (real) => ({
      async list(query) {
        const page = await real.list(query);
        return { ...page, cursor: page.cursor === undefined ? undefined : String(Number(page.cursor) + 1) };
      },
    }),
  },
  {
    name: "a list by offset, which slips when records go",
    caughtBy: "list",
    store: (real) => ({
      async list({ cursor, limit, ...query }) {
        if (cursor !== undefined && !/^\d+$/.test(cursor)) return real.list({ ...query, limit, cursor });
        const offset = Number(cursor ?? 0);
        const all = await real.list({ ...query, limit: 1_000, cursor: undefined });
        const more = all.records.length > offset + limit;
        return {
          records: all.records.slice(offset, offset + limit),
          cursor: more ? String(offset + limit) : undefined,
        };
      },
    }),
  },
  {
    name: "a list that ignores the status",
    caughtBy: "list",
    store: (real) => ({ list: (query) => real.list({ ...query, status: undefined }) }),
  },

  // Purges.
  {
    name: "a purge without a limit",
    caughtBy: "purge",
    store: (real) => ({ purge: () => real.purge(1_000) }),
  },
  {
    name: "a purge that never says that there is more",
    caughtBy: "purge",
    store: (real) => ({ purge: async (limit) => ({ ...(await real.purge(limit)), more: false }) }),
  },
  {
    name: "a purge that takes uncertain records",
    caughtBy: "purge",
    store: (real) => ({
      async purge(limit) {
        const page = await real.list({ scope: undefined, status: "uncertain", limit: 100, cursor: undefined });
        for (const { scope, key } of page.records) await real.forget({ scope, key, force: true });
        return real.purge(limit);
      },
    }),
  },

  // Races.
  {
    name: "a claim that reads, waits and then writes",
    caughtBy: "races",
    store: (real) => ({
      async claim(requests) {
        const before = await Promise.all(requests.map((request) => real.read(request)));
        await new Promise(setImmediate);
        const fresh = requests.filter((_, index) => before[index] === undefined);
        for (const { scope, key } of fresh) await real.forget({ scope, key, force: true });
        return real.claim(requests);
      },
    }),
  },

  // Push.
  {
    name: "a watch that is never woken",
    caughtBy: "watch",
    store: () => ({ watch: () => () => {} }),
  },
  {
    name: "a store that says it pushes, and cannot",
    caughtBy: "set-up",
    store: (real) => ({ capabilities: { ...real.capabilities, push: false } }),
  },
];
