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
export interface GroupCommit<Item> {
  send(item: Item): void;
  /** Rejects whatever waits for an answer, and whatever is still sent. */
  close(error: unknown): void;
}

/** What is sent carries its own ending, so that a call costs no more than it must. */
export interface Parcel<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
  /** Its batch failed and it goes out again by itself: the first send may have counted. */
  sentAgain?(): void;
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
  /** An answer came after its batch was given up. */
  readonly onLate?: (item: Item, answer: Answer) => void;
}

interface Batch<Item> {
  readonly items: readonly Item[];
  readonly startedMs: number;
  givenUp: boolean;
}

export function groupCommit<Item extends Parcel<Answer>, Answer>(
  options: GroupCommitOptions<Item, Answer>,
): GroupCommit<Item> {
  const { clock, commit, bytesOf, timeoutMs, blocking, onLate } = options;
  const schedule = blocking ? setImmediate : queueMicrotask;
  let gathering: Item[] = [];
  let underWay: Batch<Item> | undefined;
  let scheduled = false;
  let watching = false;
  let closedBy: { readonly error: unknown } | undefined;

  function send(item: Item): void {
    if (closedBy !== undefined) return item.reject(closedBy.error);
    if (gathering.length >= QUEUE_ITEMS_MAX) return item.reject(overloaded());
    gathering.push(item);
    scheduleNext();
  }

  function scheduleNext(): void {
    if (scheduled || underWay !== undefined || gathering.length === 0) return;
    scheduled = true;
    schedule(sendNext);
  }

  function sendNext(): void {
    scheduled = false;
    if (gathering.length === 0) return;
    void sendBatch({ items: takeBatch(), startedMs: clock.monotonicMs(), givenUp: false });
  }

  async function sendBatch(batch: Batch<Item>): Promise<void> {
    underWay = batch;
    if (!watching) watch(timeoutMs);
    try {
      await deliver(batch, batch.items);
    } catch (error) {
      if (isUnavailable(error) || batch.items.length === 1) rejectAll(batch, error);
      else await deliverOneByOne(batch);
    }
    if (underWay === batch) underWay = undefined;
    scheduleNext();
  }

  function takeBatch(): Item[] {
    let count = 0;
    let bytes = 0;
    for (const item of gathering) {
      bytes += bytesOf(item);
      if (count > 0 && (count === BATCH_ITEMS_MAX || bytes > BATCH_BYTES_MAX)) break;
      count += 1;
    }
    if (count < gathering.length) return gathering.splice(0, count);
    const all = gathering;
    gathering = [];
    return all;
  }

  async function deliver(batch: Batch<Item>, items: readonly Item[]): Promise<void> {
    const answers = await commit(items);
    if (answers.length !== items.length) {
      throw new HapaxError("store-unavailable", `The store gave ${answers.length} answers to ${items.length} items.`);
    }
    items.forEach((item, index) => {
      const answer = answers[index] as Answer;
      if (batch.givenUp) onLate?.(item, answer);
      else item.resolve(answer);
    });
  }

  /** The batch failed as a whole, and the store is not down: one of its items is bad. The others must not suffer. */
  async function deliverOneByOne(batch: Batch<Item>): Promise<void> {
    for (const item of batch.items) {
      if (batch.givenUp) return;
      item.sentAgain?.();
      try {
        await deliver(batch, [item]);
      } catch (error) {
        if (!batch.givenUp) item.reject(error);
      }
    }
  }

  function rejectAll(batch: Batch<Item>, error: unknown): void {
    if (batch.givenUp) return;
    for (const item of batch.items) item.reject(error);
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
    if (leftMs > 0) return watch(leftMs);
    giveUp(underWay, new HapaxError("store-unavailable", `The store did not answer within ${timeoutMs} ms.`));
    scheduleNext();
  }

  function giveUp(batch: Batch<Item>, error: unknown): void {
    underWay = undefined;
    rejectAll(batch, error);
    batch.givenUp = true;
  }

  function close(error: unknown): void {
    closedBy = { error };
    if (underWay !== undefined) giveUp(underWay, error);
    for (const item of gathering.splice(0)) item.reject(error);
  }

  return { send, close };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof HapaxError && error.code === "store-unavailable";
}

function overloaded(): HapaxError {
  return new HapaxError(
    "overloaded",
    `${QUEUE_ITEMS_MAX} calls wait for the store in this process. Slow down, or add processes.`,
  );
}
