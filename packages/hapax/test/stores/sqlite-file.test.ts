import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { createHapax, HapaxError, type Token } from "../../src/index.js";
import { type SqliteHandle, type SqliteStoreOptions, sqliteStore } from "../../src/stores/sqlite/index.js";
import { createTrial, type Trial } from "../../src/testing/conformance/trial.js";
import { manualClock } from "../../src/testing/index.js";
import { nodeSqliteShape } from "./node-sqlite-shape.js";

const folder = mkdtempSync(join(tmpdir(), "hapax-sqlite-file-"));
const opened: Database.Database[] = [];
let files = 0;

afterEach(() => {
  for (const db of opened.splice(0)) db.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newFile(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

function openFile(file: string, options?: Database.Options): Database.Database {
  const db = new Database(file, options);
  opened.push(db);
  return db;
}

/** A migrated store on a handle, with the short way to call it. */
async function migrated(db: SqliteHandle, options?: SqliteStoreOptions): Promise<Trial> {
  const store = sqliteStore(db, options);
  await store.migrate();
  return createTrial({ store });
}

function tablesOf(db: Database.Database): unknown[] {
  return db.prepare("select name from sqlite_schema where type = 'table' order by name").pluck().all();
}

async function refusalOf(calling: Promise<unknown>): Promise<HapaxError> {
  const error: unknown = await calling.then(
    () => new Error("it was not refused"),
    (reason) => reason,
  );
  if (error instanceof HapaxError) return error;
  throw error;
}

/** Counts how often the event loop turns while `work` is under way. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 5);
  await work.finally(() => clearInterval(timer));
  return turns;
}

describe("the schema", () => {
  it("is made once, however often it is asked for", async () => {
    const db = openFile(newFile());
    const trial = await migrated(db);
    const { token } = await trial.grant();
    await trial.store.migrate();
    expect(tablesOf(db)).toEqual(["hapax_migration", "hapax_record", "hapax_step", "hapax_token"]);
    expect(db.prepare("select count(*) from hapax_migration").pluck().get()).toBe(1);
    expect((await trial.record()).token).toBe(token);
  });

  it("of a newer hapax is refused, and left as it is", async () => {
    const db = openFile(newFile());
    await migrated(db);
    db.exec("insert into hapax_migration (version, applied_at_ms) values (99, 0)");
    const error = await refusalOf(sqliteStore(db).migrate());
    expect(error.code).toBe("store-unavailable");
    expect(error.message).toContain("newer hapax");
    expect(db.inTransaction).toBe(false);
  });

  it("that is missing is named, with what to do", async () => {
    const trial = createTrial({ store: sqliteStore(openFile(newFile())) });
    const calls = [trial.claim(), trial.complete("1" as Token), trial.read(), trial.pages(), trial.store.purge(1)];
    for (const call of calls) {
      const error = await refusalOf(call);
      expect(error.code).toBe("store-unavailable");
      expect(error.message).toContain("hapax.migrate()");
    }
    await trial.store.migrate();
    await trial.grant();
  });

  it("has tables of its own for every prefix", async () => {
    const db = openFile(newFile());
    const one = await migrated(db, { prefix: "one" });
    const two = await migrated(db, { prefix: "two" });
    expect(tablesOf(db)).toEqual(
      ["one", "two"].flatMap((prefix) => ["migration", "record", "step", "token"].map((name) => `${prefix}_${name}`)),
    );
    const id = { scope: "shared", key: "key" };
    await one.grant(id);
    expect(await two.store.read(id)).toBeUndefined();
    await two.grant(id);
  });

  it.each(["", "1st", "a-b", "a b", 'a"', "é", "x".repeat(42)])("refuses the prefix %j", (prefix) => {
    expect(() => sqliteStore(openFile(newFile()), { prefix })).toThrow(
      expect.objectContaining({ code: "invalid-option" }),
    );
  });

  it("stays bounded: purge deletes records with their steps, and settled work keeps none", async () => {
    const db = openFile(newFile());
    const clock = manualClock();
    const store = sqliteStore(db, { clock });
    await store.migrate();
    const trial = createTrial({ store, passTime: clock.advance });
    const rows = () => [
      db.prepare("select count(*) from hapax_record").pluck().get(),
      db.prepare("select count(*) from hapax_step").pluck().get(),
    ];
    for (const key of ["done", "failed", "forgotten", "fresh"]) {
      const { token } = await trial.grant({ key, retentionMs: 1_000 });
      await trial.step(token, { key });
      await trial.step(token, { key, name: "another" });
      if (key === "done") await trial.complete(token, { key });
      if (key === "failed" || key === "fresh") await trial.fail(token, { key });
    }
    expect(rows()).toEqual([4, 6]);
    await store.forget({ scope: trial.scope, key: "forgotten", force: true });
    expect(rows()).toEqual([4, 4]);
    await trial.pass(1_000);
    await trial.grant({ key: "fresh" });
    expect(rows()).toEqual([4, 2]);
    expect(await trial.purgeAll()).toEqual({ purged: 3, uncertain: 0 });
    expect(rows()).toEqual([1, 0]);
  });
});

describe("the handle", () => {
  it("is set to WAL and full fsync, as the guarantee needs", async () => {
    const db = openFile(newFile());
    await migrated(db);
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(db.pragma("synchronous", { simple: true })).toBe(2);
  });

  it("keeps less when asked to", async () => {
    const db = openFile(newFile());
    await migrated(db, { synchronous: "normal" });
    expect(db.pragma("synchronous", { simple: true })).toBe(1);
  });

  it("keeps the busy timeout of its user", async () => {
    const db = openFile(newFile(), { timeout: 1_234 });
    const trial = await migrated(db);
    await trial.grant();
    expect(db.pragma("busy_timeout", { simple: true })).toBe(1_234);
  });

  it("must be one", () => {
    const wrong = [undefined, {}, "file.db"] as unknown as SqliteHandle[];
    for (const handle of wrong) {
      expect(() => sqliteStore(handle)).toThrow(expect.objectContaining({ code: "invalid-option" }));
    }
    const options = { synchronous: "off" } as unknown as SqliteStoreOptions;
    expect(() => sqliteStore(openFile(newFile()), options)).toThrow(
      expect.objectContaining({ code: "invalid-option" }),
    );
  });

  it("may read integers as bigints, for its user's own sake", async () => {
    const db = openFile(newFile());
    db.defaultSafeIntegers(true);
    const trial = await migrated(db);
    const { token } = await trial.grant();
    expect((await trial.claim()).kind).toBe("busy");
    expect((await trial.extend(token)).kind).toBe("extended");
    await trial.step(token);
    expect((await trial.fail(token, { permanent: true })).kind).toBe("settled");
    expect((await trial.claim()).kind).toBe("failed");
    expect((await trial.record()).runs).toBe(1);
    expect((await trial.pages()).flat()).toHaveLength(1);
    await trial.store.forget({ scope: trial.scope, key: undefined, force: true });
    expect(await trial.purgeAll()).toEqual({ purged: 1, uncertain: 0 });
  });

  it("may be a database in memory", async () => {
    const trial = await migrated(openFile(":memory:"));
    const { token } = await trial.grant();
    expect((await trial.complete(token)).kind).toBe("settled");
  });

  it.each([
    ["was closed", (file: string) => openFile(file).close()],
    ["is read-only", (file: string) => openFile(file, { readonly: true })],
  ])("that %s is store-unavailable", async (_, open) => {
    const file = newFile();
    await migrated(openFile(file));
    const trial = createTrial({ store: sqliteStore(open(file)) });
    expect((await refusalOf(trial.claim())).code).toBe("store-unavailable");
  });

  it("on a file that is no database is store-unavailable", async () => {
    const file = newFile();
    writeFileSync(file, "not a database, but long enough to have a header of one: ".repeat(20));
    expect((await refusalOf(sqliteStore(openFile(file)).migrate())).code).toBe("store-unavailable");
  });

  it("that cannot open its file is store-unavailable also where the driver gives no name for it", async () => {
    const db = nodeSqliteShape(openFile(newFile()));
    const broken: SqliteHandle = {
      ...db,
      exec() {
        throw Object.assign(new Error("unable to open database file"), { code: "ERR_SQLITE_ERROR", errcode: 14 });
      },
    };
    expect((await refusalOf(sqliteStore(broken).migrate())).code).toBe("store-unavailable");
  });
});

describe("a batch that fails as a whole", () => {
  it("leaves nothing behind, and the store works on", async () => {
    const trial = await migrated(openFile(newFile()));
    const { token } = await trial.grant();
    const bad = trial.request({ key: "bad", leaseMs: Number.NaN });
    await expect(trial.store.claim([trial.request({ key: "good" }), trial.request(), bad])).rejects.toThrow();
    expect(await trial.read("good")).toBeUndefined();
    expect((await trial.record()).seen).toBe(1);
    expect((await trial.complete(token)).kind).toBe("settled");
    await trial.grant({ key: "good" });
  });
});

describe("a file that another connection has locked", () => {
  it("is waited for while the event loop turns, and served once it is free", async () => {
    const file = newFile();
    const trial = await migrated(openFile(file));
    const other = openFile(file);
    other.exec("begin immediate");
    const claiming = trial.grant();
    setTimeout(() => other.exec("commit"), 200);
    expect(await turnsDuring(claiming)).toBeGreaterThan(5);
    expect((await claiming).runs).toBe(1);
  });

  it("is store-unavailable after the busy timeout, and nothing was written", async () => {
    const file = newFile();
    const trial = await migrated(openFile(file), { busyTimeout: "150ms" });
    const other = openFile(file);
    other.exec("begin immediate");
    const claiming = refusalOf(trial.claim());
    expect(await turnsDuring(claiming)).toBeGreaterThan(5);
    expect((await claiming).code).toBe("store-unavailable");
    other.exec("commit");
    expect(await trial.read()).toBeUndefined();
    await trial.grant();
  });

  it("is waited for also before it was ever set up", async () => {
    const file = newFile();
    const other = openFile(file);
    other.exec("create table orders (id text); begin exclusive");
    const store = sqliteStore(openFile(file));
    const migrating = store.migrate();
    setTimeout(() => other.exec("commit"), 100);
    expect(await turnsDuring(migrating)).toBeGreaterThan(2);
    await createTrial({ store }).grant();
  });

  it("can be read meanwhile", async () => {
    const file = newFile();
    const trial = await migrated(openFile(file));
    await trial.grant();
    openFile(file).exec("begin immediate");
    expect((await trial.record()).status).toBe("running");
    expect((await trial.pages()).flat()).toHaveLength(1);
  });

  it("is waited for with a driver like node:sqlite, too", async () => {
    const file = newFile();
    const trial = await migrated(nodeSqliteShape(openFile(file)));
    const other = openFile(file);
    other.exec("begin immediate");
    setTimeout(() => other.exec("commit"), 50);
    await trial.grant();
  });
});

describe("a transaction that the user has open on the handle", () => {
  it("is waited for, and its rollback takes nothing of ours with it", async () => {
    const db = openFile(newFile());
    const trial = await migrated(db);
    db.exec("create table orders (id text); begin; insert into orders values ('1')");
    const claiming = trial.grant();
    await wait(50);
    expect(db.inTransaction).toBe(true);
    db.exec("rollback");
    const { token } = await claiming;
    expect((await trial.record()).token).toBe(token);
    expect(db.prepare("select count(*) from orders").pluck().get()).toBe(0);
  });

  it.each(["wal", "delete"])("is waited for also by the first call on a file in mode %s", async (mode) => {
    const file = newFile();
    const first = openFile(file);
    await migrated(first);
    first.close();
    const db = openFile(file);
    db.pragma(`journal_mode = ${mode}`);
    db.exec("begin");
    const trial = createTrial({ store: sqliteStore(db) });
    const claiming = trial.grant();
    await wait(50);
    db.exec("commit");
    expect((await claiming).runs).toBe(1);
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(db.pragma("synchronous", { simple: true })).toBe(2);
  });
});

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
