import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./repository-files.js";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  /** Everything that it printed, for a failure's message. */
  readonly output: string;
}

/** Runs a program to its end, without the settings that an `npm` above would hand down to an `npm` below. */
export function run(folder: string, program: string, ...args: readonly string[]): Promise<Ended> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|vitest|NODE_)/i.test(name)));
  return new Promise((resolve) => {
    execFile(
      program,
      args,
      { cwd: folder, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        resolve({ code, stdout, output: `${stdout}${stderr}${error?.killed === true ? "(killed)" : ""}` });
      },
    );
  });
}

export async function mustRun(folder: string, program: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, output } = await run(folder, program, ...args);
  if (code !== 0) throw new Error(`${[program, ...args].join(" ")} ended with ${code}:\n${output}`);
  return stdout;
}

/** A program that the workspace has installed. */
export function bin(name: string): string {
  return join(ROOT, "node_modules", ".bin", name);
}

export function temporaryFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `hapax-${name}-`));
}

/** A folder in which programs find what the workspace has installed, and `hapax` as it was built. */
export function folderWithWorkspaceModules(name: string): string {
  requireBuild();
  const folder = temporaryFolder(name);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "junction");
  return folder;
}

/** These tests look at what users get, so there must be something to look at. */
export function requireBuild(): void {
  if (existsSync(join(ROOT, "packages/hapax/dist/index.js"))) return;
  throw new Error("packages/hapax/dist is missing. Run `npm run build` first; `npm test` does it by itself.");
}
