import Database from "better-sqlite3";
import { createHapax, EVENT_NAMES, HapaxError, type Token } from "../../../src/index.js";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { type Deferred, deferred } from "../held-work.js";
import type { Command, Report } from "./protocol.js";

/** A process of its own on the database file that it is given: it does what it is told, and reports what it sees. */
const db = new Database(process.argv[2] ?? "");
db.exec("pragma journal_mode = wal; create table if not exists effect (key text, process integer)");
const store = sqliteStore(db);
const hapax = createHapax({
  store,
  owner: String(process.pid),
  logger: { warn: () => {}, error: () => {} },
});
const held = new Map<string, Deferred<unknown>>();
const report = (message: Report) => process.send?.(message);

for (const name of EVENT_NAMES) {
  hapax.on(name, (event) =>
    report({ kind: "event", name, key: event.key, code: "code" in event ? event.code : undefined }),
  );
}

function codeOf(error: unknown): string {
  return error instanceof HapaxError ? error.code : String(error);
}

/** Runs a key and stays in it until it is told to end. */
function hold({ key, lease }: Extract<Command, { kind: "hold" }>): void {
  const end = deferred<unknown>();
  held.set(key, end);
  const out = hapax.run({ scope: "processes", key, lease, wait: "1m" }, (ctx) => {
    report({ kind: "started", key, token: ctx.token, attempt: ctx.attempt });
    const { signal } = ctx;
    const aborted = () => report({ kind: "aborted", key, code: codeOf(signal.reason) });
    // A process that was stopped just here finds it aborted already.
    if (signal.aborted) aborted();
    else signal.addEventListener("abort", aborted);
    return end.promise;
  });
  out.then(
    ({ value, replayed, attempt }) => report({ kind: "ended", key, value, replayed, attempt }),
    (error: unknown) => report({ kind: "threw", key, code: codeOf(error) }),
  );
}

/** Delivers a key many times at once; each run leaves its mark in the file. */
async function storm({ keys, times }: Extract<Command, { kind: "storm" }>): Promise<void> {
  const insert = db.prepare("insert into effect (key, process) values (?, ?)");
  const deliver = (key: string) =>
    hapax.run({ scope: "processes", key, lease: "10s" }, async () => {
      insert.run(key, process.pid);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return `${key} by ${process.pid}`;
    });
  const answers = await Promise.allSettled(keys.flatMap((key) => Array.from({ length: times }, () => deliver(key))));
  report({
    kind: "stormed",
    values: answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.value] : [])),
    errors: answers.flatMap((answer) => (answer.status === "rejected" ? [codeOf(answer.reason)] : [])),
  });
}

async function extend({ key, token }: Extract<Command, { kind: "extend" }>): Promise<void> {
  const [result] = await store.extend([{ scope: "processes", key, token: token as Token, leaseMs: 60_000 }]);
  report({ kind: "extended", key, answer: result?.kind ?? "none" });
}

process.on("message", (command: Command) => {
  if (command.kind === "hold") hold(command);
  if (command.kind === "storm") void storm(command);
  if (command.kind === "extend") void extend(command);
  if (command.kind === "finish") held.get(command.key)?.resolve(command.value);
  if (command.kind === "fail") held.get(command.key)?.reject(new Error(command.message));
});
process.on("disconnect", () => process.exit());

await hapax.migrate();
report({ kind: "ready" });
