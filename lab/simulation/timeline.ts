/** What happened in a run, so that a person can follow it. Times are true time, which no process can read. */
export interface Timeline {
  add(who: string, what: string): void;
  toString(): string;
}

export function createTimeline(time: { readonly nowMs: number }): Timeline {
  const entries: { readonly atMs: number; readonly who: string; readonly what: string }[] = [];
  return {
    add: (who, what) => entries.push({ atMs: time.nowMs, who, what }),
    toString: () =>
      entries.map(({ atMs, who, what }) => `${atMs.toFixed(1).padStart(9)} ms  ${who.padEnd(9)} ${what}`).join("\n"),
  };
}
