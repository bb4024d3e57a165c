import { type Mutant, renaming, renamingKeys, storing } from "./mutant.js";

/** Faults in how calls travel and what they are written with. */
export const batchMutants: readonly Mutant[] = [
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
