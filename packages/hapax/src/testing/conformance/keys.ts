import assert from "node:assert/strict";
import { FINGERPRINT_BYTES_MAX, KEY_BYTES_MAX, OWNER_BYTES_MAX, SCOPE_BYTES_MAX } from "../../core/limits.js";
import type { RecordId } from "../../core/store.js";
import type { Clause } from "./clause.js";
import { bytes, expectDistinct, expectKind, expectSameBytes } from "./expect.js";
import type { Trial } from "./trial.js";

/** Texts that some collation, normalisation, padding, number or path would take for one another. */
const ALIKE: Readonly<Record<string, readonly string[]>> = {
  "in case": ["key", "KEY", "Key", "ı", "i", "I", "İ", "ß", "ss", "ẞ", "ſ", "s"],
  "in combining form": [
    "\u00e9",
    "e\u0301",
    "\u1ebf",
    "\u00ea\u0301",
    "e\u0302\u0301",
    "\uac00",
    "\u1100\u1161",
    "\ufb01",
    "fi",
  ],
  "in spaces": [
    " key",
    "key ",
    "key  ",
    "\tkey",
    "key\n",
    "key\r\n",
    "key\u00a0",
    "k\u200bey",
    "k\u200dey",
    "\ufeffkey",
  ],
  "in emoji": ["👍", "👍🏽", "👩‍👩‍👧", "👩👩👧", "\u{10ffff}", "\uffff", "\ufffd"],
  "as numbers": ["1", "01", "1.0", "1e0", "+1", "0x1", "９", "9"],
  "as words of a language": ["null", "undefined", "true", "__proto__", "constructor", "toString", "NaN", ""],
  "in control characters": ["key\u0001", "key\u0002", "key\u001f", "key\u007f", "key\u2028", "key\u0085"],
  "in punctuation": [
    "'",
    "''",
    '"',
    "`",
    "\\",
    "\\\\",
    "%",
    "_",
    "*",
    "?",
    "a%",
    "a_",
    "a:b",
    "a/b",
    "a\\:b",
    "{a}",
    "[a]",
  ],
};

/** Pairs that are one text when they are put together carelessly. */
const SPLITS: readonly (readonly [scope: string, key: string])[] = [
  ["a", "b:c"],
  ["a:b", "c"],
  ["a", ":b:c"],
  ["a:", "b:c"],
  ["ab", "c"],
  ["a", "bc"],
  ["a/b", "c"],
  ["a", "b/c"],
  ["a\u0001b", "c"],
  ["a", "b\u0001c"],
  ['["a"', '"b"]'],
  ['["a","b"', "]"],
  ["a|b", "c"],
  ["a", "b|c"],
];

/** Each is granted, keeps what is its own, and reads back as it was written. */
async function expectApart(trial: Trial, ids: readonly RecordId[]): Promise<void> {
  const answers = await trial.store.claim(ids.map((id, index) => trial.request({ ...id, owner: `owner ${index}` })));
  const tokens = answers.map((answer) => expectKind(answer, "granted").token);
  expectDistinct(tokens);
  await trial.store.settle(
    tokens.map((token, index) => trial.completion(token, { ...ids[index], result: bytes(`result ${index}`) })),
  );
  for (const [index, id] of ids.entries()) {
    const record = await trial.store.read(id);
    assert.equal(record?.scope, id.scope);
    assert.equal(record?.key, id.key);
    assert.equal(record?.owner, `owner ${index}`);
    expectSameBytes(record?.result, bytes(`result ${index}`));
  }
  const replays = await trial.store.claim(ids.map((id) => trial.request({ ...id })));
  for (const [index, replay] of replays.entries()) {
    expectSameBytes(expectKind(replay, "done").result, bytes(`result ${index}`));
  }
}

/** Scope and key are compared to the last bit, and nothing is done to them. */
export const keyClauses: readonly Clause[] = [
  ...Object.entries(ALIKE).flatMap(([how, texts]) => {
    const nonEmpty = texts.filter((text) => text !== "");
    return [
      {
        rule: "waist",
        name: `keys that are alike ${how} are told apart`,
        check: (trial) =>
          expectApart(
            trial,
            nonEmpty.map((key) => ({ scope: trial.scope, key })),
          ),
      } satisfies Clause,
      {
        rule: "waist",
        name: `scopes that are alike ${how} are told apart`,
        check: (trial) =>
          expectApart(
            trial,
            texts.map((text) => ({ scope: `${trial.scope}${text}`, key: "key" })),
          ),
      } satisfies Clause,
    ];
  }),
  {
    rule: "waist",
    name: "records that differ only in where the scope ends and the key begins are told apart",
    check: (trial) =>
      expectApart(
        trial,
        SPLITS.map(([scope, key]) => ({ scope: `${trial.scope}${scope}`, key })),
      ),
  },
  {
    rule: "waist",
    name: `scopes and keys of ${KEY_BYTES_MAX} bytes are told apart by their last byte`,
    check: (trial) => {
      const scope = (end: string) => trial.scope + "s".repeat(SCOPE_BYTES_MAX - trial.scope.length - 1) + end;
      const key = (end: string) => "k".repeat(KEY_BYTES_MAX - 1) + end;
      return expectApart(trial, [
        { scope: scope("1"), key: key("1") },
        { scope: scope("1"), key: key("2") },
        { scope: scope("2"), key: key("1") },
        { scope: scope("2"), key: "👍".repeat(KEY_BYTES_MAX / 4) },
        { scope: scope("2"), key: `${"👍".repeat(KEY_BYTES_MAX / 4 - 1)}👎` },
        { scope: scope("2"), key: "\u0001".repeat(KEY_BYTES_MAX) },
      ]);
    },
  },
  {
    rule: "rule 2",
    name: "fingerprints are compared to the last character",
    async check(trial) {
      const longest = "f".repeat(FINGERPRINT_BYTES_MAX - 1);
      const prints = ["sha256:a", "sha256:A", "sha256:a ", "e\u0301", "\u00e9", `${longest}1`, `${longest}2`];
      for (const [index, fingerprint] of prints.entries()) await trial.grant({ key: `key ${index}`, fingerprint });
      for (const [index, kept] of prints.entries()) {
        const key = `key ${index}`;
        assert.equal((await trial.record(key)).fingerprint, kept);
        for (const fingerprint of prints) {
          expectKind(await trial.claim({ key, fingerprint }), fingerprint === kept ? "busy" : "mismatch");
        }
      }
    },
  },
  {
    rule: "rule 4",
    name: "claimIds are compared to the last character",
    async check(trial) {
      await trial.grant({ claimId: "claim" });
      for (const claimId of ["Claim", "claim ", "claim1"]) expectKind(await trial.claim({ claimId }), "busy");
    },
  },
  {
    rule: "G5",
    name: "an owner of any text comes back as it was",
    async check(trial) {
      const owners = ["wörker:👷:1", "o".repeat(OWNER_BYTES_MAX), "'\"\\%"];
      for (const [index, owner] of owners.entries()) {
        await trial.grant({ key: `key ${index}`, owner });
        assert.equal((await trial.record(`key ${index}`)).owner, owner);
      }
    },
  },
];
