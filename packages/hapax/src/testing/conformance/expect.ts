import assert from "node:assert/strict";
import { isNewer, parseToken, type Status, type StoredRecord, type Token } from "../../core/record.js";
import type { ClaimResult } from "../../core/store.js";

export type Granted = Extract<ClaimResult, { kind: "granted" }>;

/** Two readings of one clock during a case differ by no more than this, however slow the server. */
const NEAR_MS = 10_000;

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The answer, known to be of this kind. */
export function expectKind<Answer extends { readonly kind: string }, Kind extends Answer["kind"]>(
  answer: Answer,
  kind: Kind,
): Extract<Answer, { readonly kind: Kind }> {
  assert.equal(answer.kind, kind, `expected the answer ${kind}, got ${shown(answer)}`);
  return answer as Extract<Answer, { readonly kind: Kind }>;
}

/** The kinds of a batch's answers, in their order. */
export function kindsOf(answers: readonly { readonly kind: string }[]): string[] {
  return answers.map(({ kind }) => kind);
}

export function expectRecord(record: StoredRecord | undefined, status?: Status): StoredRecord {
  assert.ok(record !== undefined, "expected a record, and there is none");
  if (status !== undefined) assert.equal(record.status, status);
  return record;
}

/** Nothing has changed. */
export function expectSameRecord(actual: StoredRecord | undefined, expected: StoredRecord | undefined): void {
  assert.deepEqual(comparable(actual), comparable(expected));
}

export function expectSameBytes(actual: Uint8Array | undefined, expected: Uint8Array | undefined): void {
  assert.ok(actual === undefined || actual instanceof Uint8Array, `expected bytes, got ${typeof actual}`);
  const same =
    actual === undefined || expected === undefined ? actual === expected : Buffer.compare(actual, expected) === 0;
  assert.ok(same, `expected the bytes ${hex(expected)}, got ${hex(actual)}`);
}

/** Times are the store's own and never compared to the millisecond. */
export function expectNear(actualMs: number | undefined, expectedMs: number): void {
  const near = actualMs !== undefined && Math.abs(actualMs - expectedMs) <= NEAR_MS;
  assert.ok(near, `expected a time near ${expectedMs}, got ${actualMs}`);
}

export function expectNewer(token: Token, older: Token): void {
  assert.equal(parseToken(token), token, `a token must be a decimal string, got ${JSON.stringify(token)}`);
  assert.ok(isNewer(token, older), `expected a token newer than ${older}, got ${token}`);
}

export function expectDistinct(values: readonly unknown[]): void {
  const seen = new Set<unknown>();
  for (const value of values) {
    assert.ok(!seen.has(value), `expected distinct values, and ${String(value)} came again`);
    seen.add(value);
  }
}

export function expectSteps(granted: Granted, expected: Readonly<Record<string, string>>): void {
  const names = [...granted.steps.keys()].sort();
  assert.deepEqual(names, Object.keys(expected).sort());
  for (const [name, text] of Object.entries(expected)) expectSameBytes(granted.steps.get(name), bytes(text));
}

/** Drivers answer bytes as different classes; what counts is the bytes. */
function comparable(record: StoredRecord | undefined): unknown {
  if (record === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, value instanceof Uint8Array ? hex(value) : value]),
  );
}

function hex(value: Uint8Array | undefined): string {
  if (value === undefined) return "undefined";
  const start = Buffer.from(value.subarray(0, 32)).toString("hex");
  return `${start}${value.length > 32 ? "…" : ""} (${value.length} bytes)`;
}

function shown(answer: object): string {
  return JSON.stringify(answer, (_, value) => (value instanceof Uint8Array ? hex(value) : value));
}
