import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import {
  createHapax,
  EVENT_NAMES,
  type EventName,
  type Hapax,
  type HapaxOptions,
  type Store,
} from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { type ManualClock, manualClock } from "../../src/testing/manual-clock.js";

export interface LogLine {
  readonly level: "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Emitted {
  readonly name: EventName;
  readonly event: Readonly<Record<string, unknown>>;
}

/** A hapax on a clock that the test moves, with everything that it logged and emitted. */
export interface Setup<Tx = never> {
  readonly hapax: Hapax<Tx>;
  readonly clock: ManualClock;
  readonly store: Store<Tx>;
  readonly logs: LogLine[];
  readonly events: Emitted[];
  /** What was emitted under this name. */
  emitted(name: EventName): Readonly<Record<string, unknown>>[];
}

export type SetupOptions<Tx = never> = Omit<Partial<HapaxOptions<Tx>>, "clock"> & { readonly clock?: ManualClock };

/** On the store that is given, or on a memory store of its own. No upkeep unless the test asks for it. */
export function onMemory(options: SetupOptions = {}): Setup {
  const clock = options.clock ?? manualClock();
  return setUp({ ...options, clock, store: options.store ?? memoryStore({ clock }) });
}

export type SqliteSetup = Setup<Database.Database> & { readonly db: Database.Database; readonly file: string };

/** On a database file that is deleted after the test. */
export async function onSqlite(options: SetupOptions<Database.Database> = {}): Promise<SqliteSetup> {
  const clock = options.clock ?? manualClock();
  const file = temporaryFile();
  const db = openDatabase(file);
  const setup = setUp({ ...options, clock, store: options.store ?? sqliteStore(db, { clock }) });
  await setup.hapax.migrate();
  return { ...setup, db, file };
}

/** For what must hold on every store. */
export const EACH_STORE: readonly (readonly [name: string, make: (options?: SetupOptions) => Promise<Setup>])[] = [
  ["memory", async (options) => onMemory(options)],
  // Only transactions see the handle's type.
  ["SQLite", async (options) => (await onSqlite(options as SetupOptions<Database.Database>)) as unknown as Setup],
];

/** A second hapax, as of another process: it shares the store and the clock, and nothing else. */
export function another<Tx>(setup: Setup<Tx>, options: SetupOptions<Tx> = {}): Setup<Tx> {
  return setUp({ store: setup.store, clock: setup.clock, ...options });
}

export function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "hapax-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "hapax.db");
}

export function openDatabase(file: string, options: Database.Options = {}): Database.Database {
  const db = new Database(file, options);
  onTestFinished(() => {
    db.close();
  });
  return db;
}

function setUp<Tx>(options: SetupOptions<Tx> & { readonly clock: ManualClock; readonly store: Store<Tx> }): Setup<Tx> {
  const logs: LogLine[] = [];
  const events: Emitted[] = [];
  const logger = {
    warn: (message: string, fields: LogLine["fields"]) => void logs.push({ level: "warn", message, fields }),
    error: (message: string, fields: LogLine["fields"]) => void logs.push({ level: "error", message, fields }),
  };
  const hapax = createHapax<Tx>({ upkeep: false, logger, ...options });
  for (const name of EVENT_NAMES) hapax.on(name, (event) => events.push({ name, event: { ...event } }));
  return {
    hapax,
    clock: options.clock,
    store: options.store,
    logs,
    events,
    emitted: (name) => events.filter((emitted) => emitted.name === name).map(({ event }) => event),
  };
}
