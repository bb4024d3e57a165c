import { HapaxError, shownKey } from "../errors.js";
import { argumentsKey, type CompositeKey, compositeKey, contentKey } from "../keys/content-key.js";
import { type Codec, encodeWithin } from "./codec.js";
import { FINGERPRINT_BYTES_MAX, KEY_BYTES_MAX, METADATA_BYTES_MAX, SCOPE_BYTES_MAX } from "./limits.js";
import { BEHAVIOUR_NAMES, type Behaviour, parseBehaviour, refuseUnknown, type Settings } from "./settings.js";

/** Names an operation. One of `key` and `payload` must be there. */
export interface Identity {
  /** A namespace: `payments`, `webhooks:stripe`, a tenant inside it. */
  readonly scope: string;
  /** Your own key, or the parts of a composite one. Without it the key is the hash of the payload. */
  readonly key?: string | CompositeKey;
  /** What the operation is about. Beside a `key` it is the fingerprint: another payload under that key is refused. */
  readonly payload?: unknown;
  /** Fields of the payload that do not count: `["receivedAt", "meta.*.retryCount"]`. */
  readonly exclude?: readonly string[];
  /** A hash of your own in place of a `payload`. */
  readonly fingerprint?: string;
}

/** Names a record, to look at it or to decide about it. */
export type RecordName = Omit<Identity, "fingerprint">;

export interface Call extends Identity, Behaviour {
  /** Ends waiting; a running function sees it as `ctx.signal`. */
  readonly signal?: AbortSignal;
  /** Kept with the record, for people: a source path, a trace id. */
  readonly metadata?: unknown;
}

/** A call that was checked. */
export interface Operation {
  readonly scope: string;
  readonly key: string;
  /** Scope and key in one; NUL is refused in both, so it cannot collide. */
  readonly id: string;
  readonly fingerprint: string | undefined;
  readonly settings: Settings;
  readonly signal: AbortSignal | undefined;
  readonly metadata: Uint8Array | undefined;
}

const IDENTITY_NAMES = ["scope", "key", "payload", "exclude", "fingerprint"] as const;
const RECORD: ReadonlySet<string> = new Set(["scope", "key", "payload", "exclude"]);
const CALL: ReadonlySet<string> = new Set([...IDENTITY_NAMES, ...BEHAVIOUR_NAMES, "signal", "metadata"]);
const BEHAVIOUR: ReadonlySet<string> = new Set(BEHAVIOUR_NAMES);

export function parseCall(call: Call, defaults: Settings, codec: Codec): Operation {
  requireObject(call);
  let overrides = false;
  for (const name in call) {
    if (!CALL.has(name)) refuseUnknown("The call", call, CALL);
    overrides ||= BEHAVIOUR.has(name);
  }
  const { scope, key, fingerprint } = parseIdentity(call);
  if (call.signal !== undefined && !(call.signal instanceof AbortSignal)) {
    throw new HapaxError("invalid-option", "signal must be an AbortSignal.");
  }
  return {
    scope,
    key,
    id: `${scope}\0${key}`,
    fingerprint,
    settings: overrides ? parseBehaviour(call, defaults) : defaults,
    signal: call.signal,
    metadata: call.metadata === undefined ? undefined : encodeMetadata(codec, call.metadata),
  };
}

export function encodeMetadata(codec: Codec, metadata: unknown): Uint8Array {
  return encodeWithin(codec, metadata, METADATA_BYTES_MAX, "metadata", "Keep names and paths in it, not content.");
}

/** For calls that only name a record, such as `get`. */
export function parseRecordId(identity: RecordName): { scope: string; key: string } {
  requireObject(identity);
  refuseUnknown("The call", identity, RECORD);
  const { scope, key } = parseIdentity(identity);
  return { scope, key };
}

/** Nothing but a scope means all of it; anything more must name one record. */
export function parseRecordOrScope(target: RecordName | { readonly scope: string }): {
  scope: string;
  key: string | undefined;
} {
  requireObject(target);
  const whole = Object.keys(target).every((name) => name === "scope");
  return whole ? { scope: parseScope(target.scope), key: undefined } : parseRecordId(target);
}

export function parseScope(scope: unknown): string {
  if (scope === undefined || scope === null) {
    throw new HapaxError("missing-scope", 'The call names no scope. Give it a namespace, such as scope: "payments".');
  }
  return checkText("scope", scope, SCOPE_BYTES_MAX, "invalid-scope");
}

/** The key of a wrapped function's call: what `key` says, or the hash of its arguments. */
export function argumentsIdentity(args: readonly unknown[], exclude: readonly string[] | undefined): string {
  return argumentsKey(args, exclude === undefined ? {} : { exclude });
}

function parseIdentity(identity: Identity): { scope: string; key: string; fingerprint: string | undefined } {
  const scope = parseScope(identity.scope);
  const hasPayload = identity.payload !== undefined;
  if (identity.exclude !== undefined && !hasPayload) {
    throw new HapaxError("invalid-option", "exclude names fields of a payload, and the call has none.");
  }
  if (hasPayload && identity.fingerprint !== undefined) {
    throw new HapaxError(
      "invalid-option",
      "Give a payload or a fingerprint, not both: the payload's hash is the fingerprint.",
    );
  }
  if (identity.key === undefined || identity.key === null) {
    if (!hasPayload) {
      throw new HapaxError(
        "missing-key",
        `The call in scope ${JSON.stringify(shownKey(scope))} names neither a key nor a payload. ` +
          "Give it a key of yours, or the payload to hash.",
      );
    }
    return { scope, key: contentKey(identity.payload, excluding(identity)), fingerprint: undefined };
  }
  return { scope, key: parseKey(identity.key), fingerprint: parseFingerprint(identity, hasPayload) };
}

function parseKey(key: string | CompositeKey): string {
  const text = typeof key === "string" ? key : compositeKey(key);
  return checkText("key", text, KEY_BYTES_MAX, "invalid-key");
}

function parseFingerprint(identity: Identity, hasPayload: boolean): string | undefined {
  if (hasPayload) return contentKey(identity.payload, excluding(identity));
  if (identity.fingerprint === undefined) return undefined;
  return checkText("fingerprint", identity.fingerprint, FINGERPRINT_BYTES_MAX, "invalid-option");
}

function excluding(identity: Identity): { exclude?: readonly string[] } {
  return identity.exclude === undefined ? {} : { exclude: identity.exclude };
}

/** Refused before anything is sent: lone surrogates would collide in UTF-8, and NUL ends text in some stores. */
export function checkText(
  what: string,
  text: unknown,
  bytesMax: number,
  code: "invalid-scope" | "invalid-key" | "invalid-option",
): string {
  if (typeof text !== "string") throw new HapaxError(code, `${what} must be a string; got ${typeof text}.`);
  if (text === "") throw new HapaxError(code, `${what} must not be empty.`);
  if (text.includes("\0")) throw new HapaxError(code, `${what} must not contain the NUL character.`);
  if (!text.isWellFormed()) {
    throw new HapaxError(
      code,
      `${what} must be well-formed text; it holds half of a surrogate pair. Encode bytes as hex or base64.`,
    );
  }
  // A UTF-16 unit takes at most 3 bytes, so most texts need no count.
  if (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax) {
    throw new HapaxError(
      code,
      `${what} takes ${Buffer.byteLength(text)} bytes; the limit is ${bytesMax}. Hash it: contentKey(${what}) is 71 bytes.`,
    );
  }
  return text;
}

export function requireObject(call: unknown): void {
  if (typeof call === "object" && call !== null) return;
  throw new HapaxError(
    "invalid-option",
    `The first argument must be an object such as { scope, key }; got ${typeof call}.`,
  );
}

/** What a log line may say of an operation. */
export function shownOperation({ scope, key }: { readonly scope: string; readonly key: string }): {
  scope: string;
  key: string;
} {
  return { scope, key: shownKey(key) };
}

/** Equal in everything that the store would decide or write by. */
export function sameTerms(left: Operation, right: Operation): boolean {
  if (left.fingerprint !== right.fingerprint || left.metadata !== right.metadata) return false;
  const a = left.settings;
  const b = right.settings;
  return (
    a === b ||
    (a.leaseMs === b.leaseMs &&
      a.retentionMs === b.retentionMs &&
      a.onAbandoned === b.onAbandoned &&
      a.maxAttempts === b.maxAttempts)
  );
}

export function requireFunction(fn: unknown): void {
  if (typeof fn !== "function") {
    throw new HapaxError("invalid-option", `The last argument must be the function to run once; got ${typeof fn}.`);
  }
}
