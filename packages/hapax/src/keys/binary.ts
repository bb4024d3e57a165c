import { types } from "node:util";

interface BinaryKind {
  readonly kind: string;
  readonly is: (value: unknown) => boolean;
  readonly from: (buffer: ArrayBuffer) => object;
}

/**
 * The kinds of binary data. Known by what they are inside and not by `instanceof`, so that those made in another realm
 * (Jest, `node:vm`) count as well. A Buffer is a Uint8Array and has no kind of its own.
 */
const KINDS: readonly BinaryKind[] = [
  { kind: "bytes", is: types.isUint8Array, from: (buffer) => Buffer.from(buffer) },
  { kind: "arraybuffer", is: types.isArrayBuffer, from: (buffer) => buffer },
  { kind: "uint8clampedarray", is: types.isUint8ClampedArray, from: (buffer) => new Uint8ClampedArray(buffer) },
  { kind: "int8array", is: types.isInt8Array, from: (buffer) => new Int8Array(buffer) },
  { kind: "int16array", is: types.isInt16Array, from: (buffer) => new Int16Array(buffer) },
  { kind: "uint16array", is: types.isUint16Array, from: (buffer) => new Uint16Array(buffer) },
  { kind: "int32array", is: types.isInt32Array, from: (buffer) => new Int32Array(buffer) },
  { kind: "uint32array", is: types.isUint32Array, from: (buffer) => new Uint32Array(buffer) },
  { kind: "float32array", is: types.isFloat32Array, from: (buffer) => new Float32Array(buffer) },
  { kind: "float64array", is: types.isFloat64Array, from: (buffer) => new Float64Array(buffer) },
  { kind: "bigint64array", is: types.isBigInt64Array, from: (buffer) => new BigInt64Array(buffer) },
  { kind: "biguint64array", is: types.isBigUint64Array, from: (buffer) => new BigUint64Array(buffer) },
  { kind: "dataview", is: types.isDataView, from: (buffer) => new DataView(buffer) },
];

export function isBinary(value: object): value is ArrayBuffer | ArrayBufferView {
  return ArrayBuffer.isView(value) || types.isArrayBuffer(value);
}

/** The kind's name, or `undefined` for one that a newer Node brought. */
export function binaryKind(value: object): string | undefined {
  return KINDS.find(({ is }) => is(value))?.kind;
}

/** Throws for memory that was transferred away: it would read as empty, and collide with what is empty. */
export function toBase64(value: ArrayBuffer | ArrayBufferView): string {
  const bytes = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value);
  return bytes.toString("base64");
}

/** The reverse; `undefined` when no kind of binary data has this name. */
export function fromBase64(kind: string, base64: string): object | undefined {
  const found = KINDS.find((one) => one.kind === kind);
  // A copy in memory of its own: small Buffers are cut out of a shared one, at offsets that wider elements refuse.
  return found?.from(new Uint8Array(Buffer.from(base64, "base64")).buffer);
}
