import { isUtf8 } from "node:buffer";
import type { AbandonedPolicy, SettledBy, Status, StoredRecord, Token } from "../../core/record.js";
import type { DoneRecord } from "../../core/transitions.js";
import type { Row, SqliteValue } from "./handle.js";

/** The columns of a record, in the order in which rows are read and written. */
const COLUMNS = [
  "scope",
  "key",
  "status",
  "final",
  "token",
  "claim_id",
  "owner",
  "fingerprint",
  "on_abandoned",
  "max_attempts",
  "lease_until_ms",
  "retention_ms",
  "first_seen_at_ms",
  "last_seen_at_ms",
  "finished_at_ms",
  "expires_at_ms",
  "runs",
  "seen",
  "settled_by",
  "result",
  "error",
  "metadata",
] as const;

export const COLUMN_LIST: string = COLUMNS.join(", ");
export const ASSIGNMENTS: string = COLUMNS.map((column) => `${column} = ?`).join(", ");

/** A record, and how many steps lie beside it. */
export interface StoredRow {
  readonly steps: number;
  readonly record: StoredRecord;
}

/** Reads what `select steps, <COLUMN_LIST>` answers. */
export function toStoredRow(row: Row): StoredRow {
  return {
    steps: row[0] as number,
    record: {
      scope: row[1] as string,
      key: row[2] as string,
      status: row[3] as Status,
      final: row[4] === 1,
      token: String(row[5]) as Token,
      claimId: row[6] as string,
      owner: row[7] as string,
      fingerprint: (row[8] ?? undefined) as string | undefined,
      onAbandoned: row[9] as AbandonedPolicy,
      maxAttempts: (row[10] ?? undefined) as number | undefined,
      leaseUntilMs: row[11] as number,
      retentionMs: row[12] as number,
      firstSeenAtMs: row[13] as number,
      lastSeenAtMs: row[14] as number,
      finishedAtMs: (row[15] ?? undefined) as number | undefined,
      expiresAtMs: (row[16] ?? undefined) as number | undefined,
      runs: row[17] as number,
      seen: row[18] as number,
      settledBy: (row[19] ?? undefined) as SettledBy | undefined,
      result: toBytes(row[20]),
      error: toBytes(row[21]),
      metadata: toBytes(row[22]),
    },
  };
}

/** `node:sqlite` takes an empty array without memory of its own for NULL. */
const EMPTY: Uint8Array = Buffer.alloc(0);

/**
 * Bytes that are text lie in the table as text: people can read them there, and drivers read text faster than blobs.
 * Everything else (and text with NUL, at which some drivers stop) lies there as it is.
 */
export function fromBytes(bytes: Uint8Array | undefined): SqliteValue {
  if (bytes === undefined) return null;
  if (bytes.byteLength === 0) return EMPTY;
  if (!isUtf8(bytes) || bytes.includes(0)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

export function toBytes(stored: unknown): Uint8Array | undefined {
  if (typeof stored === "string") return Buffer.from(stored);
  return (stored ?? undefined) as Uint8Array | undefined;
}

/** The values of a record, in the order of the columns. */
export function toValues(record: StoredRecord): SqliteValue[] {
  return [
    record.scope,
    record.key,
    record.status,
    record.final ? 1 : 0,
    Number(record.token),
    record.claimId,
    record.owner,
    record.fingerprint ?? null,
    record.onAbandoned,
    record.maxAttempts ?? null,
    record.leaseUntilMs,
    record.retentionMs,
    record.firstSeenAtMs,
    record.lastSeenAtMs,
    record.finishedAtMs ?? null,
    record.expiresAtMs ?? null,
    record.runs,
    record.seen,
    record.settledBy ?? null,
    fromBytes(record.result),
    fromBytes(record.error),
    fromBytes(record.metadata),
  ];
}

/** Reads what `findDone` answers. */
export function toDoneRecord(row: Row): DoneRecord {
  return {
    token: String(row[0]) as Token,
    fingerprint: (row[1] ?? undefined) as string | undefined,
    runs: row[2] as number,
    result: toBytes(row[3]),
    expiresAtMs: row[4] as number,
  };
}
