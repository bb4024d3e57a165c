import { type CallSpec, type Fate, type Plan, PROMPT, STEADY_PROCESS } from "./plan.js";

/** A run that broke an invariant once, cut down to what it needs. */
export interface FoundRun {
  readonly name: string;
  readonly plan: Plan;
}

const QUIET: Plan = {
  orderSeed: 0,
  retrySeed: 0,
  faults: false,
  push: false,
  probes: true,
  reads: false,
  promptMs: 30,
  storeTimeoutMs: 2_000,
  upkeepMs: undefined,
  defaults: { lease: 1_000, retention: 60_000, wait: 3_000 },
  keys: 1,
  processes: [STEADY_PROCESS],
  fates: [],
  script: [],
};

const CALL: CallSpec = {
  copies: 1,
  process: 0,
  key: 0,
  fingerprint: undefined,
  settings: {},
  reconciles: undefined,
  leaves: "never",
  work: [],
  end: "returns",
  heedsSignal: true,
};

const BROKEN_LATE: Fate = { ...PROMPT, reply: "broken", oddError: true, replyDelayMs: 650 };

/** Its process hears of the next grant before it hears that the failure is settled. */
const OVERTAKEN: FoundRun = {
  name: "a duplicate whose leader is overtaken while it settles is counted once",
  plan: {
    ...QUIET,
    orderSeed: 2,
    script: [
      { does: "calls", calls: [{ ...CALL, work: [{ act: "pause", ms: 150 }], end: "throws" }] },
      { does: "pass", ms: 80 },
      { does: "calls", calls: [CALL, { ...CALL, fingerprint: "a" }] },
      { does: "pass", ms: 300 },
    ],
  },
};

/** A timer from before the jump stands where a new claim's heartbeat should. */
const WALL_JUMP: FoundRun = {
  name: "a claim that is made after the wall clock jumped is extended in time",
  plan: {
    ...QUIET,
    faults: true,
    keys: 2,
    script: [
      { does: "calls", calls: [{ ...CALL, settings: { lease: 2_500 }, work: [{ act: "pause", ms: 800 }] }] },
      { does: "pass", ms: 1_100 },
      { does: "set-wall", process: 0, byMs: 5_000 },
      { does: "calls", calls: [{ ...CALL, key: 1, work: [{ act: "pause", ms: 1_200 }] }] },
      { does: "pass", ms: 1_600 },
    ],
  },
};

/** A batch is written, its reply breaks, and its items go out again one by one when the retention is over. */
const ONE_BY_ONE: FoundRun = {
  name: "a settlement that is sent again one by one is not told lost when it may have counted",
  plan: {
    ...QUIET,
    faults: true,
    keys: 2,
    defaults: { lease: 2_500, retention: 600, wait: 3_000 },
    fates: [PROMPT, BROKEN_LATE],
    script: [
      { does: "calls", calls: [CALL, { ...CALL, key: 1 }] },
      { does: "pass", ms: 1_600 },
    ],
  },
};

const GAVE_UP: FoundRun = {
  name: "a duplicate that gives up while its leader's end is settled is counted",
  plan: {
    ...QUIET,
    script: [
      { does: "calls", calls: [{ ...CALL, leaves: 300, work: [{ act: "pause", ms: 1_200 }] }] },
      { does: "pass", ms: 80 },
      { does: "calls", calls: [{ ...CALL, settings: { wait: 240 } }] },
      { does: "pass", ms: 700 },
    ],
  },
};

const DECISION_UNANSWERED: FoundRun = {
  name: "a call ends when the store does not answer its reconciler's decision",
  plan: {
    ...QUIET,
    faults: true,
    processes: [STEADY_PROCESS, STEADY_PROCESS],
    fates: [PROMPT, PROMPT, { ...PROMPT, reply: "lost" }],
    script: [
      { does: "calls", calls: [{ ...CALL, settings: { onAbandoned: "hold" }, work: [{ act: "pause", ms: 4_500 }] }] },
      { does: "pass", ms: 80 },
      { does: "crash", process: 0, losesMessages: true, restarts: false },
      { does: "pass", ms: 1_100 },
      { does: "calls", calls: [{ ...CALL, process: 1, reconciles: "done" }] },
      { does: "pass", ms: 150 },
    ],
  },
};

export const FOUND_RUNS: readonly FoundRun[] = [OVERTAKEN, WALL_JUMP, ONE_BY_ONE, GAVE_UP, DECISION_UNANSWERED];
