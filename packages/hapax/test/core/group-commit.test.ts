import { describe, expect, it } from "vitest";
import { type GroupCommitOptions, groupCommit } from "../../src/core/group-commit.js";
import { BATCH_BYTES_MAX, BATCH_ITEMS_MAX, QUEUE_ITEMS_MAX } from "../../src/core/limits.js";
import { HapaxError } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { type Deferred, deferred, refusal, thrownBy } from "./held-work.js";

interface Parcel {
  readonly name: string;
  readonly bytes: number;
  resolve(answer: string): void;
  reject(error: unknown): void;
}

type Options = Partial<GroupCommitOptions<Parcel, string>>;

/** A store whose batches the test answers one by one. */
function setUp(options: Options = {}) {
  const clock = manualClock();
  const sent: string[][] = [];
  const replies: Deferred<readonly string[]>[] = [];
  const group = groupCommit<Parcel, string>({
    clock,
    commit(items) {
      sent.push(items.map(({ name }) => name));
      const reply = deferred<readonly string[]>();
      replies.push(reply);
      return reply.promise;
    },
    bytesOf: ({ bytes }) => bytes,
    timeoutMs: 1_000,
    blocking: false,
    ...options,
  });
  return {
    clock,
    sent,
    close: (error: unknown) => group.close(error),
    send: (name: string, bytes = 0) =>
      new Promise<string>((resolve, reject) => group.send({ name, bytes, resolve, reject })),
    /** Answers the batch with this number. */
    answer(batch: number) {
      replies[batch]?.resolve((sent[batch] ?? []).map((name) => `${name}!`));
      return clock.settle();
    },
    async fail(batch: number, error: unknown) {
      replies[batch]?.reject(error);
      await clock.settle();
    },
  };
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `i-${index}`);

describe("group commit", () => {
  it("sends a single item at once, with no timer on the way but the one watchdog", async () => {
    const { send, sent, clock, answer } = setUp();
    const a = send("a");
    await Promise.resolve();
    expect(sent).toEqual([["a"]]);
    expect(clock.timers).toBe(1);
    await answer(0);
    expect(await a).toBe("a!");
    for (const name of ["b", "c"]) {
      const out = send(name);
      await Promise.resolve();
      expect(clock.timers).toBe(1);
      await answer(sent.length - 1);
      expect(await out).toBe(`${name}!`);
    }
  });

  it("gathers what comes while a batch is under way, and keeps its order", async () => {
    const { send, sent, answer } = setUp();
    const first = send("a");
    await Promise.resolve();
    const rest = ["b", "c", "d"].map((name) => send(name));
    expect(sent).toEqual([["a"]]);
    await answer(0);
    expect(sent).toEqual([["a"], ["b", "c", "d"]]);
    await answer(1);
    expect(await Promise.all([first, ...rest])).toEqual(["a!", "b!", "c!", "d!"]);
  });

  it("gathers what comes in one turn", async () => {
    const { send, sent, answer } = setUp();
    const all = ["a", "b"].map((name) => send(name));
    await Promise.resolve();
    expect(sent).toEqual([["a", "b"]]);
    await answer(0);
    await Promise.all(all);
  });

  it("on a store that blocks the event loop, gathers what comes in one turn of the loop", async () => {
    const { send, sent, answer } = setUp({ blocking: true });
    const first = send("a");
    await Promise.resolve();
    const second = send("b");
    expect(sent).toEqual([]);
    await new Promise(setImmediate);
    expect(sent).toEqual([["a", "b"]]);
    await answer(0);
    await Promise.all([first, second]);
  });

  it("sends no more than 512 items in a batch", async () => {
    const { send, sent, answer } = setUp();
    const all = names(BATCH_ITEMS_MAX * 2 + 1).map((name) => send(name));
    await Promise.resolve();
    for (let batch = 0; batch < 3; batch += 1) await answer(batch);
    expect(sent.map((batch) => batch.length)).toEqual([512, 512, 1]);
    expect(await Promise.all(all)).toEqual(names(BATCH_ITEMS_MAX * 2 + 1).map((name) => `${name}!`));
  });

  it("sends no more than 4 MiB in a batch, but a larger item alone", async () => {
    const { send, sent, answer } = setUp();
    const half = BATCH_BYTES_MAX / 2;
    const all = [send("a", half), send("b", half), send("c", 1), send("d", BATCH_BYTES_MAX + 1), send("e", 1)];
    await Promise.resolve();
    for (let batch = 0; batch < 4; batch += 1) await answer(batch);
    expect(sent).toEqual([["a", "b"], ["c"], ["d"], ["e"]]);
    await Promise.all(all);
  });

  it("rejects one more than 100,000 waiting items with `overloaded`, and serves the others", async () => {
    const { send, sent, answer } = setUp();
    const first = send("first");
    await Promise.resolve();
    const waiting = names(QUEUE_ITEMS_MAX).map((name) => send(name));
    expect(await refusal(send("too many"))).toMatchObject({ code: "overloaded", retryable: true, status: 503 });
    for (let batch = 0; batch * BATCH_ITEMS_MAX < QUEUE_ITEMS_MAX + BATCH_ITEMS_MAX; batch += 1) {
      await answer(batch);
    }
    await first;
    expect(await Promise.all(waiting)).toHaveLength(QUEUE_ITEMS_MAX);
    expect(sent.flat()).not.toContain("too many");
  });
});

describe("a batch that fails", () => {
  it("because one item is bad, is sent one by one: its neighbours are served, in order", async () => {
    const clock = manualClock();
    const sent: string[][] = [];
    const error = new RangeError("bad value");
    const { send } = setUp({
      clock,
      async commit(items) {
        sent.push(items.map(({ name }) => name));
        if (items.some(({ name }) => name === "bad")) throw error;
        return items.map(({ name }) => `${name}!`);
      },
    });
    const all = ["a", "bad", "b"].map((name) => send(name));
    expect(await thrownBy(all[1] as Promise<string>)).toBe(error);
    expect(await Promise.all([all[0], all[2]])).toEqual(["a!", "b!"]);
    expect(sent).toEqual([["a", "bad", "b"], ["a"], ["bad"], ["b"]]);
  });

  it("because the store is down, is not: every item hears of it at once", async () => {
    const { send, sent, fail } = setUp();
    const all = ["a", "b"].map((name) => thrownBy(send(name)));
    await Promise.resolve();
    const down = new HapaxError("store-unavailable", "down");
    await fail(0, down);
    expect(await Promise.all(all)).toEqual([down, down]);
    expect(sent).toHaveLength(1);
  });

  it("of one item, is not sent again", async () => {
    const { send, sent, fail } = setUp();
    const error = new Error("bad");
    const a = thrownBy(send("a"));
    await Promise.resolve();
    await fail(0, error);
    expect(await a).toBe(error);
    expect(sent).toHaveLength(1);
  });

  it("by throwing at once, or by answering too few, harms no later one", async () => {
    let answers: readonly string[] | undefined;
    const { send } = setUp({
      commit(items) {
        if (answers === undefined) throw new TypeError("not even a promise");
        return Promise.resolve(answers.slice(0, items.length));
      },
    });
    expect(await thrownBy(send("a"))).toBeInstanceOf(TypeError);
    answers = [];
    expect(await refusal(send("b"))).toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/0.*1/),
    });
    answers = ["c!"];
    expect(await send("c")).toBe("c!");
  });
});

describe("a batch that is not answered", () => {
  it("is given up after its timeout with `store-unavailable`, and the next goes", async () => {
    const { send, sent, clock, answer } = setUp();
    const hung = refusal(send("a"));
    await Promise.resolve();
    const next = send("b");
    await clock.advance(999);
    expect(sent).toEqual([["a"]]);
    await clock.advance(1);
    expect(await hung).toMatchObject({ code: "store-unavailable", message: expect.stringContaining("1000 ms") });
    expect(sent).toEqual([["a"], ["b"]]);
    await answer(1);
    expect(await next).toBe("b!");
  });

  it("has its own time: one that began late is not given up early", async () => {
    const { send, clock, answer } = setUp();
    const first = send("a");
    await Promise.resolve();
    await clock.advance(900);
    await answer(0);
    await first;
    const second = send("b");
    await clock.advance(999);
    await answer(1);
    expect(await second).toBe("b!");
  });

  it("and is answered later, hands its answers to onLate, each item once", async () => {
    const late: [string, string][] = [];
    const { send, clock, answer, sent } = setUp({ onLate: ({ name }, reply) => void late.push([name, reply]) });
    const hung = ["a", "b"].map((name) => refusal(send(name)));
    await clock.advance(1_000);
    await Promise.all(hung);
    const next = send("c");
    await clock.settle();
    await answer(0);
    expect(late).toEqual([
      ["a", "a!"],
      ["b", "b!"],
    ]);
    await answer(1);
    expect(await next).toBe("c!");
    expect(sent).toEqual([["a", "b"], ["c"]]);
  });

  it("and fails later, is not sent one by one", async () => {
    const { send, clock, fail, sent } = setUp();
    const hung = ["a", "b"].map((name) => refusal(send(name)));
    await clock.advance(1_000);
    await Promise.all(hung);
    await fail(0, new Error("late"));
    expect(sent).toEqual([["a", "b"]]);
  });

  it("while it is sent one by one, ends those that are left", async () => {
    const { send, clock, fail, answer, sent } = setUp();
    const all = ["a", "b", "c"].map((name) => send(name));
    const [, b, c] = all.map((each) => refusal(each));
    await Promise.resolve();
    await fail(0, new Error("one is bad"));
    await answer(1);
    expect(await all[0]).toBe("a!");
    await clock.advance(1_000);
    expect((await b)?.code).toBe("store-unavailable");
    expect((await c)?.code).toBe("store-unavailable");
    expect(sent).toEqual([["a", "b", "c"], ["a"], ["b"]]);
  });
});

describe("a group commit that is closed", () => {
  it("rejects what is under way, what waits and what is sent later, each with the reason", async () => {
    const { send, sent, close, clock } = setUp();
    const reason = new Error("closing time");
    const all = [thrownBy(send("a"))];
    await Promise.resolve();
    all.push(thrownBy(send("b")));
    close(reason);
    all.push(thrownBy(send("c")));
    expect(await Promise.all(all)).toEqual([reason, reason, reason]);
    await clock.settle();
    expect(sent).toEqual([["a"]]);
  });

  it("sends nothing that was only scheduled", async () => {
    const { send, sent, close, clock } = setUp({ blocking: true });
    const a = thrownBy(send("a"));
    close(new Error("closing time"));
    await a;
    await clock.settle();
    expect(sent).toEqual([]);
  });

  it("hands an answer that comes later to onLate", async () => {
    const late: string[] = [];
    const { send, close, answer } = setUp({ onLate: (_item, reply) => void late.push(reply) });
    const a = thrownBy(send("a"));
    await Promise.resolve();
    close(new Error("closing time"));
    await a;
    await answer(0);
    expect(late).toEqual(["a!"]);
  });
});
