import assert from "node:assert/strict";
import type { Status } from "../../core/record.js";
import type { Clause } from "./clause.js";
import { expectDistinct, expectKind, expectSameRecord } from "./expect.js";
import { reach, STATES, type State } from "./states.js";
import { BRIEF_MS, type Trial } from "./trial.js";

const STATUS_OF: Readonly<Record<State, Status>> = {
  running: "running",
  expired: "running",
  failed: "failed",
  released: "failed",
  done: "done",
  final: "failed",
  uncertain: "uncertain",
};

async function grantMany(trial: Trial, keys: readonly string[]): Promise<void> {
  for (const answer of await trial.store.claim(keys.map((key) => trial.request({ key })))) {
    expectKind(answer, "granted");
  }
}

function numbered(count: number, prefix = "key"): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix} ${index}`);
}

function keysOf(pages: readonly (readonly { readonly key: string }[])[]): string[] {
  return pages.flat().map(({ key }) => key);
}

/** Pages over the records: the order is the store's own, and what exists throughout is listed exactly once. */
export const listClauses: readonly Clause[] = [
  ...[1, 3, 4, 12, 13, 1_000].map(
    (limit): Clause => ({
      rule: "waist",
      name: `12 records in pages of ${limit} are each listed once`,
      async check(trial) {
        const keys = numbered(12);
        await grantMany(trial, keys);
        const pages = await trial.pages({ limit });
        for (const page of pages) assert.ok(page.length <= limit, `a page has ${page.length} records`);
        assert.deepEqual(keysOf(pages).sort(), keys.sort());
      },
    }),
  ),
  {
    rule: "waist",
    name: "a listed record is what a read shows",
    async check(trial) {
      for (const state of STATES) await reach(trial, state, { key: state });
      const records = (await trial.pages()).flat();
      assert.equal(records.length, STATES.length);
      for (const record of records) expectSameRecord(record, await trial.read(record.key));
    },
  },
  {
    rule: "waist",
    name: "a list by status has the records of that status, and no others",
    async check(trial) {
      for (const state of STATES) {
        await reach(trial, state, { key: `${state} 1` });
        await reach(trial, state, { key: `${state} 2` });
      }
      for (const status of ["running", "done", "failed", "uncertain"] as const) {
        const expected = STATES.filter((state) => STATUS_OF[state] === status).flatMap((state) => [
          `${state} 1`,
          `${state} 2`,
        ]);
        for (const limit of [1, 2, 100]) {
          assert.deepEqual(keysOf(await trial.pages({ status, limit })).sort(), expected.sort());
        }
      }
    },
  },
  {
    rule: "waist",
    name: "a list by scope has the records of that scope, and no others",
    async check(trial) {
      const scopes = [trial.scope, `${trial.scope}:tenant`, `${trial.scope} `, `${trial.scope}%`];
      for (const scope of scopes) await trial.grant({ scope, key: `of ${scope}` });
      for (const scope of scopes) {
        assert.deepEqual(keysOf(await trial.pages({ scope })), [`of ${scope}`]);
      }
      assert.deepEqual(await trial.pages({ scope: `${trial.scope}:nobody` }), [[]]);
    },
  },
  {
    rule: "waist",
    name: "a list without a scope has the records of all scopes, each once",
    async check(trial) {
      const scopes = numbered(5, `${trial.scope}:`);
      for (const scope of scopes) for (const key of ["one", "two"]) await trial.grant({ scope, key });
      const ids = (await trial.pages({ scope: undefined, limit: 7 })).flat().map(({ scope, key }) => `${scope} ${key}`);
      expectDistinct(ids);
      const expected = scopes.flatMap((scope) => [`${scope} one`, `${scope} two`]);
      const own = ids.filter((id) => id.startsWith(`${trial.scope}:`));
      assert.deepEqual(own.sort(), expected.sort());
    },
  },
  {
    rule: "rule 2",
    name: "a list leaves out what is past its retention, and what was forgotten",
    async check(trial) {
      await reach(trial, "done", { key: "expired", retentionMs: BRIEF_MS });
      await reach(trial, "done", { key: "forgotten" });
      await reach(trial, "done", { key: "kept" });
      await trial.store.forget({ scope: trial.scope, key: "forgotten", force: false });
      await trial.pass(BRIEF_MS);
      for (const limit of [1, 100]) {
        assert.deepEqual(keysOf(await trial.pages({ limit })), ["kept"]);
        const all = (await trial.pages({ scope: undefined, limit: 1_000 })).flat();
        assert.deepEqual(keysOf([all.filter(({ scope }) => scope === trial.scope)]), ["kept"]);
      }
    },
  },
  {
    rule: "waist",
    name: "a record that was forgotten or has expired and is claimed anew is listed once, and hides no other",
    async check(trial) {
      const keys = numbered(6);
      await reach(trial, "done", { key: "key 0", retentionMs: BRIEF_MS });
      await grantMany(trial, keys.slice(1));
      await trial.pass(BRIEF_MS);
      await trial.grant({ key: "key 0" });
      await trial.store.forget({ scope: trial.scope, key: "key 2", force: true });
      await trial.grant({ key: "key 2" });
      for (const limit of [1, 2, 100]) assert.deepEqual(keysOf(await trial.pages({ limit })).sort(), keys);
    },
  },
  {
    rule: "waist",
    name: "a record that exists throughout is listed once, while others come, settle and go",
    async check(trial) {
      const lasting = numbered(20, "lasting");
      const settling = await trial.grant({ key: "lasting settles" });
      const passing = numbered(10, "passing");
      await grantMany(trial, [...lasting.slice(0, 10), ...passing, ...lasting.slice(10)]);
      const seen: string[] = [];
      let cursor: string | undefined;
      let turn = 0;
      do {
        const page = await trial.store.list({ scope: trial.scope, status: undefined, limit: 3, cursor });
        seen.push(...page.records.map(({ key }) => key));
        cursor = page.cursor;
        await trial.claim({ key: lasting[turn % lasting.length] ?? "" });
        // Before, between and behind those that last, wherever the store puts them.
        for (const key of [`a new ${turn}`, `lasting 1 new ${turn}`, `z new ${turn}`]) {
          if (turn < 12) await trial.grant({ key });
        }
        if (turn < passing.length) {
          await trial.store.forget({ scope: trial.scope, key: passing[turn] ?? "", force: true });
        }
        if (turn === 2) expectKind(await trial.complete(settling.token, { key: "lasting settles" }), "settled");
        if (turn === 3) await trial.purgeAll();
        turn += 1;
      } while (cursor !== undefined && turn < 1_000);
      assert.equal(cursor, undefined, "the list does not end");
      const throughout = seen.filter((key) => lasting.includes(key) || key === "lasting settles");
      assert.deepEqual(throughout.sort(), [...lasting, "lasting settles"].sort());
      expectDistinct(seen);
    },
  },
  ...["", "nonsense", "-1", "[]", '["a"]', "null", "{}"].map(
    (cursor): Clause => ({
      rule: "waist",
      name: `a cursor that no page gave, ${JSON.stringify(cursor)}, is refused or meets nothing`,
      async check(trial) {
        await grantMany(trial, numbered(3));
        const listing = trial.store.list({ scope: trial.scope, status: undefined, limit: 10, cursor });
        const answer = await listing.catch((error: unknown) => error);
        if (answer instanceof Error) {
          assert.equal((answer as { code?: unknown }).code, "invalid-option", answer.message);
        } else {
          assert.deepEqual(answer, { records: [], cursor: undefined });
        }
      },
    }),
  ),
];
