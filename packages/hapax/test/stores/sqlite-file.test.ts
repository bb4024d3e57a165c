import { writeFileSync } from "node:fs";
import type Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { Token } from "../../src/index.js";
import {
  type SqliteHandle,
  type SqliteStoreOptions,
  type SqliteValue,
  sqliteStore,
} from "../../src/stores/sqlite/index.js";
import { createTrial } from "../../src/testing/conformance/trial.js";
import { manualClock } from "../../src/testing/index.js";
import { nodeSqliteShape } from "./node-sqlite-shape.js";
import { migrated, newFile, openFile, refusalOf } from "./sqlite-files.js";

function tablesOf(db: Database.Database): unknown[] {
  return db.prepare("select name from sqlite_schema where type = 'table' order by name").pluck().all();
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

/** A handle that notes how strictly each commit waited for the disk: 2 is full fsync, 1 is none for the commit. */
function notingCommits(db: Database.Database): { readonly handle: SqliteHandle; readonly commits: unknown[] } {
  const commits: unknown[] = [];
  const handle: SqliteHandle = {
    exec: (sql) => db.exec(sql),
    prepare(sql) {
      const statement = db.prepare<SqliteValue[]>(sql);
      if (sql !== "commit") return statement;
      return {
        run() {
          commits.push(db.pragma("synchronous", { simple: true }));
          return statement.run();
        },
        get: () => undefined,
        all: () => [],
      };
    },
  };
  return { handle, commits };
}

describe("a commit", () => {
  it("waits for the disk whenever it decides something, and not when it only counts replays", async () => {
    const { handle, commits } = notingCommits(openFile(newFile()));
    const trial = await migrated(handle);
    const commitOf = async (work: () => Promise<unknown>) => {
      commits.length = 0;
      await work();
      return commits;
    };
    const expired = { key: "expired", leaseMs: 1 };
    const held = { key: "held", leaseMs: 1, onAbandoned: "hold" } as const;
    for (const request of [expired, held]) await trial.grant(request);
    const { token } = await trial.grant();
    expect(await commitOf(() => trial.extend(token))).toEqual([2]);
    expect(await commitOf(() => trial.complete(token))).toEqual([2]);

    // A replay makes it expect more of them; every other answer must be on disk all the same.
    const amidReplays = async (...keys: string[]) => {
      await trial.claim();
      return commitOf(() => trial.store.claim(["key", ...keys, "key"].map((key) => trial.request({ key }))));
    };
    expect(await amidReplays()).toEqual([1]);
    expect(await amidReplays("new")).toEqual([2]);
    expect(await amidReplays("expired")).toEqual([2]);
    expect(await amidReplays("held")).toEqual([2]);
    expect((await trial.record("new")).runs).toBe(1);
    expect((await trial.record("expired")).runs).toBe(2);
    expect((await trial.record("held")).status).toBe("uncertain");
    // Each of the four brought its own replay and two more.
    expect((await trial.record()).seen).toBe(13);
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
