import { describe, expect, expectTypeOf, it } from "vitest";
import { refusal, thrownBy } from "./held-work.js";
import { onMemory } from "./make-hapax.js";

interface Submission {
  readonly id: string;
  readonly total: number;
  readonly receivedAt?: number;
}

describe("a wrapped function", () => {
  it("P1 has the signature of the function", () => {
    const { hapax } = onMemory();
    const price = async (submission: Submission, currency: "EUR" | "USD", ...codes: number[]) =>
      `${submission.total} ${currency} ${codes.length}`;
    const priceOnce = hapax.wrap(price, { scope: "prices", key: (submission) => submission.id });
    expectTypeOf(priceOnce).toEqualTypeOf<typeof price>();
    expectTypeOf(hapax.wrap(async () => 1, { scope: "s" })).toEqualTypeOf<() => Promise<number>>();
  });

  it("P1 runs once for equal arguments, and again for others", async () => {
    const { hapax } = onMemory();
    let runs = 0;
    const add = hapax.wrap(async (a: number, b: number) => a + b + ++runs * 100, { scope: "sums" });
    expect([await add(1, 2), await add(1, 2), await add(2, 1)]).toEqual([103, 103, 203]);
  });

  it("P10 several arguments and one array of them are different calls", async () => {
    const { hapax } = onMemory();
    let runs = 0;
    const count = hapax.wrap(async (..._args: unknown[]) => ++runs, { scope: "counts" });
    expect([await count(1, 2), await count([1, 2]), await count(), await count(1, 2)]).toEqual([1, 2, 3, 1]);
  });

  it("P10 takes its key from the key function, which sees every argument", async () => {
    const { hapax } = onMemory();
    let runs = 0;
    const price = hapax.wrap(async (_submission: Submission, _region: string) => ++runs, {
      scope: (_submission, region) => `prices:${region}`,
      key: ({ id }, region) => [id, region],
    });
    await price({ id: "s-1", total: 1 }, "eu");
    await price({ id: "s-1", total: 2 }, "eu");
    await price({ id: "s-1", total: 1 }, "us");
    expect(runs).toBe(2);
    expect(await hapax.get({ scope: "prices:us", key: ["s-1", "us"] })).toMatchObject({ status: "done", result: 2 });
  });

  it("P3 leaves excluded fields out of the key; with several arguments by the argument's index", async () => {
    const { hapax } = onMemory();
    let runs = 0;
    const one = hapax.wrap(async (_submission: Submission) => ++runs, { scope: "one", exclude: ["receivedAt"] });
    await one({ id: "s-1", total: 1, receivedAt: 1 });
    await one({ id: "s-1", total: 1, receivedAt: 2 });
    expect(runs).toBe(1);

    const two = hapax.wrap(async (_submission: Submission, _tag: string) => ++runs, {
      scope: "two",
      exclude: ["0.receivedAt"],
    });
    await two({ id: "s-1", total: 1, receivedAt: 1 }, "a");
    await two({ id: "s-1", total: 1, receivedAt: 2 }, "a");
    expect(runs).toBe(2);
  });

  it("P1 keeps `this`", async () => {
    const { hapax } = onMemory();
    const shop = {
      name: "kubo",
      async greet(this: { name: string }, who: string) {
        return `${this.name} greets ${who}`;
      },
      greetOnce: undefined as unknown as (who: string) => Promise<string>,
    };
    shop.greetOnce = hapax.wrap(shop.greet, { scope: "greetings" });
    expect(await shop.greetOnce("you")).toBe("kubo greets you");
  });

  it("keeps metadata made of its arguments beside the record", async () => {
    const { hapax } = onMemory();
    const read = hapax.wrap(async (_path: string) => "text", {
      scope: "files",
      key: (path) => path,
      metadata: (path) => ({ path }),
    });
    await read("/inbox/a.pdf");
    expect((await hapax.get({ scope: "files", key: "/inbox/a.pdf" }))?.metadata).toEqual({ path: "/inbox/a.pdf" });
  });

  it("P7 throws what the function throws, and runs again", async () => {
    const { hapax } = onMemory();
    const error = new Error("no");
    let runs = 0;
    const flaky = hapax.wrap(
      async () => {
        runs += 1;
        if (runs === 1) throw error;
        return runs;
      },
      { scope: "flaky" },
    );
    expect(await thrownBy(flaky())).toBe(error);
    expect(await flaky()).toBe(2);
  });

  it("rejects, and does not throw, when its key function fails or gives no key", async () => {
    const { hapax } = onMemory();
    const broken = hapax.wrap(async (_s: Submission) => 1, {
      scope: "s",
      key: () => {
        throw new RangeError("no id");
      },
    });
    expect(await thrownBy(broken({ id: "a", total: 1 }))).toBeInstanceOf(RangeError);

    const forgotten = hapax.wrap(async (s: { id?: string }) => s, { scope: "s", key: (s) => s.id as string });
    expect((await refusal(forgotten({}))).code).toBe("missing-key");
  });

  it("takes the behaviour of its options", async () => {
    const { hapax, clock } = onMemory();
    let runs = 0;
    const short = hapax.wrap(async () => ++runs, { scope: "short", retention: "1s" });
    await short();
    await clock.advance(1_000);
    expect(await short()).toBe(2);
  });
});
