import type { StoredRecord } from "../../core/record.js";
import type {
  ForgetRequest,
  ListPage,
  ListQuery,
  PurgeResult,
  RecordId,
  Resolution,
  ResolveResult,
} from "../../core/store.js";
import { isAbsent, isLive } from "../../core/transitions.js";
import { decideAbandoned, decideResolve, forgotten } from "../../core/upkeep-transitions.js";
import { HapaxError } from "../../errors.js";
import { toStoredRow } from "./rows.js";
import type { Statements } from "./statements.js";
import { dropSteps, rewrite } from "./write.js";

/** A piece of upkeep is small, so that it never holds the file, or the event loop, for long. */
const PIECE_RECORDS = 500;

/** An abandoned claim of policy `hold` is shown as what the next claim makes of it. */
export function readOne(statements: Statements, { scope, key }: RecordId, nowMs: number): StoredRecord | undefined {
  const row = statements.find.get(scope, key);
  if (row === undefined) return undefined;
  const { record } = toStoredRow(row);
  return isAbsent(record, nowMs) ? undefined : (decideAbandoned(record, nowMs) ?? record);
}

export function listPage(statements: Statements, query: ListQuery, nowMs: number): ListPage {
  const { scope, status = null, limit } = query;
  const [afterScope, afterKey] = parseCursor(query.cursor);
  const rows =
    scope === undefined
      ? statements.list.all(afterScope, afterKey, nowMs, status, status, limit + 1)
      : statements.listScope.all(scope, afterKey, nowMs, status, status, limit + 1);
  const records = rows.slice(0, limit).map((row) => toStoredRow(row).record);
  const last = records.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { records, cursor: more ? JSON.stringify([last.scope, last.key]) : undefined };
}

function parseCursor(cursor: string | undefined): readonly [scope: string, key: string] {
  if (cursor === undefined) return ["", ""];
  try {
    const [scope, key] = JSON.parse(cursor) as unknown[];
    if (typeof scope === "string" && typeof key === "string") return [scope, key];
  } catch {
    // Refused below.
  }
  throw new HapaxError("invalid-option", "cursor must be the one that the page before gave.");
}

export function resolveOne(statements: Statements, resolution: Resolution, nowMs: number): ResolveResult {
  const row = statements.find.get(resolution.scope, resolution.key);
  if (row === undefined) return { kind: "absent" };
  const { record } = toStoredRow(row);
  const { result, write: next } = decideResolve(record, resolution, nowMs);
  if (next !== undefined) rewrite(statements, record.token, next);
  return result;
}

/** Forgets one record, or a piece of a scope. The last piece also says what was left alone, at the same moment. */
export function forgetPiece(
  statements: Statements,
  request: ForgetRequest,
  nowMs: number,
): { readonly forgotten: number; readonly live: number | undefined } {
  const rows =
    request.key === undefined
      ? statements.forgettable.all(request.scope, nowMs, request.force ? 1 : 0, nowMs, PIECE_RECORDS)
      : [statements.find.get(request.scope, request.key)].filter((row) => row !== undefined);
  const found = rows.map(toStoredRow).filter(({ record }) => {
    return !isAbsent(record, nowMs) && (request.force || !isLive(record, nowMs));
  });
  for (const { record } of found) rewrite(statements, record.token, forgotten(record));
  dropSteps(
    statements,
    found.filter(({ steps }) => steps > 0).map(({ record }) => record.token),
  );
  // A full piece may not be the last; fewer are, also where others keep settling meanwhile.
  const more = request.key === undefined && found.length === PIECE_RECORDS;
  return { forgotten: found.length, live: more ? undefined : countLive(statements, request, nowMs) };
}

/** The live claims that a forget leaves alone. */
function countLive(statements: Statements, { scope, key, force }: ForgetRequest, nowMs: number): number {
  if (force) return 0;
  if (key === undefined) return Number(statements.countLive.get(scope, nowMs)?.[0]);
  const row = statements.find.get(scope, key);
  if (row === undefined) return 0;
  const { record } = toStoredRow(row);
  return !isAbsent(record, nowMs) && isLive(record, nowMs) ? 1 : 0;
}

export function purgePiece(statements: Statements, limit: number, nowMs: number): PurgeResult {
  const count = Math.min(limit, PIECE_RECORDS);
  const uncertain = moveAbandoned(statements, nowMs, count);
  const tokens = JSON.stringify(statements.expired.all(nowMs, count).map(([token]) => token));
  statements.dropSteps.run(tokens);
  const purged = Number(statements.remove.run(tokens).changes);
  return { purged, uncertain, more: purged === count || uncertain === count };
}

export function hasAbandoned(statements: Statements, nowMs: number): boolean {
  return statements.abandoned.get(nowMs, 1) !== undefined;
}

export function moveAbandoned(statements: Statements, nowMs: number, limit: number = PIECE_RECORDS): number {
  const records = statements.abandoned.all(nowMs, limit).map((row) => toStoredRow(row).record);
  for (const record of records) rewrite(statements, record.token, decideAbandoned(record, nowMs) ?? record);
  return records.length;
}
