import type { StoredRecord, Token } from "../../core/record.js";
import type { ClaimRequest, ClaimResult } from "../../core/store.js";
import { answerDone, type ClaimDecision, decideClaim, withSteps } from "../../core/transitions.js";
import { type StoredRow, toBytes, toDoneRecord, toStoredRow } from "./rows.js";
import type { Statements } from "./statements.js";
import { dropSteps, insert, rewrite } from "./write.js";

const NO_STEPS: ReadonlyMap<string, Uint8Array> = new Map();

/** A row that this batch has read, with what it owes the table. */
interface Touched {
  readonly steps: number;
  /** As it lies in the table: the address and the condition of the write. */
  readonly storedToken: Token;
  record: StoredRecord;
  /** More than `seen` has changed. */
  rewritten: boolean;
}

/**
 * Decides a batch of claims inside the transaction that holds the file's write lock. New keys are inserted outright;
 * known ones are read, decided by the state machine and written back at the end: whole rows one by one, and the
 * arrivals that only count in one statement. Where duplicates are expected, a record that is done is looked for first.
 */
export class ClaimBatch {
  readonly #statements: Statements;
  readonly #nowMs: number;
  readonly #expectDone: boolean;
  readonly #touched = new Map<string, Touched>();
  /** Rows of which nothing but `seen` changes, and by how much. */
  readonly #arrivals = new Map<Token, number>();
  #lastToken: number;
  #drawn = 0;
  #known = 0;

  constructor(statements: Statements, nowMs: number, expectDone: boolean) {
    this.#statements = statements;
    this.#expectDone = expectDone;
    this.#nowMs = nowMs;
    this.#lastToken = Number(statements.lastToken.get()?.[0]);
  }

  /** Whether nothing happened but that arrivals were counted. */
  get onlyCounts(): boolean {
    if (this.#drawn > 0) return false;
    for (const { rewritten } of this.#touched.values()) if (rewritten) return false;
    return true;
  }

  /** How many requests met a record. */
  get known(): number {
    return this.#known;
  }

  claim(request: ClaimRequest): ClaimResult {
    const touched = this.#touched.get(idOf(request));
    if (touched !== undefined) return this.#decide(touched, request);
    return (this.#expectDone ? this.#replay(request) : undefined) ?? this.#create(request);
  }

  #replay(request: ClaimRequest): ClaimResult | undefined {
    const row = this.#statements.findDone.get(request.scope, request.key, this.#nowMs);
    if (row === undefined) return undefined;
    this.#known += 1;
    const answer = answerDone(toDoneRecord(row), request);
    if (answer.kind === "done") this.#count(answer.token, request.arrivals);
    return answer;
  }

  #create(request: ClaimRequest): ClaimResult {
    const decision = decideClaim(undefined, request, this.#nowMs, this.#nextToken);
    if (decision.write !== undefined && insert(this.#statements, decision.write)) {
      return withSteps(decision.result, NO_STEPS);
    }
    const row = this.#statements.find.get(request.scope, request.key);
    if (row === undefined) throw new Error("a record that was there is gone inside one transaction");
    return this.#decide(this.#touch(toStoredRow(row)), request);
  }

  #count(token: Token, arrivals: number): void {
    if (arrivals > 0) this.#arrivals.set(token, (this.#arrivals.get(token) ?? 0) + arrivals);
  }

  #touch({ steps, record }: StoredRow): Touched {
    const touched: Touched = { steps, storedToken: record.token, record, rewritten: false };
    this.#touched.set(idOf(record), touched);
    return touched;
  }

  #decide(touched: Touched, request: ClaimRequest): ClaimResult {
    this.#known += 1;
    const before = touched.record;
    const decision = decideClaim(before, request, this.#nowMs, this.#nextToken);
    if (decision.write !== undefined) {
      touched.record = decision.write;
      if (isOnlySeen(before, decision.write)) {
        this.#count(touched.storedToken, request.arrivals);
      } else {
        touched.rewritten = true;
      }
    }
    return this.#answer(touched, decision);
  }

  #answer(touched: Touched, { result, fresh }: ClaimDecision): ClaimResult {
    if (result.kind !== "granted" || touched.steps === 0) return withSteps(result, NO_STEPS);
    if (fresh) {
      dropSteps(this.#statements, [touched.storedToken]);
      return withSteps(result, NO_STEPS);
    }
    const rows = this.#statements.stepsOf.all(Number(touched.storedToken));
    return withSteps(
      result,
      new Map(rows.map(([name, bytes]) => [name as string, toBytes(bytes) ?? new Uint8Array()])),
    );
  }

  readonly #nextToken = (): Token => {
    this.#drawn += 1;
    return String(this.#lastToken + this.#drawn) as Token;
  };

  /** Writes what the batch owes, before it commits. */
  flush(): void {
    for (const { record, storedToken, rewritten } of this.#touched.values()) {
      if (!rewritten) continue;
      rewrite(this.#statements, storedToken, record);
      // The row as a whole has them already.
      this.#arrivals.delete(storedToken);
    }
    this.#flushArrivals();
    if (this.#drawn > 0) this.#statements.keepToken.run(this.#lastToken + this.#drawn);
  }

  #flushArrivals(): void {
    const once: number[] = [];
    for (const [token, arrivals] of this.#arrivals) {
      if (arrivals === 1) once.push(Number(token));
      else this.#statements.see.run(arrivals, this.#nowMs, Number(token));
    }
    if (once.length > 0) this.#statements.seeOnce.run(this.#nowMs, JSON.stringify(once));
  }
}

/** A grant has a new token, an abandoned claim a new status, and a failure whose attempts are used up is final. */
function isOnlySeen(before: StoredRecord, after: StoredRecord): boolean {
  return after.token === before.token && after.status === before.status && after.final === before.final;
}

function idOf({ scope, key }: { readonly scope: string; readonly key: string }): string {
  return `${scope}\0${key}`;
}
