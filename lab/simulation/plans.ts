import fc from "fast-check";
import {
  type Act,
  type CallSpec,
  type Command,
  type Fate,
  type Plan,
  PROMPT,
  type ProcessSpec,
  type Settings,
} from "./plan.js";

/**
 * Draws plans. Leases are one or two and a half seconds, so pauses and passing time are measured in parts of those;
 * what comes first in a list is what a counterexample shrinks to.
 */

const one = <const T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

function weighted<T>(...choices: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const LONG_LEASE: Settings = { lease: 2_500 };
/** When one is late or lost, the lease may run out before the next. */
const RARE_HEARTBEAT: Settings = { lease: 2_500, heartbeat: 1_500 };

/** Most calls take the defaults of their process, so that they fold and join. */
const SETTINGS: readonly Settings[] = [
  {},
  { onBusy: "reject" },
  { onAbandoned: "hold" },
  { onAbandoned: "rerun" },
  { maxAttempts: 1 },
  { maxAttempts: 2 },
  { retention: 600 },
  { retention: 1_500 },
  { retention: 60_000 },
  { wait: 400 },
  LONG_LEASE,
  { storeResult: false },
];
/** These lose claims without any fault of the network. */
const LOSING_SETTINGS: readonly Settings[] = [
  { heartbeat: false },
  { heartbeat: 700 },
  RARE_HEARTBEAT,
  { timeout: 700 },
  { lease: 2_500, retention: 600 },
];

function settings(faults: boolean): fc.Arbitrary<Settings> {
  const choice = one(...SETTINGS, ...(faults ? LOSING_SETTINGS : []));
  return weighted(
    [3, fc.constant({})],
    [3, choice],
    [1, fc.tuple(choice, choice).map(([left, right]) => ({ ...left, ...right }))],
  );
}

const act: fc.Arbitrary<Act> = weighted<Act>(
  [3, one(20, 100, 350, 800, 1_200, 2_500, 4_500).map((ms) => ({ act: "pause", ms }))],
  [2, fc.constant({ act: "effect" })],
  [2, fc.record({ act: fc.constant("step"), name: one("x", "y"), ms: one(0, 50, 600) })],
);

function call(faults: boolean): fc.Arbitrary<CallSpec> {
  const any: fc.Arbitrary<CallSpec> = fc.record({
    copies: one(1, 1, 1, 2, 3),
    process: fc.nat(2),
    key: fc.nat(2),
    fingerprint: weighted<string | undefined>(
      [3, fc.constant(undefined)],
      [2, fc.constant("a")],
      [1, fc.constant("b")],
    ),
    settings: settings(faults),
    reconciles: weighted<CallSpec["reconciles"]>([3, fc.constant(undefined)], [1, one("done", "failed", "undecided")]),
    leaves: weighted<CallSpec["leaves"]>([5, fc.constant("never")], [3, one("on command")], [1, one(0, 10, 300, 900)]),
    work: fc.array(act, { maxLength: 4, size: "max" }),
    end: one("returns", "returns", "returns", "throws", "throws", "throws", "throws permanently"),
    heedsSignal: fc.boolean(),
  });
  return faults ? any : any.map(withoutAbandoning);
}

/** Under `hold` a caller that leaves abandons its claim, and what it counted is lost with it. */
function withoutAbandoning(spec: CallSpec): CallSpec {
  return spec.leaves === "never" ? spec : { ...spec, settings: { ...spec.settings, onAbandoned: "rerun" } };
}

const requestLate = one(50, 600, 900, 1_500, 3_000).map((requestDelayMs) => ({ ...PROMPT, requestDelayMs }));
const replyLate = one(50, 300, 400, 600, 1_500).map((replyDelayMs) => ({ ...PROMPT, replyDelayMs }));
const requestLost = fc.constant<Fate>({ ...PROMPT, request: "lost" });
const replyLost = fc.constant<Fate>({ ...PROMPT, reply: "lost" });
const requestRefused = fc.boolean().map<Fate>((oddError) => ({ ...PROMPT, request: "refused", oddError }));
const replyBroken = fc
  .tuple(fc.boolean(), one(0, 100, 450, 650))
  .map<Fate>(([oddError, replyDelayMs]) => ({ ...PROMPT, reply: "broken", oddError, replyDelayMs }));
const copied = one(0, 100, 900, 2_500).map((copyAfterMs) => ({ ...PROMPT, copyAfterMs }));

/** Faults come in company: a network is mostly fine, or slow, or loses much. */
const fates: fc.Arbitrary<readonly Fate[]> = fc.oneof(
  ...[
    weighted(
      [16, fc.constant(PROMPT)],
      [2, requestLate],
      [2, replyLate],
      [2, replyLost],
      [2, replyBroken],
      [2, copied],
    ),
    weighted([4, fc.constant(PROMPT)], [3, requestLate], [5, replyLate], [1, requestLost]),
    weighted([8, fc.constant(PROMPT)], [1, requestLost], [2, replyLost], [3, replyBroken], [1, requestRefused]),
  ].map((fate) => fc.array(fate, { maxLength: 140, size: "max" })),
);

const anyProcess = fc.nat(2);
const restarts = one(true, true, true, false);
const key = fc.nat(2);

const gentleCommands = (faults: boolean): readonly (readonly [number, fc.Arbitrary<Command>])[] => [
  [18, fc.array(call(faults), { minLength: 1, maxLength: 3 }).map((calls) => ({ does: "calls", calls }))],
  [20, fc.integer({ min: 1, max: 8 }).map((messages) => ({ does: "deliver", messages }))],
  [20, one(5, 40, 150, 340, 700, 1_100, 1_600, 2_600).map((ms) => ({ does: "pass", ms }))],
  [2, fc.nat(9).map((each) => ({ does: "leave", call: each }))],
  [2, key.map((each) => ({ does: "forget", key: each, force: false }))],
  [6, fc.record({ does: fc.constant("resolve"), key, to: one("done", "failed", "final") })],
  [1, fc.constant({ does: "purge" })],
  [1, fc.constant({ does: "list" })],
];

const harshCommands: readonly (readonly [number, fc.Arbitrary<Command>])[] = [
  [
    8,
    fc.record({
      does: fc.constant("cut"),
      process: anyProcess,
      ms: one(300, 900, 2_500),
      direction: one("replies", "both"),
    }),
  ],
  [
    1,
    fc.record({
      does: fc.constant("close"),
      process: anyProcess,
      timeoutMs: one(10, 500, 3_000),
      restarts: restarts,
    }),
  ],
  [4, fc.record({ does: fc.constant("stall"), process: anyProcess, ms: one(100, 500, 1_100, 2_200) })],
  [2, fc.record({ does: fc.constant("suspend"), process: anyProcess, ms: one(100, 500, 1_100, 2_200) })],
  [2, fc.record({ does: fc.constant("set-wall"), process: anyProcess, byMs: one(200, -200, -900, 5_000, -60_000) })],
  [2, fc.record({ does: fc.constant("crash"), process: anyProcess, losesMessages: fc.boolean(), restarts: restarts })],
  [2, key.map((each) => ({ does: "forget", key: each, force: true }))],
  [1, one(100, 700).map((byMs) => ({ does: "set-store-back", byMs }))],
];

/** A tenth of the longer lease, and less than a quarter of the shorter one, is margin: clocks may drift within it. */
const RATES = [1, 0.99, 0.915, 1.01, 1.1];

const process: fc.Arbitrary<ProcessSpec> = fc.record({
  rate: one(...RATES),
  wallOffMs: one(0, 400, -400, 3_000, -90_000),
  onAbandoned: one("rerun", "hold"),
});

function plan(faults: boolean): fc.Arbitrary<Plan> {
  const commands = faults ? [...gentleCommands(true), ...harshCommands] : gentleCommands(false);
  return fc.record({
    orderSeed: fc.nat(0x7fff_ffff),
    retrySeed: fc.nat(0x7fff_ffff),
    faults: fc.constant(faults),
    push: fc.boolean(),
    probes: one(true, true, false),
    reads: fc.boolean(),
    promptMs: faults ? one(30, 30, 250, 1_000) : fc.constant(30),
    storeTimeoutMs: faults ? one(2_000, 2_000, 4_000, 700) : fc.constant(2_000),
    upkeepMs: weighted<number | undefined>([3, fc.constant(undefined)], [1, fc.constant(900)]),
    defaults: fc
      .tuple(
        one<Settings>({}, {}, LONG_LEASE, faults ? RARE_HEARTBEAT : {}),
        one(60_000, 4_000, 800, 800),
        one(3_000, 1_200),
      )
      .map(([lease, retention, wait]) => ({ lease: 1_000, retention, wait, ...lease })),
    keys: one(1, 1, 2, 3),
    processes: fc.array(process, { minLength: 2, maxLength: 3 }),
    fates: faults ? fates : fc.constant([]),
    script: fc.array(weighted(...commands), { minLength: 6, maxLength: 56, size: "max" }),
  });
}

export const plans: fc.Arbitrary<Plan> = weighted([2, plan(false)], [5, plan(true)]);
