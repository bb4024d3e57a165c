import type { StoredRecord, Token } from "../../core/record.js";
import { changedOne } from "./handle.js";
import { fromBytes, toValues } from "./rows.js";
import type { Statements } from "./statements.js";

/** Creates the record of a first grant; `false`: there is one. What a new record never has is given in the statement. */
export function insert(statements: Statements, record: StoredRecord): boolean {
  const inserted = statements.insert.run(
    record.scope,
    record.key,
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
    record.seen,
    fromBytes(record.metadata),
  );
  return changedOne(inserted);
}

/** Writes a record over the one of `token`; with a new token the row moves, and its steps with it. */
export function rewrite(statements: Statements, token: Token, record: StoredRecord): void {
  statements.update.run(...toValues(record), Number(token));
  if (record.token !== token) statements.moveSteps.run(Number(record.token), Number(token));
}

export function dropSteps(statements: Statements, tokens: readonly Token[]): void {
  statements.dropSteps.run(JSON.stringify(tokens.map(Number)));
  for (const token of tokens) statements.resetSteps.run(Number(token));
}
