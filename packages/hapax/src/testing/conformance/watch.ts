import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import type { Clause } from "./clause.js";
import { expectKind } from "./expect.js";
import { reach } from "./states.js";
import type { Trial } from "./trial.js";

/** A push takes a round trip of its own. */
const PUSH_MS_MAX = 2_000;

/** Watches a key; a store without push must not pretend to have it, and the case ends there. */
function watching(trial: Trial, key = "key"): { woken: Promise<void>; stop: () => void } | undefined {
  const { capabilities, watch } = trial.store;
  assert.equal(watch !== undefined, capabilities.push, "capabilities.push says whether there is a watch");
  if (watch === undefined) return undefined;
  let wake = () => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { woken, stop: watch.call(trial.store, { scope: trial.scope, key }, wake) };
}

async function expectWoken(woken: Promise<void>): Promise<void> {
  const late = new AbortController();
  const answer = await Promise.race([
    woken.then(() => "woken"),
    wait(PUSH_MS_MAX, "asleep", { signal: late.signal }).catch(() => "asleep"),
  ]);
  late.abort();
  assert.equal(answer, "woken", `the watch was not woken within ${PUSH_MS_MAX} ms`);
}

/** Push, where the store has it: a wake-up too many is harmless, one too few is not. */
export const watchClauses: readonly Clause[] = [
  ...(["complete", "fail", "release"] as const).map(
    (kind): Clause => ({
      rule: "waist, L6",
      name: `whoever watches a record is woken by its ${kind}`,
      async check(trial) {
        const { token } = await trial.grant();
        const watch = watching(trial);
        if (watch === undefined) return;
        expectKind(await trial[kind](token), "settled");
        await expectWoken(watch.woken);
        watch.stop();
      },
    }),
  ),
  {
    rule: "waist, L6",
    name: "whoever watches a record is woken by a decision about it",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      const watch = watching(trial);
      if (watch === undefined) return;
      expectKind(await trial.resolve(token), "resolved");
      await expectWoken(watch.woken);
      watch.stop();
    },
  },
  ...([undefined, "key"] as const).map(
    (key): Clause => ({
      rule: "waist, L6",
      name: `whoever watches a record is woken when its ${key ?? "scope"} is forgotten`,
      async check(trial) {
        await trial.grant();
        const watch = watching(trial);
        if (watch === undefined) return;
        assert.equal((await trial.store.forget({ scope: trial.scope, key, force: true })).forgotten, 1);
        await expectWoken(watch.woken);
        watch.stop();
      },
    }),
  ),
  {
    rule: "waist, L6",
    name: "everyone who watches is woken, also when another has stopped",
    async check(trial) {
      const { token } = await trial.grant();
      const watches = [watching(trial), watching(trial), watching(trial)];
      watches[1]?.stop();
      expectKind(await trial.complete(token), "settled");
      for (const watch of [watches[0], watches[2]]) {
        if (watch === undefined) return;
        await expectWoken(watch.woken);
        watch.stop();
      }
    },
  },
  {
    rule: "waist, L6",
    name: "who has stopped watching may stop again, and watch again",
    async check(trial) {
      const { token } = await trial.grant();
      const first = watching(trial);
      if (first === undefined) return;
      first.stop();
      first.stop();
      const second = watching(trial);
      first.stop();
      expectKind(await trial.complete(token), "settled");
      await expectWoken(second?.woken ?? Promise.reject(new Error("not watched")));
      second?.stop();
    },
  },
];
