import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Command, Report } from "./protocol.js";

/** A process that the test has started, and alone may end. */
export interface Worker {
  readonly reports: readonly Report[];
  tell(command: Command): void;
  /** The first report of this kind, about this key. */
  hear<Kind extends Report["kind"]>(kind: Kind, key?: string): Promise<Extract<Report, { kind: Kind }>>;
  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
}

const PROGRAM = fileURLToPath(new URL("./worker.ts", import.meta.url));
const children = new Set<ChildProcess>();

export async function startWorker(file: string): Promise<Worker> {
  const child = spawn(process.execPath, ["--import", "tsx", PROGRAM, file], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.add(child);
  child.on("exit", () => children.delete(child));
  const reports: Report[] = [];
  child.on("message", (report) => reports.push(report as Report));
  const worker: Worker = {
    reports,
    tell: (command) => void child.send(command),
    signal: (name) => void child.kill(name),
    hear: (kind, key) => hear(child, reports, kind, key),
  };
  await worker.hear("ready");
  return worker;
}

export function startWorkers(file: string, count: number): Promise<Worker[]> {
  return Promise.all(Array.from({ length: count }, () => startWorker(file)));
}

/** SIGKILL also ends a process that is stopped. */
export async function endWorkers(): Promise<void> {
  const ended = [...children].map((child) => new Promise((resolve) => child.once("exit", resolve)));
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(ended);
}

function hear<Kind extends Report["kind"]>(
  child: ChildProcess,
  reports: readonly Report[],
  kind: Kind,
  key: string | undefined,
): Promise<Extract<Report, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = reports.find(
        (each) => each.kind === kind && (key === undefined || ("key" in each && each.key === key)),
      );
      if (found === undefined) return;
      child.off("message", look).off("exit", gone);
      resolve(found as Extract<Report, { kind: Kind }>);
    };
    const gone = () => reject(new Error(`the process ended before it reported "${kind}"`));
    child.on("message", look).on("exit", gone);
    look();
  });
}
