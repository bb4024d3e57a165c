import { afterEach, describe, expect, it } from "vitest";
import { createHapax, type Hapax } from "../../src/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { openDatabase, temporaryFile } from "./make-hapax.js";
import { endWorkers, startWorkers, type Worker } from "./processes/start-worker.js";

/** Real processes on one SQLite file, in real time: what no manual clock can show. */
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function setUp(count: number): Promise<{ workers: Worker[]; hapax: Hapax; effects: () => unknown[] }> {
  const file = temporaryFile();
  const db = openDatabase(file);
  const hapax = createHapax({ store: sqliteStore(db), upkeep: false }) as unknown as Hapax;
  await hapax.migrate();
  const workers = await startWorkers(file, count);
  return { workers, hapax, effects: () => db.prepare("select key from effect").pluck().all() };
}

async function pair() {
  const { workers, ...rest } = await setUp(2);
  const [first, second] = workers;
  if (first === undefined || second === undefined) throw new Error("two processes were asked for");
  return { first, second, ...rest };
}

afterEach(endWorkers);

describe("two processes on one SQLite file", () => {
  it("F3 work that outlives its lease while heartbeats succeed is not taken over", async () => {
    const { first, second, hapax } = await pair();
    first.tell({ kind: "hold", key: "long", lease: "2s" });
    await first.hear("started", "long");
    second.tell({ kind: "hold", key: "long", lease: "2s" });
    await sleep(3_000);

    expect(second.reports.some(({ kind }) => kind === "started")).toBe(false);
    first.tell({ kind: "finish", key: "long", value: "by the first" });
    expect(await first.hear("ended", "long")).toMatchObject({ value: "by the first", replayed: false, attempt: 1 });
    expect(await second.hear("ended", "long")).toMatchObject({ value: "by the first", replayed: true, attempt: 1 });
    expect(await hapax.get({ scope: "processes", key: "long" })).toMatchObject({ runs: 1, seen: 2 });
  });

  it("F4 a worker that is killed is taken over after its lease, and the second completes", async () => {
    const { first, second, hapax } = await pair();
    first.tell({ kind: "hold", key: "killed", lease: "1s" });
    const { token } = await first.hear("started", "killed");
    first.signal("SIGKILL");
    second.tell({ kind: "hold", key: "killed", lease: "1s" });

    const takeover = await second.hear("started", "killed");
    expect(takeover.attempt).toBe(2);
    expect(Number(takeover.token)).toBeGreaterThan(Number(token));
    second.tell({ kind: "finish", key: "killed", value: "by the second" });
    expect(await second.hear("ended", "killed")).toMatchObject({ value: "by the second", replayed: false });
    expect(second.reports).toContainEqual({ kind: "event", name: "takeover", key: "killed" });
    expect(await hapax.get({ scope: "processes", key: "killed" })).toMatchObject({ status: "done", runs: 2 });
  });

  it("F6 a worker that was stopped past its lease can neither complete, fail nor extend", async () => {
    const { first, second, hapax } = await pair();
    const keys = ["complete", "fail", "extend"];
    for (const key of keys) first.tell({ kind: "hold", key, lease: "1s" });
    const tokens = new Map<string, string>();
    for (const key of keys) tokens.set(key, (await first.hear("started", key)).token);
    first.signal("SIGSTOP");

    for (const key of keys) second.tell({ kind: "hold", key, lease: "5s" });
    for (const key of keys) await second.hear("started", key);
    for (const key of keys) second.tell({ kind: "finish", key, value: `${key} by the second` });
    for (const key of keys) await second.hear("ended", key);
    const before = await hapax.list({ scope: "processes" });

    first.signal("SIGCONT");
    first.tell({ kind: "finish", key: "complete", value: "stale" });
    first.tell({ kind: "fail", key: "fail", message: "stale failure" });
    first.tell({ kind: "extend", key: "extend", token: tokens.get("extend") ?? "" });

    expect(await first.hear("threw", "complete")).toMatchObject({ code: "claim-lost" });
    expect(await first.hear("threw", "fail")).toMatchObject({ code: "Error: stale failure" });
    expect(await first.hear("extended", "extend")).toMatchObject({ answer: "lost" });
    expect(await first.hear("aborted", "extend")).toMatchObject({ code: "claim-lost" });
    for (const key of keys) {
      expect(first.reports).toContainEqual({ kind: "event", name: "lost", key, code: "claim-lost" });
    }
    expect(await hapax.list({ scope: "processes" })).toEqual(before);
    expect(before.records.map(({ result }) => result).sort()).toEqual(keys.map((key) => `${key} by the second`).sort());
  });
});

describe("four processes on one SQLite file", () => {
  it("G3 a hundred concurrent deliveries of one key run once, and all get the same value", async () => {
    const { workers, hapax, effects } = await setUp(4);
    for (const worker of workers) worker.tell({ kind: "storm", keys: ["hot"], times: 25 });
    const answers = await Promise.all(workers.map((worker) => worker.hear("stormed")));

    const values = answers.flatMap(({ values }) => values);
    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    expect(values).toHaveLength(100);
    expect(new Set(values).size).toBe(1);
    expect(effects()).toEqual(["hot"]);
    expect(await hapax.get({ scope: "processes", key: "hot" })).toMatchObject({ status: "done", runs: 1, seen: 100 });
  });

  it("a hot file never errors: own keys and shared keys, all at once", async () => {
    const { workers, hapax, effects } = await setUp(4);
    const shared = Array.from({ length: 10 }, (_, index) => `shared-${index}`);
    workers.forEach((worker, number) => {
      const own = Array.from({ length: 100 }, (_, index) => `own-${number}-${index}`);
      worker.tell({ kind: "storm", keys: [...own, ...shared], times: 3 });
    });
    const answers = await Promise.all(workers.map((worker) => worker.hear("stormed")));

    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    expect(answers.map(({ values }) => values.length)).toEqual([330, 330, 330, 330]);
    expect(effects()).toHaveLength(410);
    const records = (await hapax.list({ scope: "processes", limit: 1_000 })).records;
    expect(records.every(({ status, runs }) => status === "done" && runs === 1)).toBe(true);
    expect(records.reduce((sum, { seen }) => sum + seen, 0)).toBe(4 * 330);
  });
});
