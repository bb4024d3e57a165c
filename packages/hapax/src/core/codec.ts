import { HapaxError } from "../errors.js";
import { fromDataForm, toDataForm } from "../keys/data-form.js";
import { ERROR_MESSAGE_CHARACTERS_MAX } from "./limits.js";

/** Turns results, step results and metadata into bytes and back. */
export interface Codec {
  encode(value: unknown): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

/**
 * JSON text; bigint, Date, Map, Set, Buffer, typed arrays, URL and `undefined` come back as themselves
 * (`docs/keys.md` has the table), and other class instances as the data they hold.
 */
export const jsonCodec: Codec = {
  encode: (value) => Buffer.from(JSON.stringify(toDataForm(value, { root: "result" }))),
  decode: (bytes) => fromDataForm(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())),
};

/** Encodes with a limit; `what` and `way out` make the error. */
export function encodeWithin(codec: Codec, value: unknown, bytesMax: number, what: string, wayOut: string): Uint8Array {
  const bytes = codec.encode(value);
  if (!(bytes instanceof Uint8Array)) {
    throw new HapaxError("unserializable", `${what} was not encoded: the codec's encode must return a Uint8Array.`);
  }
  if (bytes.byteLength <= bytesMax) return bytes;
  throw new HapaxError(
    "payload-too-large",
    `${what} takes ${bytes.byteLength} bytes; the limit is ${bytesMax}. ${wayOut}`,
  );
}

/** Decodes what the store holds. A parser's own words may quote the data, so they are not passed on. */
export function decodeStored(codec: Codec, bytes: Uint8Array, what: string): unknown {
  try {
    return codec.decode(bytes);
  } catch {
    throw new HapaxError(
      "unserializable",
      `${what} cannot be read by this codec. Was it written by another one? The work is recorded and does not run again.`,
    );
  }
}

/** No JSON, and no text at all, begins with this byte. */
const OMITTED = Buffer.from("\u00ffhapax:omitted:", "latin1");

/** Stands for a result that could not be stored: the work is done, and a replay must say so rather than run it again. */
function omittedResult(reason: string): Uint8Array {
  return Buffer.concat([OMITTED, Buffer.from(reason)]);
}

/** A result in bytes, or what stands for one that cannot be stored, with the refusal for its caller. */
export interface EncodedResult {
  readonly bytes: Uint8Array | undefined;
  readonly refusal?: HapaxError;
}

/** The work is done: a result that cannot be stored must neither undo that nor make it run again. */
export function encodeResult(codec: Codec, value: unknown, bytesMax: number): EncodedResult {
  const wayOut = "Return less, raise resultBytesMax, or set storeResult: false.";
  try {
    return { bytes: encodeWithin(codec, value, bytesMax, "The function's result", wayOut) };
  } catch (cause) {
    const code = cause instanceof HapaxError ? cause.code : "unserializable";
    const reason = cause instanceof Error ? cause.message : "The codec refused the result.";
    const refusal = new HapaxError(
      code,
      `${reason} The function ran and will not run again; its result was not kept.`,
      { cause },
    );
    return { bytes: omittedResult(code), refusal };
  }
}

/** Why a result is missing, if it is. */
export function omissionOf(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, OMITTED.byteLength));
  return head.equals(OMITTED) ? Buffer.from(bytes).subarray(OMITTED.byteLength).toString() : undefined;
}

/** What is kept of an error: enough to tell a person what went wrong, and never its fields. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

export function encodeError(error: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(describeError(error)));
}

function describeError(error: unknown): StoredError {
  try {
    return readError(error);
  } catch {
    // A getter of the error's own threw. That it failed must be stored all the same.
    return { name: "Error", message: "an error whose fields cannot be read" };
  }
}

function readError(error: unknown): StoredError {
  if (!(error instanceof Error)) return { name: "Error", message: `a thrown ${typeof error}` };
  const code = "code" in error && typeof error.code === "string" ? { code: error.code.slice(0, 100) } : {};
  return {
    name: String(error.name).slice(0, 100),
    message: String(error.message).toWellFormed().slice(0, ERROR_MESSAGE_CHARACTERS_MAX),
    ...code,
  };
}

export function decodeError(bytes: Uint8Array | undefined): StoredError | undefined {
  if (bytes === undefined) return undefined;
  const { name, message, code } = JSON.parse(Buffer.from(bytes).toString()) as Partial<StoredError>;
  return { name: String(name), message: String(message), ...(code === undefined ? {} : { code: String(code) }) };
}

const permanentErrors = new WeakSet<object>();

/**
 * Marks an error as permanent: the record becomes a final failure and the work does not run again.
 *
 * @example
 * if (card.stolen) throw permanent(new Error("card declined"));
 */
export function permanent<E extends Error>(error: E): E {
  permanentErrors.add(error);
  return error;
}

export function isPermanent(error: unknown): boolean {
  return typeof error === "object" && error !== null && permanentErrors.has(error);
}
