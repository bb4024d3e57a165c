import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createHapax } from "../../src/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { createTrial } from "../../src/testing/conformance/trial.js";
import { migrated, newFile, openFile } from "./sqlite-files.js";

describe("a file that several share", () => {
  it("has one truth for two handles", async () => {
    const file = newFile();
    const one = await migrated(openFile(file));
    const two = createTrial({ store: sqliteStore(openFile(file)) });
    const id = { scope: "shared", key: "key" };
    const { token } = await one.grant(id);
    expect((await two.claim(id)).kind).toBe("busy");
    expect((await one.settle(one.completion(token, id))).kind).toBe("settled");
    expect((await two.claim(id)).kind).toBe("done");
    expect((await two.store.read(id))?.seen).toBe(3);
    const next = await two.grant({ key: "next" });
    expect(Number(next.token)).toBeGreaterThan(Number(token));
  });

  it("G3 is migrated and claimed by five processes at once: one schema, one grant a key, no token twice", async () => {
    const file = newFile();
    const keys = Array.from({ length: 40 }, (_, index) => `key ${index}`);
    const processes = Array.from({ length: 5 }, (_, index) => startProcess(file, `process ${index}`, keys));
    for (const { ready } of processes) await ready;
    for (const { go } of processes) go();
    const grants = (await Promise.all(processes.map(({ granted }) => granted))).flat();
    expect(grants.map(([key]) => key).sort()).toEqual([...keys].sort());
    expect(new Set(grants.map(([, token]) => token)).size).toBe(keys.length);
    const db = openFile(file);
    expect(db.prepare("select count(*) from hapax_migration").pluck().get()).toBe(1);
    expect(db.prepare("select sum(seen) from hapax_record").pluck().get()).toBe(5 * keys.length);
  });
});

describe("forgetting a scope that is in use", () => {
  it("comes to an end, however long the traffic lasts", async () => {
    const trial = await migrated(openFile(newFile()), { synchronous: "normal" });
    let forgetting = true;
    const traffic = async () => {
      let count = 0;
      while (forgetting && count < 3_000) {
        const key = `key ${count}`;
        const { token } = await trial.grant({ key });
        await trial.complete(token, { key });
        count += 1;
        await new Promise(setImmediate);
      }
      return count;
    };
    const { token } = await trial.grant();
    await trial.complete(token);
    const underWay = traffic();
    const { forgotten } = await trial.store.forget({ scope: trial.scope, key: undefined, force: false });
    forgetting = false;
    expect(await underWay).toBeLessThan(3_000);
    expect(forgotten).toBeLessThan(3_000);
  });
});

describe("G3 under the engine", () => {
  it("a storm of duplicates runs each key once, and counts every arrival", async () => {
    const db = openFile(newFile());
    const hapax = createHapax({ store: sqliteStore(db), upkeep: false });
    await hapax.migrate();
    const runs = new Map<string, number>();
    const calls = Array.from({ length: 2_000 }, (_, index) => `key ${index % 100}`);
    await Promise.all(
      calls.map((key) =>
        hapax.run({ scope: "storm", key }, () => {
          runs.set(key, (runs.get(key) ?? 0) + 1);
          return key;
        }),
      ),
    );
    expect([...runs.values()]).toEqual(Array.from({ length: 100 }, () => 1));
    expect(db.prepare("select sum(seen) from hapax_record").pluck().get()).toBe(calls.length);
    await hapax.close();
  });
});

function startProcess(file: string, owner: string, keys: readonly string[]) {
  const script = fileURLToPath(new URL("./sqlite-process.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, file, owner, ...keys], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ready = lines.next();
  const granted = ready.then(async (): Promise<[key: string, token: string][]> => {
    const [{ value }, [exitCode]] = await Promise.all([lines.next(), once(child, "exit")]);
    if (exitCode !== 0) throw new Error(`${owner} ended with ${exitCode}`);
    return JSON.parse(value);
  });
  return { ready, granted, go: () => child.stdin.end("go\n") };
}
