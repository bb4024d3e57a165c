import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** A worker process, as the demo sees it. */
export interface Worker {
  readonly pid: number;
  /** Lets it start its work. */
  start(): void;
  /** Waits for the message of this kind. Rejects if the process ends without sending it. */
  hear<Kind extends Message["kind"]>(kind: Kind): Promise<Extract<Message, { kind: Kind }>>;
  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
}

/** What workers tell the demo. */
export type Message =
  | { readonly kind: "ready" }
  | { readonly kind: "working"; readonly token: string; readonly attempt: number }
  | { readonly kind: "finished"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string; readonly aborted: boolean }
  | { readonly kind: "delivered"; readonly receipts: readonly string[]; readonly ran: number };

const children = new Set<ChildProcess>();

/** Starts a program of `workers/`; it waits for `start()`. */
export async function startWorker(program: string, ...args: readonly string[]): Promise<Worker> {
  const path = fileURLToPath(new URL(`./workers/${program}.ts`, import.meta.url));
  const child = fork(path, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  children.add(child);
  child.on("exit", () => children.delete(child));

  const heard: Message[] = [];
  child.on("message", (message) => heard.push(message as Message));
  const worker: Worker = {
    pid: child.pid ?? 0,
    start: () => void child.send("start"),
    signal: (name) => void child.kill(name),
    hear: (kind) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const message = heard.find((each) => each.kind === kind);
          if (message !== undefined) resolve(message as Extract<Message, { kind: typeof kind }>);
        };
        child.on("message", look);
        child.on("exit", (code) => reject(new Error(`${program} ended (${code}) before it was "${kind}"`)));
        look();
      }),
  };
  await worker.hear("ready");
  return worker;
}

/** Two of a kind: one for the trouble, one to take over. */
export function startTwo(program: string, ...args: readonly string[]): Promise<[Worker, Worker]> {
  return Promise.all([startWorker(program, ...args), startWorker(program, ...args)]);
}

/** SIGKILL also ends a process that is stopped. */
export function endAllWorkers(): void {
  for (const child of children) child.kill("SIGKILL");
}

// --- the worker's side ---

export function tell(message: Message): void {
  process.send?.(message);
}

/** Resolves when the demo says so; a worker whose demo is gone ends. */
export function startSignal(): Promise<void> {
  process.on("disconnect", () => process.exit());
  tell({ kind: "ready" });
  return new Promise((resolve) => process.once("message", () => resolve()));
}
