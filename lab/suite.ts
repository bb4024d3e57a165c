/** A long test with progress and a readable end. */
export interface Suite {
  readonly name: string;
  run(options: LabOptions): Promise<SuiteResult>;
}

export interface LabOptions {
  /** How many runs of what is random. */
  readonly runs: number;
  readonly seed: number;
  /** Of the one run to repeat, as its failure printed it. */
  readonly path: string | undefined;
  /** A form for continuous integration. */
  readonly short: boolean;
  readonly progress: (line: string) => void;
}

export interface SuiteResult {
  readonly ok: boolean;
  readonly lines: readonly string[];
}
