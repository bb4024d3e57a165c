import fc from "fast-check";
import { finish } from "./finish.js";
import type { Library } from "./library.js";
import { createNetwork, type Network } from "./network.js";
import { createObserver, type Observer } from "./observer/observer.js";
import { createVerdict, INVARIANTS, type Invariant, type Verdict } from "./observer/verdict.js";
import { type Plan, type ProcessSpec, STEADY_PROCESS } from "./plan.js";
import { createSimulatedProcess, type SimulatedProcess } from "./process.js";
import { createProcessClock, START_WALL_MS, type WorldTime } from "./process-clock.js";
import { remoteStore, type Subscription } from "./remote-store.js";
import { perform } from "./script.js";
import { createTimeline, type Timeline } from "./timeline.js";

/** One store, a few processes, and the network between them. */
export interface World {
  readonly plan: Plan;
  readonly time: WorldTime;
  readonly timeline: Timeline;
  readonly verdict: Verdict;
  readonly network: Network;
  readonly observer: Observer;
  readonly processes: SimulatedProcess[];
  /** Who waits for pushes of the store. */
  readonly subscriptions: ReadonlySet<Subscription>;
  /** Starts a process; who wants its timers to fire puts it among the processes. */
  spawn(name: string, spec: ProcessSpec): SimulatedProcess;
  setStoreBack(byMs: number): void;
  /** Lets a message arrive; false if none is on its way. */
  deliver(): Promise<boolean>;
  passTime(ms: number): Promise<void>;
}

/** An invariant was broken: which, how, and all that led to it. */
export class Counterexample extends Error {
  readonly invariant: Invariant;
  readonly how: string;

  constructor(invariant: Invariant, how: string, timeline: string) {
    super(`${invariant} (${INVARIANTS[invariant]}) is broken: ${how}\n${timeline}`);
    this.invariant = invariant;
    this.how = how;
  }
}

/** A world that does not come to rest has run into a loop. */
const MOMENTS_MAX = 20_000;

/** Runs a plan and tells what happened; throws a {@link Counterexample} if an invariant breaks. */
export async function simulate(library: Library, plan: Plan): Promise<Timeline> {
  const world = createWorld(library, plan);
  const { timeline, verdict } = world;
  const onRejection = (reason: unknown) => verdict.broken("I7", `a rejection that nobody handles: ${String(reason)}`);
  const realRandom = Math.random;
  Math.random = seededRandom(plan.retrySeed);
  process.on("unhandledRejection", onRejection);
  try {
    for (const [index, spec] of plan.processes.entries()) world.processes.push(world.spawn(`p${index + 1}`, spec));
    world.processes.push(world.spawn("operator", STEADY_PROCESS));
    for (const command of plan.script) await perform(world, command);
    await finish(world);
  } catch (error) {
    if (!(error instanceof BrokenRun)) throw error;
  } finally {
    process.off("unhandledRejection", onRejection);
    Math.random = realRandom;
  }
  if (verdict.first === undefined) return timeline;
  throw new Counterexample(verdict.first.invariant, verdict.first.how, timeline.toString());
}

/** Ends a run whose verdict is known. */
class BrokenRun extends Error {}

function createWorld(library: Library, plan: Plan): World {
  const time: WorldTime = { nowMs: 0 };
  const timeline = createTimeline(time);
  const verdict = createVerdict();
  let setBackMs = 0;
  const storeNowMs = () => START_WALL_MS + time.nowMs - setBackMs;
  const store = library.memoryStore({
    clock: { wallMs: storeNowMs, monotonicMs: () => time.nowMs, after: () => () => {} },
  });
  const network = createNetwork({
    plan,
    scheduler: createScheduler(plan.orderSeed),
    time,
    timeline,
    HapaxErrorClass: library.HapaxError,
  });
  const observer = createObserver({ plan, library, store, time, storeNowMs, verdict });
  const processes: SimulatedProcess[] = [];
  const subscriptions = new Set<Subscription>();
  let moments = 0;

  /** Everything that is ready happens: hapax works in microtasks, and they all come before the next turn of the loop. */
  async function rest(): Promise<void> {
    await new Promise(setImmediate);
    if (plan.probes) observer.executions.probe();
    moments += 1;
    if (moments > MOMENTS_MAX) verdict.broken("I7", `no rest after ${moments} moments`);
    if (verdict.first !== undefined) throw new BrokenRun();
  }

  /** Whose timer comes next, if one comes by then. */
  function nextProcess(untilMs: number): SimulatedProcess | undefined {
    let dueMs = untilMs;
    let next: SimulatedProcess | undefined;
    for (const each of processes) {
      const eachMs = each.nextDueMs();
      if (eachMs > dueMs || (next !== undefined && eachMs === dueMs)) continue;
      dueMs = eachMs;
      next = each;
    }
    return next;
  }

  /** When a running function's lease ends at the store: a good moment to ask whether it is still trusted. */
  function nextLeaseEndMs(): number {
    const nowMs = storeNowMs();
    return time.nowMs + observer.executions.nextLeaseEndMs(nowMs) - nowMs;
  }

  async function passTime(ms: number): Promise<void> {
    await rest();
    const untilMs = time.nowMs + ms;
    for (;;) {
      const networkMs = network.nextDueMs();
      const probeMs = plan.probes ? nextLeaseEndMs() : Number.POSITIVE_INFINITY;
      const host = nextProcess(Math.min(untilMs, networkMs, probeMs));
      const nextMs = host?.nextDueMs() ?? Math.min(networkMs, probeMs);
      if (nextMs > untilMs) break;
      time.nowMs = Math.max(time.nowMs, nextMs);
      if (host !== undefined) host.doNext();
      else if (networkMs <= time.nowMs) await network.deliverDue();
      await rest();
    }
    time.nowMs = untilMs;
    await rest();
  }

  return {
    plan,
    time,
    timeline,
    verdict,
    network,
    observer,
    processes,
    subscriptions,
    spawn(name, spec) {
      const spawned = createSimulatedProcess({
        name,
        clock: createProcessClock(time, spec),
        settings: { onAbandoned: spec.onAbandoned },
        time,
        plan,
        library,
        network,
        observer,
        timeline,
        store: (from) => remoteStore({ from, network, store, observer, push: plan.push, subscriptions }),
      });
      return spawned;
    },
    setStoreBack(byMs) {
      setBackMs += byMs;
      timeline.add("store", `its clock is set back by ${byMs} ms`);
    },
    async deliver() {
      const delivered = await network.deliverOne();
      await rest();
      return delivered;
    },
    passTime,
  };
}

/** A scheduler that is drawn beside the plan would not be the same again when fast-check replays a smaller counterexample. */
function createScheduler(seed: number): fc.Scheduler {
  const [scheduler] = fc.sample(fc.scheduler(), { numRuns: 1, seed });
  if (scheduler === undefined) throw new Error("fast-check drew no scheduler.");
  return scheduler;
}

/** mulberry32: small, and the same on every machine. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
