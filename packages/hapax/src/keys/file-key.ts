import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { types } from "node:util";
import { HapaxError } from "../errors.js";
import { isBinary } from "./binary.js";
import type { Sha256Key } from "./content-key.js";

/** Where the bytes of a file come from. A string is a path. */
export type FileSource =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | Readable
  | ReadableStream<Uint8Array>
  | Iterable<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** How much of a file is read at once. */
const READ_BYTES = 256 * 1024;

/** Node refuses to hash 2 GiB or more in one piece. */
const HASH_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The identity of a file by its bytes, read in pieces: a renamed or copied file keeps its key, and a large one needs no
 * more memory than a small one. A stream is read to its end. Errors of the file system come through unchanged.
 *
 * @example
 * const key = await fileKey("./uploads/scan.pdf"); // "sha256:9f86d081…"
 */
export async function fileKey(source: FileSource): Promise<Sha256Key> {
  const hash = createHash("sha256");
  if (typeof source === "string" || source instanceof URL) await addAll(hash, openFile(source));
  else if (isBinary(source)) addBytes(hash, source);
  else if (source instanceof Blob) await addAll(hash, source.stream());
  else if (isIterable(source)) await addAll(hash, source);
  else throw invalid("needs a path, a file URL, bytes, a Blob, a stream or an iterable of bytes");
  return `sha256:${hash.digest("hex")}`;
}

function openFile(source: string | URL): Readable {
  if (typeof source !== "string" && source.protocol !== "file:") {
    throw invalid("reads file: URLs only; fetch the file and pass the response's body");
  }
  return createReadStream(source, { highWaterMark: READ_BYTES });
}

async function addAll(hash: Hash, chunks: Iterable<unknown> | AsyncIterable<unknown>): Promise<void> {
  // A stream that was read before yields the rest, or nothing at all, and all such files would share one key.
  if (Readable.isDisturbed(chunks as Readable)) {
    throw invalid("was given a stream that has been read from already; pass a fresh one, or the bytes");
  }
  for await (const chunk of chunks) {
    // Leaving the loop also closes the stream.
    if (typeof chunk === "string") {
      throw invalid("got text from the stream, and decoding may have lost bytes; open the stream without an encoding");
    }
    if (!types.isUint8Array(chunk)) throw invalid("got something else than a Uint8Array from the stream or iterable");
    addBytes(hash, chunk);
  }
}

function addBytes(hash: Hash, source: ArrayBuffer | ArrayBufferView): void {
  const bytes = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
  for (let start = 0; start < bytes.byteLength; start += HASH_BYTES_MAX) {
    hash.update(bytes.subarray(start, start + HASH_BYTES_MAX));
  }
}

function isIterable(source: unknown): source is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof source === "object" && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source);
}

function invalid(reason: string): HapaxError {
  return new HapaxError("invalid-option", `fileKey ${reason}.`);
}
