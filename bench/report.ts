/** What a benchmark found: figures a person can compare, and the bar that some of them must clear. */
export interface Report {
  readonly title: string;
  readonly machine: string;
  readonly figures: readonly Figure[];
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What it was measured against, in the same run. */
  readonly against?: string;
  readonly bar?: string;
  /** Whether it clears the bar; absent where there is none. */
  readonly ok?: boolean;
}

export function printReport({ title, machine, figures }: Report): void {
  const width = Math.max(...figures.map(({ name }) => name.length));
  console.log(`\n${title}\n${machine}\n`);
  for (const { name, value, unit, against, bar, ok } of figures) {
    const verdict = ok === undefined ? "" : ok ? "  ok" : "  BELOW THE BAR";
    const note = [against, bar === undefined ? undefined : `bar: ${bar}`]
      .filter((part) => part !== undefined)
      .join("; ");
    console.log(`  ${name.padEnd(width)}  ${shown(value).padStart(9)} ${unit.padEnd(8)} ${note}${verdict}`);
  }
  console.log();
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toFixed(2);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
