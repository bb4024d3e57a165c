import type { StoredRecord, Token } from "../../core/record.js";
import type { ClaimRequest, ClaimResult } from "../../core/store.js";
import { type ClaimDecision, decideClaim } from "../../core/transitions.js";
import { type StoredRow, toStoredRow, toValues } from "./rows.js";
import type { Statements } from "./statements.js";

const NO_STEPS: ReadonlyMap<string, Uint8Array> = new Map();

/** A row that this batch has read, with what it owes the table. */
interface Touched {
  readonly id: number;
  readonly steps: number;
  /** As it lies in the table: the condition of the write. */
  readonly storedToken: Token;
  record: StoredRecord;
  /** More than `seen` has changed. */
  rewritten: boolean;
  /** Arrivals that are only counted. */
  arrivals: number;
}

/**
 * Decides a batch of claims inside the transaction that holds the file's write lock. New keys are inserted outright;
 * known ones are read, decided by the state machine and written back at the end: whole rows one by one, and the
 * arrivals that only count in one statement.
 */
export class ClaimBatch {
  readonly #statements: Statements;
  readonly #nowMs: number;
  readonly #touched = new Map<string, Touched>();
  #lastToken: number;
  #drawn = 0;
  #conflicts = 0;

  constructor(statements: Statements, nowMs: number) {
    this.#statements = statements;
    this.#nowMs = nowMs;
    this.#lastToken = Number(statements.lastToken.get()?.[0]);
  }

  /** How many requests met a record. */
  get known(): number {
    return this.#conflicts;
  }

  /** Reads the records of all requests in one statement: cheaper where most of them are known. */
  readAhead(requests: readonly ClaimRequest[]): void {
    const wanted = JSON.stringify(requests.map(({ scope, key }) => [scope, key]));
    for (const row of this.#statements.findMany.all(wanted)) this.#touch(toStoredRow(row));
  }

  claim(request: ClaimRequest): ClaimResult {
    const touched = this.#touched.get(idOf(request));
    if (touched !== undefined) return this.#decide(touched, request);
    const decision = decideClaim(undefined, request, this.#nowMs, this.#nextToken);
    if (decision.write !== undefined && this.#statements.insert.run(...toValues(decision.write)).changes === 1) {
      return { ...decision.result, steps: NO_STEPS } as ClaimResult;
    }
    const row = this.#statements.find.get(request.scope, request.key);
    if (row === undefined) throw new Error("a record that was there is gone inside one transaction");
    return this.#decide(this.#touch(toStoredRow(row)), request);
  }

  #touch({ id, steps, record }: StoredRow): Touched {
    const touched: Touched = { id, steps, storedToken: record.token, record, rewritten: false, arrivals: 0 };
    this.#touched.set(idOf(record), touched);
    return touched;
  }

  #decide(touched: Touched, request: ClaimRequest): ClaimResult {
    this.#conflicts += 1;
    const before = touched.record;
    const decision = decideClaim(before, request, this.#nowMs, this.#nextToken);
    if (decision.write !== undefined) {
      touched.record = decision.write;
      if (decision.write.token === before.token && decision.write.status === before.status) {
        touched.arrivals += request.arrivals;
      } else {
        touched.rewritten = true;
      }
    }
    return this.#answer(touched, decision);
  }

  #answer(touched: Touched, { result, fresh }: ClaimDecision): ClaimResult {
    if (result.kind !== "granted") return result;
    if (touched.steps === 0) return { ...result, steps: NO_STEPS };
    if (fresh) {
      this.#statements.dropSteps.run(JSON.stringify([touched.id]));
      this.#statements.resetSteps.run(touched.id);
      return { ...result, steps: NO_STEPS };
    }
    const rows = this.#statements.stepsOf.all(touched.id);
    return { ...result, steps: new Map(rows.map(([name, bytes]) => [name as string, bytes as Uint8Array])) };
  }

  readonly #nextToken = (): Token => {
    this.#drawn += 1;
    return String(this.#lastToken + this.#drawn) as Token;
  };

  /** Writes what the batch owes, before it commits. */
  flush(): void {
    const counted: [id: number, arrivals: number][] = [];
    for (const { id, record, storedToken, rewritten, arrivals } of this.#touched.values()) {
      if (rewritten) this.#statements.update.run(...toValues(record), id, Number(storedToken));
      else if (arrivals > 0) counted.push([id, arrivals]);
    }
    if (counted.length > 0) this.#statements.see.run(this.#nowMs, JSON.stringify(counted));
    if (this.#drawn > 0) this.#statements.keepToken.run(this.#lastToken + this.#drawn);
  }
}

function idOf({ scope, key }: { readonly scope: string; readonly key: string }): string {
  return `${scope}\0${key}`;
}
