import type { Settlement } from "./store.js";

/** What an item weighs in a batch. */
export function settlementBytes(settlement: Settlement): number {
  switch (settlement.kind) {
    case "complete":
      return bytesOf(settlement.result) + bytesOf(settlement.metadata);
    case "fail":
      return bytesOf(settlement.error) + bytesOf(settlement.metadata);
    case "step":
      return bytesOf(settlement.result);
    case "release":
      return 0;
  }
}

export function bytesOf(bytes: Uint8Array | undefined): number {
  return bytes?.byteLength ?? 0;
}
