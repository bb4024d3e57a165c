import type { StoredRecord, Token } from "../../core/record.js";
import { toValues } from "./rows.js";
import type { Statements } from "./statements.js";

/** Writes a record over the one of `token`; with a new token the row moves, and its steps with it. */
export function rewrite(statements: Statements, token: Token, record: StoredRecord): void {
  statements.update.run(...toValues(record), Number(token));
  if (record.token !== token) statements.moveSteps.run(Number(record.token), Number(token));
}

export function dropSteps(statements: Statements, tokens: readonly Token[]): void {
  statements.dropSteps.run(JSON.stringify(tokens.map(Number)));
  for (const token of tokens) statements.resetSteps.run(Number(token));
}
