import { appendFileSync, existsSync, readFileSync } from "node:fs";

/**
 * The bank, the warehouse, the mail: what no database can roll back. One line is one effect that really happened,
 * and the demo counts lines rather than believing anybody.
 */
export function happen(folder: string, effect: string): void {
  appendFileSync(`${folder}/effects.txt`, `${effect}\n`);
}

export function timesHappened(folder: string, effect: string): number {
  const file = `${folder}/effects.txt`;
  if (!existsSync(file)) return 0;
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line === effect).length;
}
