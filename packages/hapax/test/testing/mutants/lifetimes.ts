import { claiming, type Mutant, settling } from "./mutant.js";

/** Faults in what becomes of a record that nobody works on. */
export const lifetimeMutants: readonly Mutant[] = [
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
];
