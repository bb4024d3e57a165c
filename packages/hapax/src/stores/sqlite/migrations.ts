import { HapaxError } from "../../errors.js";
import { prepareQuery, type SqliteHandle } from "./handle.js";

/** Numbered, applied in order, never edited once released. `$` stands for the tables' prefix. */
export const MIGRATIONS: readonly string[] = [
  `
  -- The token is the row's address: a settlement finds its row by it in one step, or not at all. A takeover moves the row.
  create table $_record (
    token            integer primary key,
    scope            text    not null,
    key              text    not null,
    status           text    not null,
    final            integer not null,
    claim_id         text    not null,
    owner            text    not null,
    fingerprint      text,
    on_abandoned     text    not null,
    max_attempts     integer,
    lease_until_ms   integer not null,
    retention_ms     integer not null,
    first_seen_at_ms integer not null,
    last_seen_at_ms  integer not null,
    finished_at_ms   integer,
    expires_at_ms    integer,
    runs             integer not null,
    seen             integer not null,
    settled_by       text,
    result           blob,
    error            blob,
    metadata         blob,
    steps            integer not null default 0,
    unique (scope, key)
  );
  -- Purge looks for these alone.
  create index $_record_expiry on $_record (expires_at_ms) where expires_at_ms is not null;
  -- Abandoned claims that must become uncertain; claims of policy 'rerun' are not in it and cost nothing.
  create index $_record_held on $_record (lease_until_ms) where status = 'running' and on_abandoned = 'hold';

  create table $_step (
    token  integer not null,
    name   text    not null,
    result blob    not null,
    primary key (token, name)
  ) without rowid;

  -- The last token that was given out. It only grows; raising it by 2^40 starts a new epoch after a restore.
  create table $_token (id integer primary key check (id = 1), last integer not null);
  insert into $_token (id, last) values (1, 0);
  `,
];

/** Call it inside a transaction: of ten processes that start at once, one migrates and nine find nothing to do. */
export function applyMigrations(db: SqliteHandle, prefix: string, nowMs: number): void {
  db.exec(
    `create table if not exists ${prefix}_migration (version integer primary key, applied_at_ms integer not null)`,
  );
  const [applied] = prepareQuery(db, `select coalesce(max(version), 0) from ${prefix}_migration`).get() ?? [];
  const version = Number(applied);
  if (version > MIGRATIONS.length) {
    throw new HapaxError(
      "store-unavailable",
      `The database was migrated by a newer hapax (schema ${version}, this one knows ${MIGRATIONS.length}). Upgrade this process.`,
    );
  }
  const note = db.prepare(`insert into ${prefix}_migration (version, applied_at_ms) values (?, ?)`);
  MIGRATIONS.slice(version).forEach((sql, index) => {
    db.exec(sql.replaceAll("$", prefix));
    note.run(version + index + 1, nowMs);
  });
}
