import type { Token } from "../../core/record.js";
import type { Clause } from "./clause.js";
import { expectDistinct, expectKind, expectNewer } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS } from "./trial.js";

/** Fencing tokens: never reused, only grow. */
export const tokenClauses: readonly Clause[] = [
  {
    rule: "tokens",
    name: "tokens grow from key to key",
    async check(trial) {
      let last = (await trial.grant({ key: "key 0" })).token;
      for (let index = 1; index <= 12; index += 1) {
        const { token } = await trial.grant({ key: `key ${index}` });
        expectNewer(token, last);
        last = token;
      }
    },
  },
  {
    rule: "tokens",
    name: "tokens grow through failures, releases and takeovers of one key",
    async check(trial) {
      let { token: last } = await trial.grant();
      const next = async (leaseMs: number) => {
        const { token } = await trial.grant({ leaseMs });
        expectNewer(token, last);
        last = token;
      };
      expectKind(await trial.fail(last), "settled");
      await next(BRIEF_MS);
      expectKind(await trial.release(last), "settled");
      await next(BRIEF_MS);
      await trial.pass(BRIEF_MS);
      await next(BRIEF_MS);
      await trial.pass(BRIEF_MS);
      await next(BRIEF_MS);
    },
  },
  {
    rule: "tokens",
    name: "tokens grow also after every record of the key was purged",
    async check(trial) {
      let last: Token | undefined;
      for (let times = 0; times < 3; times += 1) {
        const { token } = await reach(trial, "done", { retentionMs: BRIEF_MS });
        if (last !== undefined) expectNewer(token, last);
        last = token;
        await trial.pass(BRIEF_MS);
        await trial.purgeAll();
      }
    },
  },
  {
    rule: "tokens",
    name: "the tokens of one batch are all different, and newer than those before it",
    async check(trial) {
      const { token: before } = await trial.grant();
      const requests = Array.from({ length: 100 }, (_, index) => trial.request({ key: `key ${index}` }));
      const answers = await trial.store.claim(requests);
      const tokens = answers.map((answer) => expectKind(answer, "granted").token);
      expectDistinct(tokens);
      for (const token of tokens) expectNewer(token, before);
      const { token: after } = await trial.grant({ key: "after" });
      for (const token of tokens) expectNewer(after, token);
    },
  },
  {
    rule: "tokens",
    name: "a claim that is refused leaves the token of the holder in force",
    async check(trial) {
      const { token } = await reach(trial, "running", { fingerprint: "a" });
      expectKind(await trial.claim(), "busy");
      expectKind(await trial.claim({ fingerprint: "b" }), "mismatch");
      expectKind(await trial.extend(token), "extended");
      expectKind(await trial.complete(token), "settled");
    },
  },
];
