import type { Token } from "../../../src/index.js";
import { claiming, type Mutant, settling } from "./mutant.js";

/** Faults in who gets a claim, and in what a record counts. */
export const claimMutants: readonly Mutant[] = [
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

  // Tokens.
  {
    name: "tokens that are counted key by key",
    caughtBy: "tokens",
    transitions: claiming({ token: (record) => String(Number(record?.token ?? 0) + 1) as Token }),
  },
];
