import assert from "node:assert/strict";
import { METADATA_BYTES_MAX, RESULT_BYTES_MAX } from "../../core/limits.js";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectSameBytes } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS } from "./trial.js";

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, value) => value);

/** Pseudo-random, so that nothing shrinks it. */
function large(length: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  });
}

/** Made when a case runs: whoever only imports the kit need not wait for a mebibyte. */
const CONTENTS: Readonly<Record<string, () => Uint8Array | undefined>> = {
  "no bytes at all": () => undefined,
  "empty bytes": () => new Uint8Array(),
  "a single zero": () => Uint8Array.of(0),
  "every value of a byte": () => EVERY_BYTE,
  "bytes that are not UTF-8": () => Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80),
  // A driver that sends the whole buffer behind a view would store its neighbours, too.
  "a view into a larger buffer": () => EVERY_BYTE.subarray(100, 103),
  "a buffer of Node": () => Buffer.from("büffer"),
  "text that is a number": () => bytes("0123"),
  "text that is JSON": () => bytes('{"paid":true,"note":"é 👍"}'),
  "text with a byte order mark": () => bytes("\ufefftext"),
  "text with a zero in it": () => bytes("te\0xt"),
};

/** Results, errors and metadata are bytes that the store never looks into. */
export const byteClauses: readonly Clause[] = [
  ...[...Object.entries(CONTENTS), ["1 MiB", () => large(RESULT_BYTES_MAX)] as const].flatMap(([what, make]) => [
    {
      rule: "waist",
      name: `a result of ${what} comes back as it was`,
      async check(trial): Promise<void> {
        const content = make();
        const { token } = await trial.grant();
        expectKind(await trial.complete(token, { result: content }), "settled");
        expectSameBytes(expectKind(await trial.claim(), "done").result, content);
        expectSameBytes((await trial.record()).result, content);
        const [listed] = (await trial.pages()).flat();
        expectSameBytes(listed?.result, content);
        expectKind(await trial.complete(token, { result: content }), "settled");
      },
    } satisfies Clause,
    {
      rule: "waist",
      name: `an error of ${what} comes back as it was`,
      async check(trial): Promise<void> {
        const content = make();
        const { token } = await trial.grant();
        expectKind(await trial.fail(token, { error: content, permanent: true }), "settled");
        expectSameBytes(expectKind(await trial.claim(), "failed").error, content);
        expectSameBytes((await trial.record()).error, content);
        expectKind(await trial.fail(token, { error: content, permanent: true }), "settled");
      },
    } satisfies Clause,
  ]),
  ...[...Object.entries(CONTENTS), ["64 KiB", () => large(METADATA_BYTES_MAX)] as const].map(
    ([what, make]): Clause => ({
      rule: "waist, G5",
      name: `metadata of ${what} comes back as it was`,
      async check(trial) {
        const content = make();
        await trial.grant({ metadata: content, leaseMs: BRIEF_MS, onAbandoned: "hold" });
        expectSameBytes((await trial.record()).metadata, content);
        await trial.pass(BRIEF_MS);
        expectSameBytes(expectKind(await trial.claim(), "uncertain").metadata, content);
      },
    }),
  ),
  {
    rule: "waist",
    name: "a result of a decision comes back as it was, empty or absent",
    async check(trial) {
      for (const [key, result] of Object.entries({ absent: undefined, empty: new Uint8Array(), full: EVERY_BYTE })) {
        const { token } = await reach(trial, "uncertain", { key });
        expectKind(await trial.resolve(token, { key, to: { status: "done", result } }), "resolved");
        expectSameBytes(expectKind(await trial.claim({ key }), "done").result, result);
      }
    },
  },
  {
    rule: "waist",
    name: "large and small results of one batch each come back as they were",
    async check(trial) {
      const contents = [large(400_000), Uint8Array.of(1), undefined, large(300_000), new Uint8Array(), EVERY_BYTE];
      const keys = contents.map((_, index) => `key ${index}`);
      const answers = await trial.store.claim(keys.map((key) => trial.request({ key })));
      await trial.store.settle(
        answers.map((answer, index) =>
          trial.completion(expectKind(answer, "granted").token, { key: keys[index] ?? "", result: contents[index] }),
        ),
      );
      const replays = await trial.store.claim(keys.map((key) => trial.request({ key })));
      assert.equal(replays.length, keys.length);
      for (const [index, replay] of replays.entries()) {
        expectSameBytes(expectKind(replay, "done").result, contents[index]);
      }
    },
  },
];
