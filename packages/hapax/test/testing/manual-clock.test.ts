import { describe, expect, it } from "vitest";
import { manualClock } from "../../src/testing/index.js";

describe("a manual clock", () => {
  it("stands still until it is told to move", async () => {
    const clock = manualClock(1_000);
    let fired = 0;
    clock.after(1, () => {
      fired += 1;
    });
    await clock.settle();
    expect([clock.wallMs(), clock.monotonicMs(), fired]).toEqual([1_000, 0, 0]);
    await clock.advance(1);
    expect([clock.wallMs(), clock.monotonicMs(), fired]).toEqual([1_001, 1, 1]);
  });

  it("fires timers in the order of their time, and of their making when that is the same", async () => {
    const clock = manualClock();
    const fired: string[] = [];
    clock.after(20, () => fired.push("20"));
    clock.after(10, () => fired.push("10, first"));
    clock.after(10, () => fired.push("10, second"));
    clock.after(0, () => fired.push("0"));
    clock.after(-5, () => fired.push("past"));
    clock.after(21, () => fired.push("21"));
    await clock.advance(20);
    expect(fired).toEqual(["0", "past", "10, first", "10, second", "20"]);
  });

  it("shows a timer its own time", async () => {
    const clock = manualClock(0);
    const times: number[] = [];
    for (const ms of [30, 10]) clock.after(ms, () => times.push(clock.wallMs(), clock.monotonicMs()));
    await clock.advance(100);
    expect(times).toEqual([10, 10, 30, 30]);
    expect(clock.wallMs()).toBe(100);
  });

  it("fires what a timer sets going, if its time comes within the advance", async () => {
    const clock = manualClock();
    const fired: string[] = [];
    clock.after(10, async () => {
      await Promise.resolve();
      clock.after(5, () => fired.push("at 15"));
      clock.after(50, () => fired.push("at 60"));
    });
    clock.after(20, () => fired.push("at 20"));
    await clock.advance(20);
    expect(fired).toEqual(["at 15", "at 20"]);
    expect(clock.timers).toBe(1);
    await clock.advance(40);
    expect(fired).toEqual(["at 15", "at 20", "at 60"]);
  });

  it("does not fire a timer that was cancelled, also by another of the same time", async () => {
    const clock = manualClock();
    const fired: string[] = [];
    const cancelFirst = clock.after(10, () => fired.push("cancelled before"));
    cancelFirst();
    clock.after(10, () => cancelSecond());
    const cancelSecond = clock.after(10, () => fired.push("cancelled at its time"));
    expect(clock.timers).toBe(2);
    await clock.advance(10);
    cancelSecond();
    expect(fired).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it("stalls: time passes and nothing fires until the process goes on", async () => {
    const clock = manualClock(0);
    const times: number[] = [];
    clock.after(10, () => times.push(clock.monotonicMs()));
    clock.stall(50);
    await clock.settle();
    expect(times).toEqual([]);
    expect([clock.wallMs(), clock.monotonicMs()]).toEqual([50, 50]);
    await clock.advance(0);
    expect(times).toEqual([50]);
  });

  it("is set, forward and back, without time passing", async () => {
    const clock = manualClock(1_000);
    let fired = 0;
    clock.after(10, () => {
      fired += 1;
    });
    clock.setWall(-500);
    expect([clock.wallMs(), clock.monotonicMs()]).toEqual([500, 0]);
    clock.setWall(3_600_000);
    await clock.settle();
    expect([clock.wallMs(), clock.monotonicMs(), fired]).toEqual([3_600_500, 0, 0]);
  });

  it("sleeps with the machine: the wall clock moves on, the monotonic one does not", async () => {
    const clock = manualClock(0);
    let fired = 0;
    clock.after(10, () => {
      fired += 1;
    });
    clock.suspend(1_000);
    await clock.settle();
    expect([clock.wallMs(), clock.monotonicMs(), fired]).toEqual([1_000, 0, 0]);
    await clock.advance(10);
    expect([clock.wallMs(), clock.monotonicMs(), fired]).toEqual([1_010, 10, 1]);
  });

  it("lets what is ready happen before time passes", async () => {
    const clock = manualClock(0);
    const times: number[] = [];
    setImmediate(() => times.push(clock.wallMs()));
    await clock.advance(10);
    expect(times).toEqual([0]);
  });
});
