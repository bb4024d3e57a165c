import { HapaxError } from "../errors.js";
import type { Clock } from "./clock.js";
import { BATCH_BYTES_MAX, BATCH_ITEMS_MAX, QUEUE_ITEMS_MAX } from "./limits.js";

/**
 * Gathers single calls into batches: one batch is under way, and whoever comes meanwhile shares the next.
 *
 *     call ─┐                     ┌─ answer
 *     call ─┼─► one round trip ───┼─ answer          a busy store is asked less often, never later
 *     call ─┘                     └─ answer
 *
 * An idle store is asked at once: there is no timer on the way.
 */
export interface GroupCommit<Item, Answer> {
  send(item: Item): Promise<Answer>;
}

export interface GroupCommitOptions<Item, Answer> {
  readonly clock: Clock;
  /** One round trip. Answers keep the order of the items. */
  readonly commit: (items: readonly Item[]) => Promise<readonly Answer[]>;
  readonly bytesOf: (item: Item) => number;
  /** A batch without an answer after this long is given up with `store-unavailable`, so that the next may go. */
  readonly timeoutMs: number;
  /** The store blocks the event loop: let the loop turn once, so that its other arrivals share the batch. */
  readonly blocking: boolean;
  /** The item leaves: from here on it is the store's. */
  readonly onSend?: (item: Item) => void;
  /** An answer came after its batch was given up. */
  readonly onLate?: (item: Item, answer: Answer) => void;
}

interface Pending<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Batch<Item, Answer> {
  readonly pendings: readonly Pending<Item, Answer>[];
  readonly startedMs: number;
  givenUp: boolean;
}

export function groupCommit<Item, Answer>(options: GroupCommitOptions<Item, Answer>): GroupCommit<Item, Answer> {
  const { clock, commit, bytesOf, timeoutMs, blocking, onSend, onLate } = options;
  const schedule = blocking ? setImmediate : queueMicrotask;
  let gathering: Pending<Item, Answer>[] = [];
  let underWay: Batch<Item, Answer> | undefined;
  let scheduled = false;
  let watching = false;

  function send(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (gathering.length >= QUEUE_ITEMS_MAX) {
        reject(
          new HapaxError(
            "overloaded",
            `${QUEUE_ITEMS_MAX} calls wait for the store in this process. Slow down, or add processes.`,
          ),
        );
        return;
      }
      gathering.push({ item, resolve, reject });
      scheduleNext();
    });
  }

  function scheduleNext(): void {
    if (scheduled || underWay !== undefined || gathering.length === 0) return;
    scheduled = true;
    schedule(() => {
      scheduled = false;
      void sendBatch();
    });
  }

  async function sendBatch(): Promise<void> {
    const batch: Batch<Item, Answer> = { pendings: takeBatch(), startedMs: clock.monotonicMs(), givenUp: false };
    underWay = batch;
    if (!watching) watch(timeoutMs);
    try {
      await deliver(batch, batch.pendings);
    } catch (error) {
      if (isUnavailable(error) || batch.pendings.length === 1) rejectAll(batch, error);
      else await deliverOneByOne(batch);
    }
    if (underWay === batch) underWay = undefined;
    scheduleNext();
  }

  function takeBatch(): Pending<Item, Answer>[] {
    let count = 0;
    let bytes = 0;
    for (const { item } of gathering) {
      bytes += bytesOf(item);
      if (count > 0 && (count === BATCH_ITEMS_MAX || bytes > BATCH_BYTES_MAX)) break;
      count += 1;
    }
    if (count === gathering.length) {
      const all = gathering;
      gathering = [];
      return all;
    }
    return gathering.splice(0, count);
  }

  async function deliver(batch: Batch<Item, Answer>, pendings: readonly Pending<Item, Answer>[]): Promise<void> {
    const items = pendings.map(({ item }) => item);
    if (onSend !== undefined) for (const item of items) onSend(item);
    const answers = await commit(items);
    if (answers.length !== items.length) {
      throw new HapaxError("store-unavailable", `The store gave ${answers.length} answers to ${items.length} items.`);
    }
    pendings.forEach((pending, index) => {
      const answer = answers[index] as Answer;
      if (batch.givenUp) onLate?.(pending.item, answer);
      else pending.resolve(answer);
    });
  }

  /** The batch failed as a whole, and the store is not down: one of its items is bad. The others must not suffer. */
  async function deliverOneByOne(batch: Batch<Item, Answer>): Promise<void> {
    for (const pending of batch.pendings) {
      if (batch.givenUp) return;
      try {
        await deliver(batch, [pending]);
      } catch (error) {
        pending.reject(error);
      }
    }
  }

  function rejectAll(batch: Batch<Item, Answer>, error: unknown): void {
    for (const { reject } of batch.pendings) reject(error);
  }

  /** One timer for all batches: it looks at the one under way and sleeps again. */
  function watch(ms: number): void {
    watching = true;
    clock.after(ms, checkTimeout, { keepAlive: false });
  }

  function checkTimeout(): void {
    watching = false;
    if (underWay === undefined) return;
    const leftMs = underWay.startedMs + timeoutMs - clock.monotonicMs();
    if (leftMs <= 0) {
      const batch = underWay;
      batch.givenUp = true;
      underWay = undefined;
      rejectAll(batch, new HapaxError("store-unavailable", `The store did not answer within ${timeoutMs} ms.`));
      scheduleNext();
      return;
    }
    watch(leftMs);
  }

  return { send };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof HapaxError && error.code === "store-unavailable";
}
