import { type CallSpec, STEADY_PROCESS } from "./plan.js";
import { keyOf } from "./script.js";
import type { World } from "./world.js";

/** Waiting, running and settling all end within this, once nothing is in the way. */
const CALLS_END_MS = 40_000;
/** The longest lease, and some more for the answer. */
const FRESH_CALLS_END_MS = 15_000;
/** No message is later. */
const MESSAGES_END_MS = 6_000;
/** No timer of hapax is longer. */
const TIMERS_END_MS = 10_000;
const STEP_MS = 500;

/** The faults end: every call must end, a fresh caller must get to an end on every key, and nothing may be left. */
export async function finish(world: World): Promise<void> {
  const { network, processes, timeline } = world;
  timeline.add("world", "the faults are over");
  network.heal();
  for (const process of processes) process.goOn();
  await waitForCalls(world, CALLS_END_MS);
  await world.passTime(MESSAGES_END_MS);
  await askOnceMore(world);
  await world.observer.checkEnd();
  await closeAll(world);
}

async function waitForCalls(world: World, ms: number): Promise<void> {
  const untilMs = world.time.nowMs + ms;
  for (;;) {
    const pending = world.processes.filter(({ alive }) => alive).flatMap((process) => [...process.pending.keys()]);
    const [call] = pending;
    if (call === undefined) return;
    if (world.time.nowMs >= untilMs) {
      world.verdict.broken("I7", `${call.key}: call ${call.number} of ${call.host.name} has not ended in ${ms} ms`);
    }
    await world.passTime(STEP_MS);
  }
}

const FRESH_CALL: CallSpec = {
  copies: 1,
  process: 0,
  key: 0,
  fingerprint: undefined,
  settings: { wait: FRESH_CALLS_END_MS },
  reconciles: undefined,
  leaves: "never",
  work: [],
  end: "returns",
  heedsSignal: false,
};

async function askOnceMore(world: World): Promise<void> {
  const fresh = world.spawn("fresh", STEADY_PROCESS);
  world.processes.push(fresh);
  for (let key = 0; key < world.plan.keys; key += 1) fresh.start(FRESH_CALL, keyOf(world, key));
  const calls = [...fresh.pending.keys()];
  await waitForCalls(world, FRESH_CALLS_END_MS);
  for (const { key, number, ended } of calls) {
    // Done, failed for good, or waiting for a decision.
    if (ended === "value" || ended === "failed" || ended === "outcome-unknown") continue;
    world.verdict.broken("I7", `${key}: the fresh call ${number} got to no end: ${ended}`);
  }
}

async function closeAll(world: World): Promise<void> {
  const living = world.processes.filter(({ alive }) => alive);
  const closings = living.map(({ hapax }) => hapax.close());
  await world.passTime(TIMERS_END_MS);
  await Promise.all(closings);
  for (const { name, clock } of living) {
    if (clock.timers > 0) world.verdict.broken("I7", `${name} is closed and left ${clock.timers} timers`);
  }
  for (const { host } of world.subscriptions) {
    if (host.alive) world.verdict.broken("I7", `${host.name} is closed and still waits for a push`);
  }
  await world.passTime(0);
}
