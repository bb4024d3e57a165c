import assert from "node:assert/strict";
import type { ForgetResult } from "../../core/store.js";
import type { Clause } from "./clause.js";
import { expectKind, expectNewer, expectSameRecord, expectSteps } from "./expect.js";
import { reach, STATES } from "./states.js";
import type { Trial } from "./trial.js";

function forget(trial: Trial, force = false, key: string | undefined = "key"): Promise<ForgetResult> {
  return trial.store.forget({ scope: trial.scope, key, force });
}

/** Forgetting: as if the record had never been, and whoever held it is fenced. */
export const forgetClauses: readonly Clause[] = [
  ...STATES.filter((state) => state !== "running").map(
    (state): Clause => ({
      rule: "rule 8",
      name: `a record that is ${state} is forgotten, and claimed as if it had never been`,
      async check(trial) {
        const old = await reach(trial, state);
        assert.deepEqual(await forget(trial), { forgotten: 1, live: 0 });
        assert.equal(await trial.read(), undefined);
        assert.deepEqual((await trial.pages()).flat(), []);
        const fresh = await trial.grant();
        assert.equal(fresh.runs, 1);
        assert.equal(fresh.takeover, false);
        expectNewer(fresh.token, old.token);
        assert.equal((await trial.record()).seen, 1);
      },
    }),
  ),
  {
    rule: "rule 8",
    name: "a live claim is not forgotten unless forced",
    async check(trial) {
      const { token } = await reach(trial, "running");
      const before = await trial.record();
      assert.deepEqual(await forget(trial), { forgotten: 0, live: 1 });
      expectSameRecord(await trial.record(), before);
      expectKind(await trial.complete(token), "settled");
    },
  },
  {
    rule: "rule 8",
    name: "a live claim is forgotten when forced, and the next claim has a newer token",
    async check(trial) {
      const old = await reach(trial, "running");
      assert.deepEqual(await forget(trial, true), { forgotten: 1, live: 0 });
      assert.equal(await trial.read(), undefined);
      const fresh = await trial.grant();
      assert.equal(fresh.runs, 1);
      assert.equal(fresh.takeover, false);
      expectNewer(fresh.token, old.token);
    },
  },
  ...(["complete", "fail", "release", "step", "extend"] as const).map(
    (kind): Clause => ({
      rule: "rule 8",
      name: `${kind} never revives a record that was forgotten`,
      async check(trial) {
        const { token } = await reach(trial, "running");
        await forget(trial, true);
        expectKind(await trial[kind](token), "lost");
        assert.equal(await trial.read(), undefined);
        await trial.purgeAll();
        expectKind(await trial[kind](token), "lost");
        assert.equal(await trial.read(), undefined);
        assert.equal((await trial.grant()).runs, 1);
      },
    }),
  ),
  ...(["complete", "fail", "release", "step", "extend"] as const).map(
    (kind): Clause => ({
      rule: "rule 8",
      name: `${kind} of a forgotten claim does not touch the one after it`,
      async check(trial) {
        const { token } = await reach(trial, "running");
        await forget(trial, true);
        await trial.grant();
        const before = await trial.record();
        expectKind(await trial[kind](token), "lost");
        expectSameRecord(await trial.record(), before);
      },
    }),
  ),
  {
    rule: "rule 4, rule 8",
    name: "a settlement that was accepted is refused when it comes again after a forget",
    async check(trial) {
      const { token } = await reach(trial, "done");
      await forget(trial);
      expectKind(await trial.complete(token), "lost");
      assert.equal(await trial.read(), undefined);
    },
  },
  {
    rule: "rule 8",
    name: "the token grows also when a forgotten record was purged",
    async check(trial) {
      const old = await reach(trial, "done");
      await forget(trial);
      await trial.purgeAll();
      expectNewer((await trial.grant()).token, old.token);
    },
  },
  {
    rule: "rule 8",
    name: "the steps of a forgotten record are forgotten",
    async check(trial) {
      const { token } = await trial.grant();
      expectKind(await trial.step(token), "settled");
      await forget(trial, true);
      const fresh = await trial.grant();
      expectSteps(fresh, {});
      expectKind(await trial.fail(fresh.token), "settled");
      expectSteps(await trial.grant(), {});
    },
  },
  {
    rule: "rule 8",
    name: "a record that is not there, or was forgotten, is not forgotten again",
    async check(trial) {
      assert.deepEqual(await forget(trial), { forgotten: 0, live: 0 });
      await reach(trial, "done");
      await forget(trial);
      assert.deepEqual(await forget(trial, true), { forgotten: 0, live: 0 });
    },
  },
  {
    rule: "rule 8",
    name: "forgetting one key leaves the others of its scope",
    async check(trial) {
      await reach(trial, "done");
      await reach(trial, "done", { key: "key 2" });
      await forget(trial);
      expectKind(await trial.claim({ key: "key 2" }), "done");
    },
  },
  {
    rule: "rule 8",
    name: "a whole scope is forgotten but for its live claims, which are counted",
    async check(trial) {
      // Last the one whose lease is over at this very moment.
      const settled = [...STATES.filter((state) => state !== "running" && state !== "expired"), "expired"] as const;
      for (const state of settled) await reach(trial, state, { key: state });
      await reach(trial, "running", { key: "live 1" });
      await reach(trial, "running", { key: "live 2" });
      assert.deepEqual(await trial.store.forget({ scope: trial.scope, key: undefined, force: false }), {
        forgotten: settled.length,
        live: 2,
      });
      const left = (await trial.pages()).flat().map(({ key }) => key);
      assert.deepEqual(left.sort(), ["live 1", "live 2"]);
      assert.deepEqual(await trial.store.forget({ scope: trial.scope, key: undefined, force: true }), {
        forgotten: 2,
        live: 0,
      });
      assert.deepEqual((await trial.pages()).flat(), []);
    },
  },
  {
    rule: "rule 8",
    name: "a whole scope is forgotten however many records it has",
    async check(trial) {
      const keys = Array.from({ length: 1_100 }, (_, index) => `key ${index}`);
      for (let from = 0; from < keys.length; from += 500) {
        const requests = keys.slice(from, from + 500).map((key) => trial.request({ key }));
        const granted = await trial.store.claim(requests);
        await trial.store.settle(
          granted.map((answer, index) =>
            trial.releasing(expectKind(answer, "granted").token, { key: requests[index]?.key ?? "" }),
          ),
        );
      }
      assert.deepEqual(await trial.store.forget({ scope: trial.scope, key: undefined, force: false }), {
        forgotten: keys.length,
        live: 0,
      });
      assert.deepEqual((await trial.pages()).flat(), []);
    },
  },
  {
    rule: "rule 8",
    name: "forgetting a scope leaves every other one, however alike its name",
    async check(trial) {
      const scope = `${trial.scope}_%`;
      const others = [trial.scope, `${trial.scope}__`, `${trial.scope}_%:tenant`, `${trial.scope}x%`, `${scope} `];
      for (const other of [scope, ...others]) await trial.store.claim([trial.request({ scope: other })]);
      assert.deepEqual(await trial.store.forget({ scope, key: undefined, force: true }), { forgotten: 1, live: 0 });
      assert.equal(await trial.store.read({ scope, key: "key" }), undefined);
      for (const other of others) {
        assert.equal((await trial.store.read({ scope: other, key: "key" }))?.status, "running", other);
      }
    },
  },
];
